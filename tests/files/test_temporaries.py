"""Names of unfinished files, and who may still be writing them."""

import contextlib
import os

import pytest

from liquidtime.files import temporaries
from liquidtime.files.whole_files import write_file

GONE = 2**22 + 1  # no process has so large a number


@pytest.mark.parametrize(("error", "alive"), [(None, True), (PermissionError, True), (ProcessLookupError, False)])
def test_a_process_of_somebody_else_counts_as_alive(monkeypatch, tmp_path, error, alive):
    asked = []

    def kill(pid, signal):
        asked.append((pid, signal))
        if error is not None:
            raise error

    monkeypatch.setattr(temporaries.os, "kill", kill)
    left = tmp_path / ".set.4321.tmp"
    left.mkdir()
    os.utime(left, (1.0, 1.0))
    temporaries.remove_dead(tmp_path / "set", ())
    assert asked == [(4321, 0)]
    assert left.exists() is alive


def test_a_temporary_is_one_of_the_temporaries_and_links_and_other_names_are_not(tmp_path):
    path = tmp_path / "a.csv"
    own = temporaries.temporary_of(path)
    own.write_text("half")
    (tmp_path / ".aXcsv.12.tmp").write_text("")
    (tmp_path / ".a.csv.12.tmp.txt").write_text("")
    (tmp_path / ".a.csv.13.tmp").symlink_to(own)
    assert temporaries.temporaries_of(path) == [own]
    assert temporaries.temporaries_of(tmp_path / "absent" / "a.csv") == []


def test_only_named_plain_files_of_a_folder_are_removed(tmp_path):
    folder = tmp_path / "run"
    (folder / "config.json").mkdir(parents=True)
    (folder / "link").symlink_to(tmp_path)
    (folder / "weights").write_text("1")
    temporaries.remove_folder(folder, ["config.json", "link", "weights"])
    assert sorted(item.name for item in folder.iterdir()) == ["config.json", "link"]
    (tmp_path / "alias").symlink_to(folder)
    (folder / "weights").write_text("1")
    temporaries.remove_folder(tmp_path / "alias", ["weights"])
    assert (folder / "weights").exists()


def left_over(path, old=True):
    path.mkdir()
    (path / "part-0").write_text("half")
    if old:
        os.utime(path, (1.0, 1.0))
    return path


def test_parts_that_killed_processes_left_are_removed_with_the_next(tmp_path):
    out = tmp_path / "set"
    dead, alive, young, own = (
        left_over(tmp_path / f".set.parts.{pid}.tmp", old=pid != GONE + 1)
        for pid in (GONE, os.getppid(), GONE + 1, os.getpid())
    )
    others = left_over(tmp_path / f".other.parts.{GONE}.tmp")
    with contextlib.suppress(KeyError), temporaries.scratch_folder(out) as scratch:
        assert scratch == own
        assert list(scratch.iterdir()) == []
        assert not dead.exists()
        (scratch / "part-0").write_text("half")
        raise KeyError
    assert sorted(tmp_path.iterdir()) == sorted([alive, young, others])


def test_a_file_that_a_killed_process_left_is_removed_with_the_next(tmp_path):
    names = {"dead": GONE, "young": GONE + 1, "alive": os.getppid()}
    for name, pid in names.items():
        file = tmp_path / f".p.csv.{pid}.tmp"
        file.write_text("half")
        if name != "young":
            os.utime(file, (1.0, 1.0))
    write_file(tmp_path / "p.csv", b"whole")
    kept = {f".p.csv.{names[name]}.tmp" for name in ("young", "alive")}
    assert {file.name for file in tmp_path.iterdir()} == {"p.csv", *kept}
