"""Fits and predicts with every estimator on a device that is none, beside the CPU; run by test_devices.py."""

import os
import sys
import tempfile

import numpy as np
from sklearn.base import clone

import liquidtime as lt
import toy_device
from estimators.small import TINY, series
from liquidtime.ops import set_backend
from liquidtime.training.loop import _Run

set_backend("reference")  # the loop on both, so that the numbers are the same
data, labels, level = series(45)
table = np.stack([labels == "a", labels == "b"], axis=1).astype(float)
steps = [np.full(n, name) for n, name in zip(data.lengths, labels, strict=True)]
rows = np.linspace(0.5, 2.0, len(data))
small = {**TINY, "epochs": 2}
forecaster = {name: value for name, value in small.items() if name != "epochs"} | {"epochs": 1, "horizon": 8.0}
CASES = {
    "classifier": (lt.CfCClassifier(**small, class_weight="balanced"), {"y": labels, "sample_weight": rows}),
    "validated": (lt.CfCClassifier(**small, validation_fraction=0.3, n_estimators=2), {"y": labels}),
    "auxiliary": (lt.CfCClassifier(**small), {"y": labels, "auxiliary": level}),
    "per sample": (lt.CfCClassifier(**small, per_step=True), {"y": steps}),
    "searched": (lt.CfCClassifier(**{**small, "epochs": None}, budget="search"), {"y": labels}),
    "regressor": (lt.CfCRegressor(**small), {"y": level}),
    "multi-label": (lt.CfCMultiLabelClassifier(**small), {"y": table}),
    "forecaster": (lt.CfCForecaster(**forecaster), {}),
    "scales": (lt.CfCClassifier(**small, bin_width="scales", n_estimators=2), {"y": labels}),
    "gru": (lt.CfCClassifier(**small, network="gru"), {"y": labels}),
    "transformer": (lt.CfCClassifier(**small, network="transformer"), {"y": labels}),
    "stack": (lt.StackedClassifier(n_networks=1, random_state=0), {"y": labels}),
}


def answers(model):
    """What a fitted model says, as numbers."""
    if isinstance(model, lt.CfCForecaster):
        return model.predict(data, horizons=[4.0])
    said = getattr(model, "predict_proba", model.predict)(data)
    return np.concatenate(said) if isinstance(said, list) else said


def per_step(model, fit):
    """The most that the host waited, and the fewest launches, in one training step."""
    counts, original = [], _Run.step

    def counted(self, batch, rate):
        before = len(toy_device.waits), len(toy_device.launches)
        original(self, batch, rate)
        counts.append((len(toy_device.waits) - before[0], len(toy_device.launches) - before[1]))

    _Run.step = counted
    try:
        model.fit(data, **fit)
    finally:
        _Run.step = original
    return max(waited for waited, _ in counts), min(started for _, started in counts)


def check(name):
    model, fit = CASES[name]
    here = clone(model).fit(data, **fit)
    there = clone(model).set_params(device="toy")
    waited, started = per_step(there, fit)
    assert waited == 1, f"{name}: the host waited {waited} times in a step: {toy_device.waits[-8:]}"
    assert started > 20, name  # so it was there that it was trained
    before = len(toy_device.launches)
    told = answers(there)
    assert len(toy_device.launches) > before, name
    assert isinstance(told, np.ndarray)
    np.testing.assert_allclose(told, answers(here), rtol=1e-5, atol=1e-6, err_msg=name)
    for network in there.networks_:
        assert all(parameter.device.type == "cpu" for parameter in network.parameters()), name
    with tempfile.TemporaryDirectory() as folder:
        there.save(f"{folder}/model")
        again = lt.load(f"{folder}/model")
        assert again.device == "cpu", name
        np.testing.assert_allclose(answers(again), answers(here), rtol=1e-5, atol=1e-6)
        before = len(toy_device.launches)
        np.testing.assert_allclose(answers(again.set_params(device="toy")), told, rtol=1e-5, atol=1e-6)
        assert len(toy_device.launches) > before, name


with toy_device.install():
    for case in sys.argv[1:]:
        check(case)
        print(case, flush=True)
os._exit(0)  # threads of autograd for the device would abort a usual end
