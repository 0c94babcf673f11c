"""Where output is refused before any work."""

import os

import pytest

from liquidtime.files.exchange import exchange
from liquidtime.files.folders import write_folder
from liquidtime.files.places import check_file, refuse_sealed, sealed_around


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_folder(tmp_path / "model", {"config.json": b"{}"})
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("a")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "manifest.json").write_text("{}")  # somebody else's
    return tmp_path


def test_sealed_folders_are_found_from_inside_and_through_links(home):
    (home / "model" / "sub").mkdir()
    (home / "alias").symlink_to(home / "model" / "sub")
    for path in (home / "model", home / "model" / "sub", home / "alias"):
        assert sealed_around(path) == home / "model"
    for path in (home, home / "data", home / "other"):
        assert sealed_around(path) is None
    refuse_sealed(home / "model")  # the folder itself may be replaced as a whole
    with pytest.raises(ValueError, match=r"--out .*model must not be in .*model, whose files are sealed"):
        refuse_sealed(home / "model", "--out", files=True)
    with pytest.raises(ValueError, match=r"^[^ ]*new must not be in"):
        refuse_sealed(home / "model" / "new")


@pytest.mark.parametrize(("out", "inputs", "error"), [
    ("new.csv", ["data", "absent", "https://host/a.csv", None, "a\0b"], None),
    ("new.CSV", [], None),
    ("new.txt", [], "must end in .csv or .parquet; got 'new.txt'"),
    ("absent/new.csv", [], "there is no .*absent"),
    ("model/new.csv", [], "sealed"),
    ("data", [], "must end in"),
    ("folder.csv", [], "is a folder"),
    ("pipe.csv", [], "is a device or a pipe"),
    ("data/new.csv", ["data"], "one of the input files"),
    ("data/a.csv", ["data/a.csv"], "one of the input files"),
    ("hard.csv", ["data"], "one of the input files"),
    ("hard.csv", ["data/*.csv"], "one of the input files"),
    ("hard.csv", ["data/a.csv"], "one of the input files"),
    ("data/new.csv", ["data/*.csv"], "one of the input files"),
    ("data/new.csv", ["data/b*.csv"], None),
    ("old.csv", [], None),
])  # fmt: skip
def test_files(home, out, inputs, error):
    os.link(home / "data" / "a.csv", home / "hard.csv")
    (home / "folder.csv").mkdir()
    os.mkfifo(home / "pipe.csv")
    (home / "old.csv").write_text("old")
    options = {"endings": (".csv", ".parquet"), "inputs": inputs, "argument": "--out"}
    before = sorted(home.rglob("*"))
    if error is None:
        check_file(home / out, replace=True, **options)
    else:
        with pytest.raises((ValueError, OSError), match=error):
            check_file(home / out, replace=True, **options)
    assert sorted(home.rglob("*")) == before


def test_a_file_is_replaced_only_when_told(home):
    (home / "old.csv").write_text("old")
    (home / "dangling.csv").symlink_to(home / "nowhere")
    for name in ("old.csv", "dangling.csv"):
        check_file(home / name, replace=True)
        with pytest.raises(FileExistsError, match="exists; add replace=True"):
            check_file(home / name, replace=False)
    check_file(home / "any", replace=False)


def test_names_are_exchanged_also_if_they_are_relative(home):
    (home / "one").write_text("1")
    done = exchange(*map(type(home), ("one", "data")))
    if done:  # the system can
        assert (home / "data").read_text() == "1"
        assert (home / "one" / "a.csv").read_text() == "a"
    assert exchange(home / "one", home / "absent") is False
