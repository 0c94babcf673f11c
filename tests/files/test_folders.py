from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import warnings
from contextlib import contextmanager

import pytest
import torch

from liquidtime.files.bounded import DamagedFolder
from liquidtime.files.contents import json_to_bytes, tensors_from_bytes, tensors_to_bytes
from liquidtime.files.folders import FallbackWarning, previous_of, read_folder, read_newest, write_folder
from liquidtime.files.sealed import MANIFEST, SealedFolder, problem_of
from liquidtime.files.whole_files import SaveFailed, file_in_parts, write_file

FILES = {"config.json": b'{"a": 1}\n', "model.safetensors": bytes(range(256))}


LARGEST = {"config.json": 1000, "model.safetensors": 1000}


def generations(tmp_path):
    path = tmp_path / "model"
    write_folder(path, {**FILES, "config.json": b"old"})
    write_folder(path, FILES)
    return path


def test_what_is_written_is_read_and_the_one_before_is_kept(tmp_path):
    path = generations(tmp_path)
    assert read_folder(path) == FILES
    assert read_folder(previous_of(path))["config.json"] == b"old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["model", "model.previous"]
    write_folder(path, {"config.json": b"third"})
    assert read_folder(path) == {"config.json": b"third"}
    assert read_folder(previous_of(path)) == FILES


