"""A classifier that has searched its budget is no surer than held-out series allow."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

import liquidtime as lt
from estimators.small import TINY, series
from liquidtime.estimators.network.temperature import fit_temperature, log_shares, tempered

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
        assert model.temperature_ > 1
        losses = [log_loss(model.predict_proba(new), truth)]
        model.temperature_ = 1.0
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
        w = None if weights is None else weights.double()

        def loss_at(temperature, w=w):
            return float(cross_entropy(tempered(logits.double(), shares, temperature), codes, w))

        loss, temperature = fit_temperature(logits, codes, shares, weights)
        assert loss == pytest.approx(loss_at(temperature))
        assert 2 < temperature < 20
        assert loss < min(loss_at(other) for other in (1.0, 0.8 * temperature, 1.25 * temperature))
        few = fit_temperature(logits[:12], codes[:12], shares, weights)[1]
        none = fit_temperature(logits, codes.roll(1), shares, weights)[1]  # sure, and wrong
        assert temperature < few
        assert none == pytest.approx(100.0)


def test_a_high_temperature_is_the_guess_and_1_changes_no_probability():
    codes = np.array([0, 0, 0, 1])
    shares = log_shares(codes, 2)
    logits = torch.tensor([[0.0, 5.0], [0.0, -3.0]])
    np.testing.assert_allclose(tempered(logits, shares, 1e9).softmax(-1), [[0.75, 0.25]] * 2, atol=1e-6)
    np.testing.assert_allclose(tempered(logits, shares, 1.0).softmax(-1), logits.softmax(-1), atol=1e-6)
    balanced = log_shares(codes, 2, torch.tensor([1.0, 3.0]))
    np.testing.assert_allclose(balanced.exp(), [0.5, 0.5])


def test_every_way_to_predict_has_the_temperature_and_a_folder_keeps_it(tmp_path):
    data, labels, _ = series(40)
    model = lt.CfCClassifier(**TINY | {"epochs": None}).fit(data, labels)
    assert model.temperature_ != 1.0
    expected = model.predict_proba(data)
    raw = model.temperature_
    model.temperature_ = 1.0
    assert np.abs(model.predict_proba(data) - expected).max() > 1e-3
    model.temperature_ = raw
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
    model.temperature_ = -1.0
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match="temperature"):
        lt.load(tmp_path / "model")
