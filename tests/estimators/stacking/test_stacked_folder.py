import json
import pickle

import numpy as np
import pytest
import torch

import liquidtime as lt
from estimators.forged import sign
from estimators.small import TINY, series
from estimators.stacking.quick import classifier, regressor
from liquidtime.estimators import ModelFolderError
from liquidtime.estimators.stacking.goal import Goal
from liquidtime.files.contents import tensors_from_bytes, tensors_to_bytes


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    data, labels, _ = series(60, longest=90, empty=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Goal, "weights", lambda self, predictions, rows=None: np.full(len(predictions), 0.25))
        model = classifier(data, labels)
    assert {part.name for part in model.parts_} == {"CfC networks", "boosting", "extra trees", "convolutions"}
    path = tmp_path_factory.mktemp("stacks") / "good"
    model.save(path, metrics={"auc": 0.75})
    return data, model, path


@pytest.fixture
def folder(good, tmp_path):
    copy = tmp_path / "model"
    copy.mkdir()
    for file in good[2].iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


def test_what_is_loaded_predicts_the_same_bits(good):
    data, model, path = good
    loaded = lt.load(path)
    assert type(loaded) is lt.StackedClassifier
    assert (loaded.parts_, loaded.figures_, loaded.seed_) == (model.parts_, model.figures_, model.seed_)
    assert loaded.get_params() == model.get_params()
    assert loaded.metrics_ == {"auc": 0.75}
    np.testing.assert_array_equal(loaded.predict_proba(data), model.predict_proba(data))
    np.testing.assert_array_equal(loaded.evolve(data[:3]).outputs, model.evolve(data[:3]).outputs)
    np.testing.assert_array_equal(loaded.update(1, 0.5, {"drift": 1.0}), model.update(1, 0.5, {"drift": 1.0}))
    assert "Weighted mean of CfC networks" in (path / "README.md").read_text()


def test_several_numbers_are_loaded_too(tmp_path):
    data, _, level = series(40)
    model = regressor(data, np.stack([level, 3 * level], axis=1))
    model.save(tmp_path / "m")
    loaded = lt.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict(data), model.predict(data))
    loaded.save(tmp_path / "n")
    np.testing.assert_array_equal(lt.load(tmp_path / "n").predict(data), model.predict(data))


def test_there_is_no_pickle_in_it(good):
    for file in good[2].iterdir():
        with pytest.raises(Exception):  # noqa: B017
            pickle.loads(file.read_bytes())


def changed(folder, change):
    facts = json.loads((folder / "stack.json").read_text())
    change(facts)
    (folder / "stack.json").write_text(json.dumps(facts))
    sign(folder)


CHANGES = {
    "newer": lambda f: f.update(format=99),
    "no format": lambda f: f.pop("format"),
    "surplus": lambda f: f.update(code="import os"),
    "missing": lambda f: f.pop("parts"),
    "other kind": lambda f: f.update(kind="StackedRegressor"),
    "unknown kind": lambda f: f.update(kind="os.system"),
    "temperature": lambda f: f["calibration"].update(temperature=float("nan")),
    "cold": lambda f: f["calibration"].update(temperature=0.0),
    "trust": lambda f: f["calibration"].update(trust=1.5),
    "shares": lambda f: f["calibration"].update(shares=[0.5, 0.5]),
    "old": lambda f: f.update(format=1),
    "weights": lambda f: f["parts"][0].update(weight=0.9),
    "negative weight": lambda f: f["parts"][0].update(weight=-1.0),
    "twice": lambda f: f["parts"].append(f["parts"][0]),
    "no learner": lambda f: f["learners"].pop("boosting"),
    "no features": lambda f: f["features"].pop("rich"),
    "learners": lambda f: f["learners"]["boosting"].append(f["learners"]["boosting"][0]),
    "members": lambda f: f["learners"]["boosting"][0].update(members=10**9),
    "members true": lambda f: f["learners"]["boosting"][0].update(members=True),
    "text": lambda f: f["learners"]["boosting"][0].update(temperature="1"),
    "column": lambda f: f["features"]["rich"]["names"].append("no such column"),
    "order": lambda f: f["features"]["rich"]["names"].reverse(),
    "lags": lambda f: f["features"]["rich"]["plans"][0].update(lags=[1.0] * 10_000),
    "frequencies": lambda f: f["features"]["rich"]["plans"][0].update(grid=[1e-9, 10**12]),
    "plans": lambda f: f["features"]["rich"]["plans"].pop(),
    "span": lambda f: f["features"]["rich"].update(span=0),
    "grid": lambda f: f["features"]["convolutions"].update(most=10**12),
    "step": lambda f: f["features"]["convolutions"].update(step=0.0),
    "channels": lambda f: f["features"]["convolutions"].update(channels=[99]),
    "scale": lambda f: f["features"]["convolutions"].update(scale=[float("inf")]),
    "params": lambda f: f["params"].update(n_networks="three"),
    "figures": lambda f: f.update(figures={"auc": "high"}),
    "inputs": lambda f: f.update(inputs=None),
    "features": lambda f: f.update(features=[]),
}


