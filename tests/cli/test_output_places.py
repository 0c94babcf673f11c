"""No command writes over its input, into folders whose files are sealed, or over what somebody else put there."""

import os
import shutil
import sqlite3

import pytest

from cli.tables import WIDE, lt, write_shards, write_tables
from liquidtime.files.folders import write_folder

REGRESS = ["--target", "score", "--task", "regress", "--values", "hr,temp", "--epochs", 1]
TRAIN = ["train", "wide.csv", *WIDE, *REGRESS, "--quick"]
SEARCH = ["search", "wide.csv", *WIDE, *REGRESS, "--trials", 1]
PREDICT, EXPLAIN = ["predict", "model"], ["explain", "model", "wide.csv"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    write_tables(folder, S=12)
    write_shards(folder, 4)
    here = os.getcwd()
    os.chdir(folder)
    try:
        for words in ([*TRAIN, "--out", "model"], ["pack", "wide.csv", *WIDE, "--values", "hr,temp", "--out", "set"]):
            code, _, err = lt(*words)
            assert code == 0, err
    finally:
        os.chdir(here)
    write_folder(folder / "exported", {"model.json": b"{}", "step.onnx": b"x"})
    (folder / "own").mkdir()
    for name in (".lock", ".liquidtime.lock", "RESULTS.md", "importance.png", "page.html", "m.search.html"):
        (folder / "own" / name).write_text("years of work")
    with sqlite3.connect(folder / "mine.db") as database:
        database.execute("CREATE TABLE thesis (page)")
    database.close()
    return folder


@pytest.fixture
def home(whole, tmp_path, monkeypatch):
    home = shutil.copytree(whole, tmp_path / "home")
    monkeypatch.chdir(home)
    return home


def contents(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize("words", [
    [*PREDICT, "shards/*.parquet", "--out", "shards/part-0.parquet", "--force"],
    [*PREDICT, "shards/*.parquet", "--out", "shards/new.parquet"],
    [*PREDICT, "shards", "--out", "shards/new.csv"],
    [*PREDICT, "wide.csv", "--static-table", "labels.csv", "--out", "labels.csv", "--force"],
    [*PREDICT, "mine.db", "--query", "SELECT 1", "--out", "link.csv", "--force"],
    [*PREDICT, "set", "--out", "set/new.csv"],
    [*PREDICT, "wide.csv", "--out", "exported/new.csv"],
    [*PREDICT, "wide.csv", "--out", "alias/new.csv"],
    [*PREDICT, "wide.csv", "--out", "pipe.csv", "--force"],
    [*PREDICT, "shards", "--out", "own"],
    [*PREDICT, "shards", "--out", "set"],
    [*PREDICT, "shards", "--out", "exported"],
    [*PREDICT, "shards", "--out", "set/new"],
    [*TRAIN, "--out", "set"],
    [*TRAIN, "--out", "set", "--force"],
    [*TRAIN, "--out", "exported"],
    [*TRAIN, "--out", "model/new"],
    [*TRAIN, "--out", "alias/new"],
    ["demo", "--out", "set", "--force"],
    [*SEARCH, "--out", "set"],
    [*SEARCH, "--out", "new", "--page", "wide.csv", "--force"],
    [*SEARCH, "--out", "new", "--page", "model/new.html"],
    [*SEARCH, "--out", "own/m", "--storage", "sqlite:///new.db"],
    [*SEARCH, "--out", "new", "--storage", "sqlite:///mine.db"],
    [*SEARCH, "--out", "new", "--storage", "sqlite:///labels.csv"],
    [*SEARCH, "--out", "new", "--storage", "sqlite:///own"],
    ["export", "model", "--to", "onnx", "--out", "set", "--force"],
    ["export", "model", "--to", "onnx", "--out", "set/new"],
    ["export", "exported", "--to", "onnx", "--out", "model", "--force"],
    ["pack", "wide.csv", *WIDE, "--out", "model", "--force"],
    ["pack", "wide.csv", *WIDE, "--out", "model/new"],
    [*EXPLAIN, "--out", "new.html", "--pictures", "own"],
    [*EXPLAIN, "--out", "new.html", "--pictures", "model"],
    [*EXPLAIN, "--out", "set/new.html"],
    ["paper", "table", "--all", "--out", "own", "--page", "own/RESULTS.md"],
], ids=lambda words: " ".join(str(word) for word in words if word not in REGRESS + WIDE))  # fmt: skip
def test_is_refused_before_any_work(home, words):
    (home / "alias").symlink_to(home / "set")
    os.link(home / "mine.db", home / "link.csv")
    os.mkfifo(home / "pipe.csv")
    before = contents(home)
    code, _, err = lt(*words)
    assert (code, err.count("\n"), "Traceback" in err) == (2, 1, False), err
    assert not any(python in err for python in ("`", "=True")), err
    assert contents(home) == before


def test_a_page_of_an_interrupted_search_is_replaced(home):
    words = [*SEARCH, "--out", "new", "--storage", "sqlite:///trials.db"]
    assert lt(*words)[0] == 0
    first = (home / "new.search.html").read_bytes()
    code, _, err = lt(*words[:-4], "--trials", 2, *words[-4:])
    assert code == 0, err
    assert (home / "new.search.html").read_bytes() != first


def test_a_page_of_tables_is_replaced_by_its_like(home):
    words = ["paper", "table", "--all", "--out", "own", "--page"]
    for _ in range(2):
        assert lt(*words, "new.md")[0] == 0
    assert lt(*words, "own/RESULTS.md", "--force")[0] == 0


def test_a_second_set_replaces_the_first_without_a_moment_between(home, monkeypatch):
    from liquidtime.data.stored import writing

    rename, renamed = writing.Path.rename, []
    monkeypatch.setattr(writing.Path, "rename", lambda *names: (renamed.append(names), rename(*names))[1])
    code, _, err = lt("pack", "wide.csv", *WIDE, "--values", "hr", "--out", "set", "--force")
    assert (code, [names for names in renamed if home / "set" in names]) == (0, []), err
    assert [path.name for path in home.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("failing", [1, 2])
def test_a_set_stays_where_the_system_cannot_exchange_names(home, monkeypatch, failing):
    from liquidtime.data.stored import writing

    rename, calls = writing.Path.rename, []

    def fails(path, other):
        calls.extend([path] if home / "set" in (path, other) else [])
        if len(calls) == failing and calls[-1] == path:
            raise OSError(5, "Input/output error")
        return rename(path, other)

    monkeypatch.setattr(writing, "exchange", lambda one, other: False)
    monkeypatch.setattr(writing.Path, "rename", fails)
    before = contents(home / "set")
    code, _, err = lt("pack", "wide.csv", *WIDE, "--values", "hr", "--out", "set", "--force")
    assert (code, "It is unchanged" in err) == (1, True)
    assert contents(home / "set") == before
