"""What every store promises, held to each of them on a real server."""

import threading

import pytest

from liquidtime.serving.stores import STORES, Full, StoreFailed, open_store, sqlite_file
from liquidtime.serving.stores.store import Stored
from serving.servers import needs_postgresql, needs_redis, postgresql_server, redis_server

PLACES = ["sqlite", pytest.param("redis", marks=needs_redis), pytest.param("postgresql", marks=needs_postgresql)]


@pytest.fixture(scope="module", params=PLACES)
def place(request, tmp_path_factory):
    if request.param == "sqlite":
        yield str(tmp_path_factory.mktemp("sqlite") / "state.db")
    else:
        with {"redis": redis_server, "postgresql": postgresql_server}[request.param]() as address:
            yield address


@pytest.fixture
def store(place, request):
    store = open_store(place, request.node.name)
    yield store
    store.close()


def put(store, id, content=b"x", seen=None, updated=0.0, most=100):
    return store.put(id, content, seen, updated, most)


def test_a_record_is_replaced_only_by_those_who_have_seen_it(store):
    assert store.get("a") is None
    assert put(store, "a", b"\x00one\xff")
    assert not put(store, "a", b"two")  # another one started it
    first = store.get("a")
    assert first.content == b"\x00one\xff"
    assert put(store, "a", b"two", first.version)
    assert not put(store, "a", b"three", first.version)
    second = store.get("a")
    assert second.content == b"two"
    assert store.delete("a")
    assert not store.delete("a")
    assert not put(store, "a", b"three", second.version)  # it is gone
    assert put(store, "a", b"new life")
    assert not put(store, "a", b"old life", second.version)
    assert store.get("a").content == b"new life"


def test_ids_may_be_any_text(store):
    ids = ["a/b", "ä ö", "a:b", "{x}", "%", "*", "a'b\"c", "\U0001f600", "x" * 200, "a", "A"]
    for id in ids:
        assert put(store, id, id.encode())
    assert store.count() == len(ids)
    assert {each.id: each.content for each in store.newest(100)} == {id: id.encode() for id in ids}


def test_the_number_of_series_is_bounded_exactly_under_threads(place, store):
    others = [open_store(place, store._model) for _ in range(2)]
    refused = []

    def fill(own, start):
        for k in range(start, start + 12):
            try:
                put(own, f"{k}", most=10)
            except Full:
                refused.append(k)

    threads = [threading.Thread(target=fill, args=(own, 6 * n)) for n, own in enumerate([store, *others])]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert store.count() == 10
    assert refused
    kept = store.newest(1)[0].id
    assert not put(store, kept, most=10)  # a conflict, not a lack of room
    assert put(store, kept, b"y", store.get(kept).version, most=1)
    [other.close() for other in others]


def test_old_series_are_evicted_and_the_newest_come_first(store):
    for k in range(6):
        put(store, f"{k}", updated=float(k))
    assert [each.id for each in store.newest(3)] == ["5", "4", "3"]
    put(store, "0", b"again", store.get("0").version, updated=9.0)
    assert store.evict(3.0) == 2
    assert {each.id for each in store.newest(9)} == {"0", "3", "4", "5"}
    assert store.evict(3.0) == 0
    assert store.newest(1)[0] == ("0", b"again")


def test_models_are_kept_apart(place, store):
    other = open_store(place, "another model")
    before = other.of_others()
    put(other, "a", b"theirs")
    put(store, "a", b"ours")
    assert (store.get("a").content, other.get("a").content) == (b"ours", b"theirs")
    assert store.count() == 1
    assert other.of_others() == before + 1
    assert other.delete("a")
    assert store.get("a").content == b"ours"
    other.close()


def test_every_addition_of_many_threads_counts(place, store):
    """Compare-and-set: 4 threads, 2 connections, 25 additions each, none lost."""
    other = open_store(place, store._model)

    def add(own):
        for _ in range(25):
            while True:
                stored = own.get("sum")
                total = int(stored.content) if stored else 0
                if put(own, "sum", str(total + 1).encode(), stored and stored.version):
                    break

    threads = [threading.Thread(target=add, args=(own,)) for own in (store, other, store, other)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert store.get("sum").content == b"100"
    other.close()


def test_a_note_is_a_text(store):
    assert store.note() == ""
    assert isinstance(store.get("nothing"), Stored | None)


def test_addresses():
    assert str(sqlite_file("x/y.db")) == "x/y.db"
    assert str(sqlite_file("sqlite:///x/y.db")) == "x/y.db"
    assert str(sqlite_file("sqlite:////x/y.db")) == "/x/y.db"
    assert sqlite_file("redis://host") is None
    with pytest.raises(ValueError, match="did you mean `redis`"):
        open_store("reddis://host", "m")
    assert {"sqlite", "redis", "postgresql"} <= set(STORES)


def test_what_is_not_there_is_said(tmp_path):
    for address in ("redis://127.0.0.1:1/0", "postgresql://x@127.0.0.1:1/x", str(tmp_path / "no" / "s.db")):
        with pytest.raises(StoreFailed, match="cannot be used"):
            open_store(address, "m")
    (tmp_path / "text").write_text("nothing of a database, but long enough to look like one" * 40)
    with pytest.raises(ValueError, match="not an SQLite database"):
        open_store(str(tmp_path / "text"), "m")


def test_the_database_of_something_else_is_left_alone(tmp_path):
    import sqlite3

    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE series (x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match="of another program"):
        open_store(str(path), "m")
    assert path.read_bytes() == before
