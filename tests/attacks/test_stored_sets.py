"""Stored sets that are damaged, or were made to do harm: each is refused whole, and cheaply."""

import json
import os
import shutil
import time

import numpy as np
import pytest

import liquidtime as lt
from estimators.forged import sign
from liquidtime.training import DamagedFolder
from oracles.series import random_set

NAMES = ("offsets", "times", "values", "ids", "static")


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored") / "good"
    random_set(0, [5, 0, 9, 3]).write(folder)
    return folder


@pytest.fixture
def folder(good, tmp_path):
    return shutil.copytree(good, tmp_path / "set")


def refused(folder, match=None):
    begun, handles = time.process_time(), len(os.listdir("/proc/self/fd"))
    with pytest.raises((DamagedFolder, FileNotFoundError), match=match):
        lt.open_set(folder)
    assert time.process_time() - begun < 1.0
    assert len(os.listdir("/proc/self/fd")) <= handles


@pytest.mark.parametrize("name", [*(f"{name}.npy" for name in NAMES), "set.json", "manifest.json"])
def test_every_flipped_bit_and_every_lost_byte_is_noticed(folder, name):
    file = folder / name
    whole = file.read_bytes()
    for place in {0, 9, len(whole) // 2, len(whole) - 2}:
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        refused(folder)
    for cut in (0, 1, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:cut])
        refused(folder)
    file.write_bytes(whole + b"\0")
    refused(folder)
    file.unlink()
    refused(folder)
    file.write_bytes(whole)
    assert len(lt.open_set(folder)) == 4


def test_sizes_are_compared_even_without_verification(folder):
    os.truncate(folder / "values.npy", 200)
    with pytest.raises(DamagedFolder, match=r"values\.npy has 200 bytes"):
        lt.open_set(folder, verify=False)


def forge(folder, name, array):
    np.save(folder / name, array, allow_pickle=array.dtype.hasobject)
    sign(folder)


def test_a_pickle_is_never_opened(folder, tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "exploded"),)

    for name in NAMES:
        forge(folder, f"{name}.npy", np.array([Bomb()] * 4, dtype=object))
        refused(folder, "must be an array of|bytes")
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize(("name", "array"), [
    ("offsets.npy", np.array([0, 5, 2, 14, 17])), ("offsets.npy", np.array([0, 5, 5, 14, 99])),
    ("offsets.npy", np.array([-5, 5, 5, 14, 17])), ("offsets.npy", np.array([0, 5, 5, 14, 17], dtype="<i4")),
    ("times.npy", np.full(17, np.nan)), ("times.npy", np.zeros(17)), ("times.npy", np.full(17, np.inf)),
    ("values.npy", np.full((17, 4), np.inf, dtype="<f4")), ("values.npy", np.full((17, 4), 7.5, dtype="<f4")),
    ("values.npy", np.asfortranarray(np.zeros((17, 4), dtype="<f4"))), ("values.npy", np.zeros((17, 5), dtype="<f4")),
    ("values.npy", np.zeros((17, 4), dtype=">f4")), ("values.npy", np.zeros(17, dtype=[("a", "<f4", (4,))])),
    ("ids.npy", np.array(["a", "a", "b", "c"])), ("ids.npy", np.arange(4)), ("ids.npy", np.array(["a"] * 5)),
    ("static.npy", np.full((4, 2), np.inf, dtype="<f4")), ("static.npy", np.full((4, 2), 5, dtype="<f4")),
])  # fmt: skip
def test_arrays_that_are_no_set_are_refused_with_right_checksums(folder, name, array):
    forge(folder, name, array)
    refused(folder)


@pytest.mark.parametrize("header", [
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", b"__import__('os').mkdir('/tmp/exploded')",
    b"(" * 900, b"[" * 900, b"{'descr': '<f8'}", b"9" * 900, b"{'descr': '|O', 'fortran_order': False, 'shape': (17,)}",
    b"{'descr': '<U4000000000', 'fortran_order': False, 'shape': (17,)}", b"",
])  # fmt: skip
def test_hostile_headers(folder, header):
    raw = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\0" * 136
    (folder / "times.npy").write_bytes(raw)
    sign(folder)
    refused(folder)


@pytest.mark.parametrize("change", [
    {"series": 10**15}, {"series": -1}, {"series": 4.0}, {"series": True}, {"samples": 10**30}, {"format": 2},
    {"channels": ["a"] * 4}, {"channels": "abcd"}, {"channels": [1, 2, 3, 4]}, {"channels": ["x"] * 200_000},
    {"categories": {"nobody": ["x"]}}, {"categories": []}, {"time_unit": "years"}, {"time_unit": ["h"]},
    {"origins": "stamps"}, {"origins": "../x"}, {"ids": "pickles"}, {"notes": [1]},
    {"notes": [["kept", "x", "1", 2, []]]},
    {"reading": {"a": 1}}, {"columns": 5}, {"surplus": 1}, {"static_names": ["a", "ward"]},
])  # fmt: skip
def test_hostile_facts(folder, change):
    facts = json.loads((folder / "set.json").read_text())
    (folder / "set.json").write_text(json.dumps(facts | change))
    sign(folder)
    refused(folder)


@pytest.mark.parametrize(
    "text", ["", "[" * 100_000, "[" + "[]," * 1_500_000 + "[]]", '{"format": 1, "format": 1}', "9" * 10**6]
)
def test_hostile_json(folder, text):
    (folder / "set.json").write_text(text)
    sign(folder)
    refused(folder)


def listed(folder, name, size):
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][name] = {"bytes": size, "sha256": "0" * 64}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")


def test_nothing_outside_the_folder_is_read(folder, tmp_path):
    (folder / "values.npy").rename(tmp_path / "values.npy")
    (folder / "values.npy").symlink_to(tmp_path / "values.npy")
    refused(folder, "cannot be read")
    (folder / "values.npy").unlink()
    os.mkfifo(folder / "values.npy")
    refused(folder)
    listed(folder, "../values.npy", 5)
    refused(folder, "plain name")


def test_holes_and_surplus_files_are_refused(folder):
    whole = (folder / "values.npy").read_bytes()
    os.truncate(folder / "values.npy", 12 << 30)
    listed(folder, "values.npy", 12 << 30)
    refused(folder)
    (folder / "values.npy").write_bytes(whole)
    shutil.copy(folder / "times.npy", folder / "more.npy")
    sign(folder)
    refused(folder, r"more\.npy")


def test_what_is_no_stored_set_is_said(tmp_path):
    refused(tmp_path / "nothing", "there is no folder")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "manifest")
