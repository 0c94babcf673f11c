"""Make hostile model folders from a good one, load each, and print what it cost as JSON, in seconds of the processor.

usage: hostile_folders.py GOOD SCRATCH
"""

import hashlib
import json
import os
import resource
import shutil
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

import liquidtime as lt
from estimators.forged import sign
from liquidtime.files.contents import tensors_from_bytes, tensors_to_bytes

GOOD, SCRATCH = Path(sys.argv[1]), Path(sys.argv[2])
CONFIG = json.loads((GOOD / "config.json").read_text())
TENSORS = tensors_from_bytes((GOOD / "model.safetensors").read_bytes())
ATTACKS = {}


def attack(function):
    ATTACKS[function.__name__] = function
    return function


def configured(name, change):
    """An attack that changes the configuration."""

    def spoil(folder):
        config = json.loads(json.dumps(CONFIG))
        change(config)
        (folder / "config.json").write_text(json.dumps(config))
        sign(folder)

    ATTACKS[name] = spoil


def raw_config(name, text):
    """An attack that replaces the configuration's text."""

    def spoil(folder):
        (folder / "config.json").write_text(text())
        sign(folder)

    ATTACKS[name] = spoil


def embedded(field, text):
    """Return the configuration with the raw text of one field put in."""
    config = json.loads(json.dumps(CONFIG))
    config[field] = "PUT HERE"
    return lambda: json.dumps(config).replace('"PUT HERE"', text())


def header(name, entries, data=b"", length=None):
    """An attack by a safetensors file of this header."""

    def spoil(folder):
        text = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
        raw = struct.pack("<Q", len(text) if length is None else length) + text + data
        (folder / "model.safetensors").write_bytes(raw)
        sign(folder)

    ATTACKS[name] = spoil


def listed(folder, name, size, digest="0" * 64):
    """Put a file into the manifest."""
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][name] = {"bytes": size, "sha256": digest}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")


for hole in ("surplus.bin2", "model.safetensors", "config.json", "README.md", "job.json", "report.html"):

    def holes(folder, hole=hole):
        with open(folder / hole, "wb") as file:
            file.truncate(12 << 30)
        listed(folder, hole, 12 << 30)

    ATTACKS[f"12 GB of holes as {hole}"] = holes


@attack
def holes_with_a_good_header(folder):
    """A header that fits its 12 GB, which are holes."""
    text = json.dumps({"member-0/a": {"dtype": "F32", "shape": [3 << 30], "data_offsets": [0, 12 << 30]}}).encode()
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + (12 << 30))
    listed(folder, "model.safetensors", 8 + len(text) + (12 << 30))


def layered(network, layers, surplus):
    def spoil(folder):
        config = json.loads(json.dumps(CONFIG))
        config["params"] |= {"network": network, "num_layers": layers, "hidden_size": 1, "backbone_units": 1}
        (folder / "config.json").write_text(json.dumps(config))
        extra = {f"member-{place}/more": torch.zeros(surplus) for place in range(3)}
        (folder / "model.safetensors").write_bytes(tensors_to_bytes({**TENSORS, **extra}))
        sign(folder)

    return spoil


for network in ("cfc", "lstm", "gru_d", "ltc", "transformer"):
    for layers in (20_000, 200_000, 10**9, 10**18):
        ATTACKS[f"{layers} layers of {network}"] = layered(network, layers, 80_000)


@attack
def many_layers_and_as_many_tensors(folder):
    config = json.loads(json.dumps(CONFIG))
    config["params"] |= {"num_layers": 20_000, "hidden_size": 1, "backbone_units": 1}
    (folder / "config.json").write_text(json.dumps(config))
    extra = {f"member-0/{place}": torch.zeros(1) for place in range(20_000)}
    (folder / "model.safetensors").write_bytes(tensors_to_bytes({**TENSORS, **extra}))
    sign(folder)


for size in (10**5, 10**9, 10**12, 10**30):
    for field in ("hidden_size", "backbone_units", "read_out_units"):
        configured(f"{field} {size}", lambda c, f=field, s=size: c["params"].update({f: s}))
    configured(f"members {size}", lambda c, s=size: c.update(members=s))
    configured(f"pieces {size}", lambda c, s=size: c.update(pieces=[s, s]))
for number in (float("inf"), float("nan"), -1, 1e308, True, "9" * 400):
    for field in ("hidden_size", "num_layers"):
        configured(f"{field} {str(number)[:9]}", lambda c, f=field, n=number: c["params"].update({f: n}))
    configured(f"members {str(number)[:9]}", lambda c, n=number: c.update(members=n))
    configured(
        f"time_scale {str(number)[:9]}",
        lambda c, n=number: c["encoders"][0].update(time_scale=n if n is not True and n != 1e308 else -1),
    )
