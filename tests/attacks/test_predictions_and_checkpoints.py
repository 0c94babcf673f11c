"""Models and checkpoints that a stranger signed: none gives NaN without a word, none breaks a run half way."""

import json
import os
import shutil
import struct

import numpy as np
import pytest
import torch

import liquidtime as lt
from estimators.forged import sign
from estimators.small import TINY, series
from liquidtime.estimators.files.model_config import VersionWarning
from liquidtime.files.contents import tensors_from_bytes, tensors_to_bytes
from liquidtime.training import DamagedFolder, TrainSettings, train
from training.task import batches_of, network, objective, rows

SETTINGS = TrainSettings(epochs=2)


@pytest.mark.parametrize("kind", [lt.CfCClassifier, lt.CfCRegressor, lt.CfCForecaster])
def test_weights_that_overflow_are_told_of(tmp_path, kind):
    data, labels, level = series(20)
    target = {lt.CfCClassifier: [labels], lt.CfCRegressor: [level], lt.CfCForecaster: []}[kind]
    model = kind(**TINY | {"epochs": 1}).fit(data, *target)
    model.save(tmp_path / "m")
    file = tmp_path / "m" / "model.safetensors"
    tensors = tensors_from_bytes(file.read_bytes())
    huge = {name: torch.full_like(t, 3e38) if "hidden" in name or "out" in name else t for name, t in tensors.items()}
    file.write_bytes(tensors_to_bytes(huge))
    sign(tmp_path / "m")
    with pytest.raises(ValueError, match="predictions are not finite numbers"):
        lt.load(tmp_path / "m").predict(data)


def test_targets_beyond_32_bits_are_refused():
    data, _, level = series(20)
    with pytest.raises(ValueError, match=r"`y` must be numbers of at most 1e\+30; some are larger"):
        lt.CfCRegressor(**TINY).fit(data, np.where(level > 0, 1e300, level))
    model = lt.CfCRegressor(**TINY | {"epochs": 1}).fit(data, level * 1e28)
    assert np.isfinite(model.predict(data)).all()


def test_another_major_version_is_told_of(tmp_path):
    data, labels, _ = series(20)
    lt.CfCClassifier(**TINY | {"epochs": 1}).fit(data, labels).save(tmp_path / "m")
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    config["versions"] |= {"torch": "1.13.1", "python": "2.7"}
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    sign(tmp_path / "m")
    with pytest.warns(VersionWarning, match=r"made with torch 1\.13\.1 \(here 2\..*may differ slightly") as told:
        lt.load(tmp_path / "m")
    assert "python" not in str(told[0].message)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "run"
    train(network(), objective, batches_of(rows()), TrainSettings(epochs=1), folder=folder)
    return folder


STATES = {
    "a number for the run": lambda s: s.update(run=7),
    "a text for the epoch": lambda s: s["run"].update(epoch="1"),
    "an epoch below 0": lambda s: s["run"].update(epoch=-1),
    "a history of numbers": lambda s: s["run"].update(history=[1, 2]),
    "an unknown field": lambda s: s["run"].update(more=1),
    "no random state": lambda s: s.pop("random"),
    "a random state of texts": lambda s: s["random"].update(python=["a", "b", "c"]),
    "a short random state": lambda s: s["random"]["numpy"]["state"].update(key=[1]),
    "no optimiser": lambda s: s.pop("optimizer"),
    "a list for the optimiser": lambda s: s.update(optimizer=[]),
    "no settings": lambda s: s.pop("settings"),
    "settings of a list": lambda s: s.update(settings=[1]),
    "a format of text": lambda s: s.update(format="1"),
}
TENSORS = {
    "no model": lambda t: [t.pop(name) for name in list(t) if name.startswith("model/")],
    "another shape": lambda t: t.update({"model/0.bias": torch.zeros(3)}),
    "a best epoch of another shape": lambda t: t.update({"best/0.bias": torch.zeros(3)}),
    "moments of another shape": lambda t: t.update({"optimizer/0/exp_avg": torch.zeros(7)}),
    "moments of no parameter": lambda t: t.update({"optimizer/99/exp_avg": torch.zeros(7)}),
    "moments of a word": lambda t: t.update({"optimizer/x/exp_avg": torch.zeros(7)}),
    "a name without an owner": lambda t: t.update({"alone": torch.zeros(7)}),
    "a random state of one byte": lambda t: t.update({"random/cpu": torch.zeros(1, dtype=torch.uint8)}),
}
FILES = {
    "12 GB of holes": lambda c: [(c / "surplus").write_bytes(b""), os.truncate(c / "surplus", 12 << 30)],
    "a surplus file": lambda c: (c / "surplus").write_bytes(b"x"),
    "tensors twelve times over": lambda c: (c / "tensors.safetensors").write_bytes(
        tensors_to_bytes({"model/a": torch.zeros(1 << 24)})
    ),
    "60 MB of lists": lambda c: (c / "state.json").write_text("[" + "[]," * 20_000_000 + "[]]"),
    "2 million values": lambda c: (c / "state.json").write_text("[" + "1," * 2_000_000 + "1]"),
    "a header of 2^63": lambda c: (c / "tensors.safetensors").write_bytes(struct.pack("<Q", 2**63) + b"{}"),
}


@pytest.mark.parametrize("case", [*STATES, *TENSORS, *FILES])
def test_a_strangers_checkpoint_is_refused_with_a_documented_error(stopped, tmp_path, case):
    folder = tmp_path / "run"
    shutil.copytree(stopped, folder)
    shutil.rmtree(folder / "checkpoint.previous", ignore_errors=True)
    home = folder / "checkpoint"
    if case in STATES:
        state = json.loads((home / "state.json").read_text())
        STATES[case](state)
        (home / "state.json").write_text(json.dumps(state))
    elif case in TENSORS:
        tensors = tensors_from_bytes((home / "tensors.safetensors").read_bytes())
        TENSORS[case](tensors)
        (home / "tensors.safetensors").write_bytes(tensors_to_bytes(tensors))
    else:
        FILES[case](home)
    if case == "12 GB of holes":
        manifest = json.loads((home / "manifest.json").read_text())
        manifest["files"]["surplus"] = {"bytes": 12 << 30, "sha256": "0" * 64}
        (home / "manifest.json").write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
    else:
        sign(home)
    with pytest.raises(ValueError) as caught:
        train(network(), objective, batches_of(rows()), SETTINGS, folder=folder, resume=True)
    assert type(caught.value) in (DamagedFolder, ValueError)