def test_every_flipped_bit_is_found(tmp_path):
    path = generations(tmp_path)
    for name in (*FILES, MANIFEST):
        with open(path / name, "r+b", buffering=0) as file:
            good = file.read()
            for bit in range(len(good) * 8):
                flipped = bytes([good[bit // 8] ^ 1 << bit % 8])
                os.pwrite(file.fileno(), flipped, bit // 8)
                assert problem_of(path) is not None, (name, bit)
                os.pwrite(file.fileno(), good[bit // 8 : bit // 8 + 1], bit // 8)
    assert problem_of(path) is None


@pytest.mark.parametrize("name", [*FILES, MANIFEST])
@pytest.mark.parametrize("damage", ["truncated", "longer", "missing", "empty", "flipped"])
def test_damage_falls_back_with_a_warning_that_names_it(tmp_path, name, damage):
    path = generations(tmp_path)
    file = path / name
    data = file.read_bytes()
    if damage == "missing":
        file.unlink()
    else:
        changed = {"truncated": data[:-1], "longer": data + b"x", "empty": b"", "flipped": b"\x40" + data[1:]}
        file.write_bytes(changed[damage])
    with pytest.warns(FallbackWarning, match=f"{name}.*Using .*model.previous"):
        found, files = read_newest(path, LARGEST)
    assert found == previous_of(path)
    assert files["config.json"] == b"old"


def test_a_missing_folder_falls_back_and_two_bad_ones_are_an_error(tmp_path):
    path = generations(tmp_path)
    for entry in path.iterdir():
        entry.unlink()
    path.rmdir()
    with pytest.warns(FallbackWarning, match="there is no folder"):
        read_newest(path, LARGEST)
    (previous_of(path) / "config.json").write_bytes(b"new")
    with pytest.raises(
        DamagedFolder, match=r"no undamaged copy is left: there is no folder .*config.json has another sha256"
    ):
        read_newest(path, LARGEST)
    with pytest.raises(FileNotFoundError, match=r"nor other\.previous next to it"):
        read_newest(tmp_path / "other", LARGEST)


def test_a_damaged_folder_does_not_displace_the_good_one_before(tmp_path):
    path = generations(tmp_path)
    (path / "config.json").write_bytes(b"damaged!\n")
    with pytest.raises(FileExistsError, match=r"differs from what was saved and would be lost: .*config\.json.*Move"):
        write_folder(path, {"config.json": b"new"})
    assert (path / "config.json").read_bytes() == b"damaged!\n"
    write_folder(path, {"config.json": b"new"}, owned=True)
    assert read_folder(path) == {"config.json": b"new"}
    assert read_folder(previous_of(path))["config.json"] == b"old"


@pytest.mark.parametrize("name", ["../escape", "/etc/passwd", "..", "a/b", "", "manifest.json", "a\\b"])
def test_names_stay_in_the_folder(tmp_path, name):
    with pytest.raises(DamagedFolder, match="not the plain name"):
        write_folder(tmp_path / "model", {name: b"x"})
    assert not (tmp_path / "escape").exists()


def test_a_manifest_cannot_point_outside(tmp_path):
    path = generations(tmp_path)
    manifest = (path / MANIFEST).read_text()
    (tmp_path / "config.json").write_bytes(FILES["config.json"])
    (path / MANIFEST).write_text(manifest.replace('"config.json"', '"../config.json"'))
    assert "not the plain name" in str(problem_of(path))
    (path / MANIFEST).write_text(manifest)
    (path / "config.json").unlink()
    (path / "config.json").symlink_to(tmp_path / "config.json")
    assert "cannot be read" in str(problem_of(path))


def test_a_pipe_in_place_of_a_file_does_not_hang(tmp_path):
    path = generations(tmp_path)
    (path / "config.json").unlink()
    os.mkfifo(path / "config.json")
    assert "not a plain file" in str(problem_of(path))


@pytest.mark.parametrize("text", ["[]", "{}", '{"files": []}', '{"files": {"a": 1}}', "[" * 100_000, "nul", "\x00"])
def test_manifests_of_another_kind(tmp_path, text):
    path = generations(tmp_path)
    (path / MANIFEST).write_text(text)
    assert MANIFEST in str(problem_of(path))


def test_a_users_own_folder_is_never_replaced(tmp_path):
    path = tmp_path / "mine"
    path.mkdir()
    (path / "thesis.tex").write_text("years of work")
    with pytest.raises(FileExistsError, match=r"files that would be lost, such as 'thesis.tex' \(1 in all\)"):
        write_folder(path, FILES)
    assert (path / "thesis.tex").read_text() == "years of work"
    saved = generations(tmp_path)
    (previous_of(saved) / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"notes\.txt"):
        write_folder(saved, FILES)
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "config.json").write_text("mine")
    with pytest.raises(FileExistsError, match=r"such as 'config.json'"):
        write_folder(tmp_path / "web", FILES)
    (tmp_path / "web" / "manifest.json").write_text('{"name": "a page"}')
    with pytest.raises(FileExistsError, match=r"such as 'config.json'"):
        write_folder(tmp_path / "web", FILES)
    (tmp_path / "fresh.previous").mkdir()
    (tmp_path / "fresh.previous" / "config.json").write_text("mine")
    with pytest.raises(FileExistsError, match=r"fresh\.previous contains files"):
        write_folder(tmp_path / "fresh", FILES)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError, match="is not a folder"):
        write_folder(tmp_path / "file", FILES)


def test_only_old_left_overs_of_dead_processes_are_removed(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    names = {"dead": gone.pid, "young": gone.pid, "alive": os.getppid(), "filled": gone.pid}
    for name, pid in names.items():
        folder = tmp_path / name / f".model.{pid}.tmp"
        folder.mkdir(parents=True)
        (folder / "config.json").write_bytes(b"half")
        if name == "filled":
            (folder / "notes.txt").write_text("mine")
        if name != "young":
            os.utime(folder, (1.0, 1.0))
        write_folder(tmp_path / name / "model", FILES)
    left = {name: sorted(item.name for item in (tmp_path / name).iterdir()) for name in names}
    assert left.pop("dead") == ["model"]
    assert all(len(items) == 2 for items in left.values())
    assert (tmp_path / "filled" / f".model.{gone.pid}.tmp" / "notes.txt").read_text() == "mine"


def test_a_new_file_never_takes_the_place_of_another(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    write_file(path, b"first", replace=False)
    for links in (True, False):
        if not links:
            monkeypatch.setattr(os, "link", refuse_links)
        with pytest.raises(FileExistsError, match="is left unchanged"):
            write_file(path, b"second", replace=False)
        write_file(tmp_path / f"new-{links}.csv", b"new", replace=False)
    assert path.read_bytes() == b"first"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["new-False.csv", "new-True.csv", "table.csv"]


def refuse_links(*paths):
    raise PermissionError("no links on this disk")


@contextmanager
def small_files():
    """Refuse to write long files inside a test, and no longer: pytest may be writing its report to one."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@small_files()
def test_a_full_disk_leaves_the_last_good_one(tmp_path):
    path = generations(tmp_path)
    with pytest.raises(
        SaveFailed, match=r"could not write .*model: File too large. The last good one is kept: .*model$"
    ) as e:
        write_folder(path, {**FILES, "model.safetensors": bytes(100_000)})
    assert e.value.errno == errno.EFBIG
    assert read_folder(path) == FILES
    assert read_folder(previous_of(path))["config.json"] == b"old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["model", "model.previous"]
    with pytest.raises(SaveFailed, match="Nothing had been saved there before"):
        write_folder(tmp_path / "first", {"a": bytes(100_000)})


@small_files()
def test_a_single_file_is_whole_or_as_before(tmp_path):
    path = tmp_path / "log"
    write_file(path, b"first")
    with pytest.raises(SaveFailed, match="It is unchanged"):
        write_file(path, bytes(100_000))
    assert path.read_bytes() == b"first"
    assert [entry.name for entry in tmp_path.iterdir()] == ["log"]
    write_file(path, b"second")
    assert path.read_bytes() == b"second"


def test_tensors_of_every_kind_come_back():
    base = torch.arange(12.0).reshape(3, 4)
    given = {
        "strided": base.t(),
        "tied": base,
        "also": base,
        "scalar": torch.tensor(3.5),
        "empty": torch.zeros(0, 2),
        "bool": torch.tensor([True, False]),
        "half": torch.ones(3, dtype=torch.bfloat16),
        "nan": torch.tensor([float("nan"), float("-inf")]),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = tensors_from_bytes(tensors_to_bytes(given))
    assert set(got) == set(given)
    for name, tensor in given.items():
        torch.testing.assert_close(got[name], tensor, rtol=0, atol=0, equal_nan=True)
    for bad in (b"", b"x" * 40, tensors_to_bytes(given)[:-1]):
        with pytest.raises(DamagedFolder, match="not a safetensors file"):
            tensors_from_bytes(bad)


def test_json_is_the_same_for_any_order_and_keeps_letters():
    assert json_to_bytes({"b": "°C", "a": [1]}) == '{"a": [1], "b": "°C"}\n'.encode()
    assert json_to_bytes({"b": 2, "a": 1}, indent=1) == b'{\n "a": 1,\n "b": 2\n}\n'


def test_a_manifest_is_the_same_for_any_order_and_a_file_can_be_peeked_into(tmp_path):
    for name, items in (("one", FILES.items()), ("other", reversed(FILES.items()))):
        write_folder(tmp_path / name, dict(items))
    assert (tmp_path / "one" / MANIFEST).read_bytes() == (tmp_path / "other" / MANIFEST).read_bytes()
    sealed = SealedFolder(tmp_path / "one")
    assert sealed.peek("model.safetensors", 3) == b"\0\1\2"
    assert sealed.size("model.safetensors", 256) == 256
    sealed.check(FILES, 256 + 9)
    for refused in (lambda: sealed.size("model.safetensors", 255), lambda: sealed.check(FILES, 256 + 8)):
        with pytest.raises(DamagedFolder, match="has 256 bytes"):
            refused()


def test_the_system_is_told_to_keep_files_and_their_names(tmp_path, monkeypatch):
    synced, fsync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(os.fstat(handle).st_ino), fsync(handle))[1])
    write_file(tmp_path / "page", b"1")
    assert synced == [(tmp_path / "page").stat().st_ino, tmp_path.stat().st_ino]
    synced.clear()
    write_folder(tmp_path / "model", FILES)
    files = [tmp_path / "model" / name for name in (*FILES, MANIFEST, "")]
    assert synced == [file.stat().st_ino for file in (*files, tmp_path)]


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_rename_that_fails_leaves_both_generations(tmp_path, monkeypatch, failing):
    path, calls = generations(tmp_path), []
    rename = type(path).rename

    def fails(one, other):
        calls.append(one)
        if len(calls) == failing:
            raise OSError(errno.EIO, "Input/output error")
        return rename(one, other)

    monkeypatch.setattr(type(path), "rename", fails)
    with pytest.raises(SaveFailed, match=r"could not write .*model: Input/output error. The last good one is kept: "):
        write_folder(path, {"config.json": b"third"})
    monkeypatch.undo()
    assert [read_folder(item)["config.json"] for item in (path, previous_of(path))] == [FILES["config.json"], b"old"]
    write_folder(path, {"config.json": b"third"})
    assert read_folder(path)["config.json"] == b"third"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["model", "model.previous"]


def test_what_another_library_says_of_a_full_disk_is_a_failed_save(tmp_path):
    path = tmp_path / "table.parquet"
    full, other = RuntimeError("underlying IO error: No space left on device (os error 28)"), KeyError("column")
    with pytest.raises(SaveFailed, match=r"table.parquet: No space left on device. It is unchanged") as failed:
        save_part(path, full)
    assert failed.value.errno == errno.ENOSPC
    with pytest.raises(KeyError, match="column"):
        save_part(path, other)
    assert list(tmp_path.iterdir()) == []


def save_part(path, error):
    with file_in_parts(path) as file:
        file.write(b"half")
        raise error
