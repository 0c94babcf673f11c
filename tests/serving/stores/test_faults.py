"""Faults of the disk and of what is stored: said as such, nothing half written, and over when the fault is."""

import sqlite3

import pytest

from liquidtime.serving.launch import service_of
from liquidtime.serving.messages import NewSamples, Sample
from liquidtime.serving.refusal import Refused
from liquidtime.serving.settings import Settings
from liquidtime.serving.stores import StoreFailed, open_store


def put(store, id, size=10):
    return store.put(id, b"x" * size, None, 1.0, 1000)


@pytest.mark.parametrize(
    ("fault", "mended", "text"),
    [
        ("PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1000000", "full"),  # as on a full disk
        ("PRAGMA query_only = ON", "PRAGMA query_only = OFF", "readonly"),  # as on a disk that became read-only
    ],
)
def test_a_disk_that_takes_nothing_fails_the_write_alone(tmp_path, fault, mended, text):
    store = open_store(str(tmp_path / "s.db"), "model")
    assert put(store, "before")
    store._connection().execute(fault)
    with pytest.raises(StoreFailed, match=text):
        put(store, "after", 1 << 20)
    assert store.get("before").content == b"x" * 10
    assert store.get("after") is None
    store._connection().execute(mended)
    assert put(store, "after")
    store.close()


def test_a_file_that_is_overwritten_while_it_is_used_is_a_fault_of_the_store(tmp_path):
    store = open_store(str(tmp_path / "s.db"), "model")
    put(store, "x")
    store.close()
    store = open_store(str(tmp_path / "s.db"), "model")
    for file in tmp_path.iterdir():
        file.write_bytes(b"nothing of a database" * 1000)
    with pytest.raises(StoreFailed, match="cannot be used"):
        store.get("x")
    store.close()
    for file in tmp_path.glob("s.db-*"):
        file.unlink()
    with pytest.raises(ValueError, match="not an SQLite database"):
        open_store(str(tmp_path / "s.db"), "model")


def test_a_damaged_record_is_told_of_and_leaves_the_others_alone(exported, tmp_path):
    service = service_of(Settings(exported, str(tmp_path / "s.db")))
    for id in ("good", "bad"):
        service.take(id, NewSamples([Sample(1.0, {"a": 1.0})]))
    with sqlite3.connect(tmp_path / "s.db") as connection:
        connection.execute("UPDATE series SET content = x'c1' WHERE id = 'bad'")
    connection.close()
    for ask in (lambda: service.get("bad"), lambda: service.take("bad", NewSamples([Sample(2.0)]))):
        with pytest.raises(Refused, match="delete the series") as refused:
            ask()
        assert (refused.value.status, refused.value.code) == (500, "damaged_series")
    assert [each.id for each in service.newest(10, 1).series] == ["good"]
    service.delete("bad")
    assert service.take("bad", NewSamples([Sample(2.0)])).times == 1
    service.store.close()
