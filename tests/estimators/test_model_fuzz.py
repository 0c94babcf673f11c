"""Thousands of spoiled model folders: each loads, or is refused with a ValueError; none crashes, hangs or runs code."""

import contextlib
import json
import random
import time
import warnings

import numpy as np
import pytest

import liquidtime as lt
from estimators.forged import sign
from estimators.small import TINY, series
from liquidtime.estimators.files.model_config import VersionWarning

ROUNDS = 2000
STRANGE = [
    None,
    True,
    -1,
    0,
    1,
    2**63,
    1e308,
    float("nan"),
    "",
    "x" * 1000,
    [],
    {},
    [[]],
    "../../etc/passwd",
    "\0",
    0.5,
]


def mutate_bytes(content, rng):
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8])):
        kind, place = rng.randrange(4), rng.randrange(max(1, len(data)))
        if kind == 0 and data:
            data[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[place : place + rng.randrange(1, 40)]
        elif kind == 2:
            data[place:place] = rng.randbytes(rng.randrange(1, 20))
        else:
            data[place : place + 4] = rng.choice([b"\xff\xff\xff\xff", b"\0\0\0\0", b"9999", b'"":{', b"1e99"])
    return bytes(data)


def mutate_tree(tree, rng):
    """Change one leaf or branch of parsed JSON."""
    node = tree
    while isinstance(node, dict | list) and node:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = rng.choice(keys)
        if not isinstance(node[key], dict | list) or not node[key] or rng.random() < 0.25:
            if rng.random() < 0.2 and isinstance(node, dict):
                del node[key]
            else:
                node[key] = rng.choice(STRANGE)
            return
        node = node[key]


@pytest.mark.slow
def test_spoiled_folders_are_refused_or_load(tmp_path):
    data, labels, _ = series(20, longest=90)
    rng = random.Random(0)
    homes = []
    for name, model in (
        ("one", lt.CfCClassifier(**TINY | {"epochs": 1, "n_estimators": 2}).fit(data, labels)),
        ("two", lt.CfCForecaster(**TINY | {"epochs": 1}).fit(data)),
    ):
        model.save(tmp_path / name)
        homes.append(tmp_path / name)
    outcomes = {"loaded": 0, "refused": 0}
    slowest = 0.0
    for turn in range(ROUNDS):
        home = homes[turn % 2]
        target = rng.choice(["config.json", "config.json", "model.safetensors", "manifest.json"])
        whole = {file.name: file.read_bytes() for file in home.iterdir()}
        if target == "config.json" and rng.random() < 0.7:
            tree = json.loads(whole[target])
            mutate_tree(tree, rng)
            (home / target).write_text(json.dumps(tree))
        else:
            (home / target).write_bytes(mutate_bytes(whole[target], rng))
        if target != "manifest.json" and rng.random() < 0.9:
            sign(home)
        begun = time.perf_counter()
        try:
            with warnings.catch_warnings(action="ignore", category=VersionWarning):
                model = lt.load(home)
            outcomes["loaded"] += 1
            if turn % 10 == 0 and model.encoder_.channels_ == data.channels:
                with contextlib.suppress(ValueError), warnings.catch_warnings(action="ignore"):
                    model.predict(data)
        except (ValueError, FileNotFoundError):
            outcomes["refused"] += 1
        slowest = max(slowest, time.perf_counter() - begun)
        for name, content in whole.items():
            (home / name).write_bytes(content)
    assert outcomes["refused"] > ROUNDS / 2
    assert outcomes["loaded"] > ROUNDS / 50  # the mutations reach past the checksums
    assert slowest < 5.0
    assert np.isfinite(lt.load(homes[0]).predict_proba(data)).all()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]