@pytest.mark.parametrize("how", CHANGES)
def test_a_forged_description_is_refused(folder, how):
    changed(folder, CHANGES[how])
    with pytest.raises(ModelFolderError):
        lt.load(folder)


def tensors_changed(folder, change):
    tensors = tensors_from_bytes((folder / "stack.safetensors").read_bytes())
    change(tensors)
    (folder / "stack.safetensors").write_bytes(tensors_to_bytes(tensors))
    sign(folder)


TENSORS = {
    "surplus": lambda t: t.update(code=torch.zeros(3)),
    "missing": lambda t: t.pop("boosting/0/0.trees.left"),
    "owner": lambda t: t.update({"boosting/0/77.classes": torch.zeros(1, dtype=torch.int64)}),
    "columns": lambda t: t["boosting/0/0.columns"].fill_(10**6),
    "classes": lambda t: t["extra trees/0/0.classes"].fill_(0),
    "values": lambda t: t["boosting/0/0.trees.values"].fill_(float("inf")),
    "cycle": lambda t: t["boosting/0/1.trees.left"].fill_(0),
    "filling": lambda t: t["extra trees/0/filling"].fill_(float("nan")),
    "linear": lambda t: t["convolutions/0/weights"].fill_(float("nan")),
    "linear shape": lambda t: t.update({"convolutions/0/offset": torch.zeros(9, dtype=torch.float64)}),
    "dilation": lambda t: t["kernels/dilation"].fill_(10**9),
    "tap": lambda t: t["kernels/triple"].fill_(40),
    "kernel channel": lambda t: t["kernels/channel"].fill_(7),
    "kernel count": lambda t: t["kernels/count"].fill_(-1),
    "thresholds": lambda t: t["kernels/thresholds"].fill_(float("nan")),
}


@pytest.mark.parametrize("how", TENSORS)
def test_forged_arrays_are_refused(folder, how):
    tensors_changed(folder, TENSORS[how])
    with pytest.raises(ModelFolderError):
        lt.load(folder)


def test_the_files_of_a_stack_come_together(folder, tmp_path):
    config = json.loads((folder / "config.json").read_text())
    assert config["format"] == 4
    (folder / "stack.json").unlink()
    sign(folder)
    with pytest.raises(ModelFolderError, match=r"stack\.json"):
        lt.load(folder)
    (folder / "stack.safetensors").unlink()
    sign(folder)
    with pytest.raises(ModelFolderError, match=r"stack\.json"):
        lt.load(folder)
    data, labels, _ = series(20)
    plain = lt.CfCClassifier(**TINY).fit(data, labels)
    with pytest.raises(ValueError, match="the model's own files"):
        plain.save(tmp_path / "plain", files={"stack.json": b"{}"})
    plain.save(tmp_path / "plain")
    (tmp_path / "plain" / "stack.json").write_text("{}")
    (tmp_path / "plain" / "stack.safetensors").write_bytes(b"")
    sign(tmp_path / "plain")
    with pytest.raises(ModelFolderError, match="neither otherwise"):
        lt.load(tmp_path / "plain")


def test_a_pickle_in_place_of_the_arrays_is_refused(folder):
    (folder / "stack.safetensors").write_bytes(pickle.dumps({"a": 1}))
    sign(folder)
    with pytest.raises(ModelFolderError, match="pickle"):
        lt.load(folder)


def test_a_changed_bit_is_refused(folder):
    raw = bytearray((folder / "stack.safetensors").read_bytes())
    raw[-3] ^= 1
    (folder / "stack.safetensors").write_bytes(bytes(raw))
    with pytest.raises(lt.training.DamagedFolder, match="sha256"):
        lt.load(folder)