configured("many encoders", lambda c: c.update(encoders=c["encoders"][:1] * 5000, pieces=[5] * 5000, members=5000))
configured("many channels", lambda c: c["encoders"][0].update(channels=[f"c{place}" for place in range(80_000)]))
configured("many categories", lambda c: c["encoders"][0].update(categories={"sex": [str(n) for n in range(80_000)]}))
configured("wide classes", lambda c: c["learned"].update(classes=["x" * 2_000_000, *map(str, range(50_000))]))
raw_config("60 MB of lists", lambda: "[" + "[]," * 20_000_000 + "[]]")
raw_config("lists as metrics", embedded("metrics", lambda: '{"a": [' + "[]," * 20_000_000 + "[]]}"))
raw_config("3 MB of objects", embedded("metrics", lambda: '{"a": [' + "{}," * 1_000_000 + "{}]}"))
raw_config("3 MB of names", embedded("feature_names", lambda: "[" + '"",' * 1_000_000 + '""]'))
raw_config("deep", lambda: "[" * 200_000)
raw_config("deep in metrics", embedded("metrics", lambda: '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"))
raw_config("long digits", embedded("seed", lambda: "9" * 3_000_000))
raw_config("a name twice", lambda: '{"format": 2, "format": 2}')
raw_config("infinite seed", embedded("seed", lambda: "Infinity"))
raw_config("empty", lambda: "")
F32 = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
header("header of 2^63 bytes", {}, length=2**63)
header("header longer than the file", {}, length=10_000)
header("header of 8 MB", b"{" + b" " * (8 << 20) + b"}")
header(
    "header of many tensors",
    {f"member-0/{n}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for n in range(90_000)},
)
header("65 dimensions", {"member-0/a": {**F32, "shape": [1] * 65}}, b"\0" * 4)
header("5000 dimensions", {"member-0/a": {**F32, "shape": [1] * 5000}}, b"\0" * 4)
header("an empty dimension beside a huge one", {"member-0/a": {**F32, "shape": [0, 2**61], "data_offsets": [0, 0]}})
header("a product that overflows", {"member-0/a": {**F32, "shape": [2**32, 2**32]}}, b"\0" * 4)
header("a negative size", {"member-0/a": {**F32, "shape": [-1]}}, b"\0" * 4)
header("an unknown type", {"member-0/a": {**F32, "dtype": "F4"}}, b"\0" * 4)
header("a type that is a list", {"member-0/a": {**F32, "dtype": []}}, b"\0" * 4)
header("overlap", {"member-0/a": F32, "member-0/b": F32}, b"\0" * 4)
header("a gap", {"member-0/a": F32, "member-0/b": {**F32, "data_offsets": [8, 12]}}, b"\0" * 12)
header("offsets past the end", {"member-0/a": {**F32, "data_offsets": [0, 2**40], "shape": [2**38]}}, b"\0" * 4)
header("infinite offsets", b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, Infinity]}}', b"\0" * 4)
header("header that is a list", b"[]")
header("header of deep lists", b"[" * 200_000)
header("tensors without an owner", {"a": F32}, b"\0" * 4)


@attack
def a_folder_in_place_of_a_file(folder):
    (folder / "config.json").unlink()
    (folder / "config.json").mkdir()
    listed(folder, "config.json", os.stat(folder / "config.json").st_size)


@attack
def a_folder_in_place_of_the_manifest(folder):
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").mkdir()


@attack
def a_pipe_in_place_of_a_file(folder):
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")
    listed(folder, "config.json", 0)


@attack
def a_link_in_place_of_a_file(folder):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(GOOD / "model.safetensors")


@attack
def a_link_to_a_device(folder):
    (folder / "README.md").unlink()
    (folder / "README.md").symlink_to("/dev/zero")
    listed(folder, "README.md", 1 << 20)


@attack
def a_manifest_of_infinity(folder):
    (folder / "manifest.json").write_text('{"files": {"config.json": {"bytes": Infinity, "sha256": ""}}}')


@attack
def a_manifest_of_many_files(folder):
    files = {f"f{n}": {"bytes": 0, "sha256": hashlib.sha256(b"").hexdigest()} for n in range(100_000)}
    (folder / "manifest.json").write_text(json.dumps({"files": files}, indent=1, sort_keys=True) + "\n")


@attack
def a_surplus_file_of_100_MB(folder):
    with open(folder / "surplus.dat", "wb") as file:
        for _ in range(100):
            file.write(bytes(1 << 20))
    listed(folder, "surplus.dat", 100 << 20)


@attack
def a_number_that_is_not_finite(folder):
    spoiled = {**TENSORS, "member-0/hidden.bias": torch.full_like(TENSORS["member-0/hidden.bias"], torch.inf)}
    (folder / "model.safetensors").write_bytes(tensors_to_bytes(spoiled))
    sign(folder)


def status(field):
    text = Path("/proc/self/status").read_text()
    return int(text.split(f"{field}:")[1].split()[0]) / 1024


def main():
    lt.load(GOOD)  # what is imported on the way counts for none of them
    report = {}
    limits = resource.getrlimit(resource.RLIMIT_AS)
    for place, (name, spoil) in enumerate(ATTACKS.items()):
        folder = SCRATCH / f"model-{place}"
        shutil.copytree(GOOD, folder)
        spoil(folder)
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
        before, handles, begun = status("VmRSS"), len(os.listdir("/proc/self/fd")), time.process_time()
        resource.setrlimit(resource.RLIMIT_AS, (int(status("VmSize") + 1500) << 20, limits[1]))
        try:
            lt.load(folder)
            error = "none"
        except BaseException as caught:
            error = type(caught).__name__
        resource.setrlimit(resource.RLIMIT_AS, limits)
        report[name] = {
            "error": error,
            "seconds": round(time.process_time() - begun, 3),
            "megabytes": round(status("VmHWM") - before),
            "descriptors": len(os.listdir("/proc/self/fd")) - handles,
        }
        shutil.rmtree(folder)
    print(json.dumps(report))


main()
