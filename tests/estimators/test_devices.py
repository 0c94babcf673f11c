"""Devices: every estimator on one that is none, with the host waiting once per step; and devices that are not there."""

from pathlib import Path

import pytest
import torch

import liquidtime as lt
import processes
from estimators.small import TINY, series
from liquidtime._checks import DeferredChecks, check_dt, check_lengths, deferred_checks
from liquidtime.training import TrainSettings, train
from liquidtime.training.devices import available, device_of

SCRIPT = Path(__file__).with_name("device_run.py")


@pytest.mark.slow
@pytest.mark.parametrize(
    "cases",
    [["classifier", "per sample", "auxiliary"], ["regressor", "multi-label", "forecaster", "scales"]],
    ids=lambda cases: ", ".join(cases),
)
def test_a_fit_elsewhere_is_that_of_the_cpu_and_waits_once_per_step(cases):
    code, out, err = processes.run(SCRIPT, *cases, timeout=900.0)
    assert code == 0, err
    assert out.split("\n")[:-1] == cases


def test_a_device_that_is_not_there_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.mps, "is_available", lambda: False, raising=False)
    data, labels, _ = series(12)
    for model in (lt.CfCClassifier(**TINY, device="cuda"), lt.StackedClassifier(device="cuda")):
        with pytest.raises(
            ValueError, match=r"`device` 'cuda' is not on this machine; torch .* finds cpu\. Use"
        ) as error:
            model.fit(data, labels)
        assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="`device` must be 'auto', 'cpu', 'cuda' or 'mps'; got 'gpu'"):
        lt.CfCRegressor(**TINY, device="gpu").fit(data, [1.0] * 12)
    assert device_of("auto") == torch.device("cpu")
    assert available() == ["cpu"]


def test_auto_takes_cuda_then_mps(monkeypatch):
    found = {"cuda": 2, "mps": 1}
    for kind, module in (("cuda", torch.cuda), ("mps", torch.mps)):
        monkeypatch.setattr(module, "is_available", lambda kind=kind: found[kind] > 0, raising=False)
        monkeypatch.setattr(module, "device_count", lambda kind=kind: found[kind])
    assert device_of("auto") == torch.device("cuda")
    assert device_of("cuda:1") == torch.device("cuda", 1)
    with pytest.raises(ValueError, match="'cuda' is not on this machine with the number 2: there are 2"):
        device_of("cuda:2")
    found["cuda"] = 0
    assert device_of("auto") == torch.device("mps")


def test_on_the_cpu_a_device_changes_no_bit():
    data, labels, _ = series(24)
    told = [lt.CfCClassifier(**TINY, **own).fit(data, labels).predict_proba(data) for own in ({}, {"device": "auto"})]
    if available() == ["cpu"]:
        assert (told[0] == told[1]).all()


def test_train_moves_batches_and_brings_the_model_back():
    model = torch.nn.Linear(2, 1)
    batch = {"x": torch.ones(3, 2), "names": ["a"], "pair": (torch.zeros(1), 2)}

    def objective(model, given):
        assert given["names"] == ["a"]
        assert given["pair"][1] == 2
        return model(given["x"]).square().mean()

    result = train(model, objective, lambda *_: [batch], TrainSettings(epochs=2), device="cpu")
    assert result.steps == 2
    assert model.weight.device.type == "cpu"


def test_deferred_checks_raise_what_they_would_have_raised():
    checks = DeferredChecks()
    with deferred_checks(checks), pytest.raises(ValueError, match="negative"):
        check_dt(torch.tensor([[1.0, -1.0]]))  # the host knows its own numbers at once
    assert not checks.flags
    checks.add(torch.tensor(False), lambda: check_lengths([3], 1, 2, torch.device("cpu")))
    with pytest.raises(ValueError, match="`lengths` must be in 0…T = 0…2"):
        checks.settle([0.0])
    checks.settle([])
