"""Disks that are full or cannot be written: said in one line that names the place, before work where that can be."""

import errno
import os
import pathlib
import resource
import shutil
from contextlib import contextmanager

import pytest

from cli.tables import WIDE, lt, write_shards, write_tables
from liquidtime.files import locks, places
from liquidtime.files.whole_files import SaveFailed, write_file

TRAIN = ["train", "wide.csv", *WIDE, "--target", "score", "--task", "regress", "--values", "hr,temp", "--epochs", 1]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    write_tables(folder, S=12)
    write_shards(folder, 4)
    code, _, err = lt("train", folder / "wide.csv", *TRAIN[2:], "--quick", "--out", folder / "model")
    assert code == 0, err
    return folder


@pytest.fixture
def home(whole, tmp_path, monkeypatch):
    home = shutil.copytree(whole, tmp_path / "home")
    (home / "results").mkdir()
    monkeypatch.chdir(home)
    return home


def contents(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@contextmanager
def small_files(size):
    """Refuse to write longer files, as a full disk does."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("words", [
    ["predict", "absent", "wide.csv", "--out", "results/new.csv"],
    ["predict", "model", "shards", "--out", "results"],
    ["predict", "model", "shards", "--out", "results/new"],
    ["explain", "absent", "wide.csv", "--out", "results/new.html"],
    ["explain", "absent", "wide.csv", "--out", "new.html", "--pictures", "results/new/pictures"],
    ["export", "absent", "--to", "onnx", "--out", "results/new"],
    ["pack", "absent.csv", *WIDE, "--out", "results/new"],
    ["search", "absent.csv", *TRAIN[2:], "--out", "new", "--page", "results/new.html"],
], ids=lambda words: " ".join(str(word) for word in words[:1] + words[-2:]))  # fmt: skip
def test_a_folder_that_cannot_be_written_is_refused_before_any_work(home, monkeypatch, words):
    touch = pathlib.Path.touch

    def refuses(path, *args, **options):
        if home / "results" in path.parents:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return touch(path, *args, **options)

    monkeypatch.setattr(places.Path, "touch", refuses)
    before = contents(home)
    code, _, err = lt(*words)
    assert (code, err.count("\n"), "cannot be written: Read-only file system" in err) == (1, 1, True), err
    assert ("--out" in err or "--page" in err or "--pictures" in err, "Errno" in err, ".tmp" in err) == (
        True,
        False,
        False,
    ), err
    assert contents(home) == before


@pytest.mark.parametrize(("words", "size"), [
    (["predict", "model", "shards", "--out", "results"], 1000),
    (["predict", "model", "wide.csv", "--out", "results/new.parquet"], 1000),
    (["predict", "model", "wide.csv", "--out", "results/new.csv"], 100),
    (["pack", "wide.csv", *WIDE, "--values", "hr,temp", "--out", "results/new"], 100),
    (["pack", "shards", *WIDE, "--values", "hr,temp", "--out", "results/new"], 100),
    ([*TRAIN, "--quick", "--out", "results/new"], 1),
], ids=["shards", "parquet", "csv", "pack", "pack shards", "train"])  # fmt: skip
def test_a_full_disk_is_said_in_one_line_and_leaves_nothing_half_written(home, words, size):
    with small_files(size):
        code, _, err = lt(*words)
    error = err.splitlines()[-1]
    assert (code, error.count("could not write"), "results" in error) == (1, 1, True), err
    assert not any(word in error for word in ("Errno", "ComputeError", "--debug", "Traceback", ".tmp", ".parts")), err
    left = [
        path.name for path in (home / "results").rglob("*") if not path.name.startswith(("new.run", "liquidtime-run"))
    ]
    assert set(left) <= {"job.lock"}, left


def test_a_file_on_a_disk_that_became_unwritable_fails_as_a_save(tmp_path, monkeypatch):
    def refuses(path, missing_ok=False):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(pathlib.Path, "unlink", refuses)
    with pytest.raises(SaveFailed, match=r"could not write .*page.html: Read-only file system"):
        write_file(tmp_path / "page.html", b"page")


def test_a_lock_on_a_full_disk_names_its_file(tmp_path):
    full = pytest.raises(OSError, match=r"could not write .*job.lock: File too large")
    with small_files(0), full, locks.lock_file(tmp_path / "job.lock", "busy"):
        pass
    with locks.lock_file(tmp_path / "job.lock", "busy"):
        assert (tmp_path / "job.lock").read_text() == f"{os.getpid()}\n"
