"""A lock is held by one at a time, and takes no file that somebody else wrote."""

import os

import pytest

from liquidtime.files.locks import FolderInUse, lock_file


def test_a_lock_names_its_process_and_is_free_afterwards(tmp_path):
    path = tmp_path / "lock"
    path.write_text("123456789\n")  # of a process that is gone
    for _ in range(2):
        with lock_file(path, "process {pid} is at work"):
            assert path.read_text() == f"{os.getpid()}\n"
            with (
                pytest.raises(FolderInUse, match=f"^process {os.getpid()} is at work$"),
                lock_file(path, "process {pid} is at work"),
            ):
                pass
            assert path.read_text() == f"{os.getpid()}\n"


@pytest.mark.parametrize("text", ["years of work", "12 monkeys", "1" * 32, "12\n34"])
def test_a_file_that_is_no_lock_is_left_unchanged(tmp_path, text):
    path = tmp_path / "lock"
    path.write_text(text)
    with pytest.raises(FileExistsError, match="is not a lock of ours"), lock_file(path, "busy"):
        pass
    assert path.read_text() == text


def test_a_lock_is_not_taken_on_a_file_that_was_removed_meanwhile(tmp_path, monkeypatch):
    path = tmp_path / "lock"
    stat = os.stat

    def removed(name, *args, **options):
        if name == path:
            raise FileNotFoundError(name)
        return stat(name, *args, **options)

    monkeypatch.setattr("liquidtime.files.locks.os.stat", removed)
    with pytest.raises(FolderInUse, match="unknown"), lock_file(path, "{pid}"):
        pass


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "mine").write_text("")
    (tmp_path / "lock").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="symbolic links"), lock_file(tmp_path / "lock", "busy"):
        pass
    assert (tmp_path / "mine").read_text() == ""
