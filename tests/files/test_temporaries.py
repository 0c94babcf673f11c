"""Names of unfinished files, and who may still be writing them."""

import os

import pytest

from liquidtime.files import temporaries


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
