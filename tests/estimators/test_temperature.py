"""A classifier that has searched its budget is no surer than held-out series allow."""

import numpy as np
import pytest
import torch

import liquidtime as lt
from estimators.small import TINY, series
from liquidtime.baselines.features.temperature import (
    LEAST_TRUST,
    Calibration,
    best_temperature,
    fit_calibration,
    tempered,
)
from liquidtime.estimators.faces import classifier, fitting
from liquidtime.estimators.network.budget import Choice
from liquidtime.estimators.network.temperature import calibrated, fit_temperature, log_shares

SMALL = {"hidden_size": 8, "backbone_units": 8, "read_out_units": 16, "random_state": 0}


def noise(S, seed):
    """Return short series of noise, with one class of four in ten that they tell next to nothing about."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(S, 12, 2))
    return X, (rng.random(S) < 0.2 + 0.1 * (X[:, :, 0].mean(axis=1) > 0)).astype(int)


def log_loss(probabilities, y):
    return float(-np.log(probabilities[np.arange(len(y)), y]).mean())


def test_log_loss_on_a_small_noisy_set_is_no_worse_than_the_guess(monkeypatch):
    monkeypatch.setattr("liquidtime.estimators.network.budget.LONGER", ())
    worse = []
    for seed in range(3):
        X, y = noise(100, seed)
        new, truth = noise(1000, 100 + seed)
        share = np.bincount(y) / len(y)
        guess = log_loss(np.tile(share, (len(truth), 1)), truth)
        model = lt.CfCClassifier(**SMALL).fit(X, y)
        assert model.trust_ < 0.8
        losses = [log_loss(model.predict_proba(new), truth)]
        model.temperature_ = model.trust_ = 1.0
        losses.append(log_loss(model.predict_proba(new), truth))
        worse.append(np.array(losses) - guess)
    after, before = np.mean(worse, axis=0)
    assert after < 0.005
    assert before > 0.02


def test_held_out_series_say_how_sure_to_be():
    generator = torch.Generator().manual_seed(0)
    codes = torch.arange(3000) % 3
    logits = 4.0 * (torch.randn(3000, 3, generator=generator) + 0.8 * torch.eye(3)[codes])
    shares = log_shares(codes.numpy(), 3)
    for weights in (None, torch.tensor([1.0, 2.0, 5.0])):
        each = (torch.ones(3) if weights is None else weights)[codes].double()

        def loss_at(temperature, trust, each=each):
            p = calibrated(logits.double(), shares, Calibration(temperature, trust))[torch.arange(3000), codes]
            return float(-(each * p.log()).sum() / each.sum())

        loss, found = fit_temperature(logits, codes, shares, weights)
        assert loss == pytest.approx(loss_at(found.temperature, found.trust), rel=1e-5)
        assert 2 < found.temperature < 20
        assert found.trust > 0.95
        best = loss_at(found.temperature, 1.0)
        assert best < min(loss_at(other * found.temperature, 1.0) for other in (0.5, 0.8, 1.25, 2.0))
        few = fit_temperature(logits[:12], codes[:12], shares, weights)[1]
        none = fit_temperature(logits, codes.roll(1), shares, weights)[1]  # sure, and wrong
        assert few.trust < found.trust
        assert none.temperature > 50
        assert none.trust == LEAST_TRUST


def test_only_held_out_series_say_how_sure_to_be(monkeypatch):
    X, y = noise(40, 0)
    told, fitted_to, fit, hold_back = [], [], classifier.fit_temperature, fitting.held_back
    monkeypatch.setattr(
        classifier, "fit_temperature", lambda logits, codes, *a: told.append(codes) or fit(logits, codes, *a)
    )
    monkeypatch.setattr(fitting, "held_back", lambda *a: fitted_to.append(hold_back(*a)) or fitted_to[-1])
    monkeypatch.setattr(
        fitting, "search", lambda quick, samples, n, fronts, summaries, attempts: attempts(0, [Choice(1, 0.01)])
    )
    lt.CfCClassifier(budget="search", **SMALL).fit(X, y)
    rows, held = fitted_to[0]
    assert len(rows) == 30
    assert not set(rows) & set(held)
    assert sorted(told[0].tolist()) == sorted(y[held].tolist())
    assert len(told) == 1


def test_some_of_many_rows_tell_the_temperature(monkeypatch):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 6000)
    scores = 3.0 * (rng.normal(size=(6000, 3)) + np.eye(3)[codes])
    grid, weights = np.geomspace(0.25, 8.0, 17).tolist(), rng.uniform(0.5, 2.0, 6000)
    whole = best_temperature(scores, codes, grid, weights)
    monkeypatch.setattr("liquidtime.baselines.features.temperature._ENOUGH", 1000)
    loss, temperature = best_temperature(scores, codes, grid, weights)
    assert temperature in grid[grid.index(whole[1]) - 1 : grid.index(whole[1]) + 2]
    own = tempered(scores, temperature)[np.arange(6000), codes]
    assert loss == pytest.approx(-np.average(np.log(own), weights=weights)) == pytest.approx(whole[0], rel=0.01)


def test_rows_that_all_went_well_leave_room_for_another():
    for n in (10, 40, 1000):
        codes = np.arange(n) % 2
        scores, shares = 50.0 * np.eye(2)[codes], np.array([0.5, 0.5])
        loss, calibration = fit_calibration(scores, codes, shares, [0.25, 1.0])
        chances = calibration.apply(scores, shares)
        assert chances.max() == pytest.approx(1 - 0.5 / (n + 1))
        assert loss == pytest.approx(-np.log(chances.max()))


def test_the_temperature_keeps_the_order_of_the_classes_and_little_trust_is_near_the_guess():
    """Classes of very different size: drawing logits towards the shares would favour the largest one."""
    rng = np.random.default_rng(0)
    codes = rng.choice(3, size=400, p=[0.8, 0.15, 0.05])
    logits = torch.from_numpy(rng.normal(size=(400, 3)) + 3.0 * np.eye(3)[codes])
    shares = log_shares(codes, 3)
    for temperature in (0.5, 1.0, 7.0, 100.0):
        p = calibrated(logits, shares, Calibration(temperature))
        np.testing.assert_array_equal(p.argmax(1), logits.argmax(1))
        np.testing.assert_allclose(p, Calibration(temperature).apply(logits.numpy(), shares.exp().numpy()), rtol=1e-9)
    near = calibrated(logits, shares, Calibration(1.0, 0.1))
    np.testing.assert_allclose(near, Calibration(1.0, 0.1).apply(logits.numpy(), shares.exp().numpy()), rtol=1e-9)
    assert float((near - shares.exp()).abs().max()) <= 0.1
    found = fit_temperature(4.0 * logits, torch.from_numpy(codes), shares, None)[1]
    right = calibrated(4.0 * logits, shares, found).argmax(1).numpy() == codes
    assert right.mean() >= (logits.argmax(1).numpy() == codes).mean() - 0.005


def test_two_classes_are_ranked_alike_whatever_the_trust():
    rng = np.random.default_rng(0)
    logits = torch.from_numpy(rng.normal(size=(50, 2)))
    shares = log_shares(np.array([0, 0, 0, 1]), 2)
    plain, little = (calibrated(logits, shares, Calibration(3.0, trust))[:, 1] for trust in (1.0, 0.1))
    np.testing.assert_array_equal(plain.argsort(), little.argsort())
    balanced = log_shares(np.array([0, 0, 0, 1]), 2, torch.tensor([1.0, 3.0]))
    np.testing.assert_allclose(balanced.exp(), [0.5, 0.5])


def test_every_way_to_predict_has_the_temperature_and_a_folder_keeps_it(tmp_path):
    data, labels, _ = series(40)
    model = lt.CfCClassifier(**TINY | {"epochs": None}).fit(data, labels)
    assert model.temperature_ != 1.0
    expected = model.predict_proba(data)
    raw = (model.temperature_, model.trust_)
    model.temperature_ = model.trust_ = 1.0
    assert np.abs(model.predict_proba(data) - expected).max() > 1e-3
    model.temperature_, model.trust_ = raw
    evolution = model.evolve(data)
    ends = evolution.offsets[1:][data.lengths > 0] - 1
    np.testing.assert_allclose(evolution.outputs[ends], expected[data.lengths > 0], atol=1e-5)
    last = data[5]
    static = dict(zip(data.static_names, (float(last.static[0]), "fm"[int(last.static[1])]), strict=True))
    for k, (t, values) in enumerate(zip(last.times, last.values, strict=True)):
        live = model.update("one", t, values, static=static if k == 0 else None)
    np.testing.assert_allclose(live, expected[5], atol=1e-5)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(lt.load(tmp_path / "model").predict_proba(data), expected)


def test_a_folder_with_an_impossible_temperature_is_refused(tmp_path):
    data, labels, _ = series(40)
    model = lt.CfCClassifier(**TINY).fit(data, labels)
    for temperature, trust in ((-1.0, 1.0), (2.0, 0.0), (2.0, 1.5)):
        model.temperature_, model.trust_ = temperature, trust
        model.save(tmp_path / "model")
        with pytest.raises(ValueError, match="temperature"):
            lt.load(tmp_path / "model")
