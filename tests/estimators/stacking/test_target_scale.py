"""Targets whose errors grow with them are fitted and weighed as logarithms, where held-out series say so."""

import numpy as np
import pytest

import liquidtime as lt
from estimators.small import series
from estimators.stacking.quick import regressor
from liquidtime.estimators.stacking.folds import make_folds
from liquidtime.estimators.stacking.target_scale import TargetScale, choose_scale, plain_scale

LOGARITHMS = TargetScale((0.1, None))


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[rng.random((n, 6)) < 0.05] = np.nan
    return X, np.nan_to_num(X[:, 0] + 0.5 * X[:, 1]), rng


def test_logarithms_are_chosen_for_errors_that_grow_with_the_target_alone(monkeypatch):
    monkeypatch.setattr("liquidtime.estimators.stacking.target_scale._LEAF", 1)  # two features tell all there is
    X, signal, rng = table()
    folds = make_folds(len(X), 4, 0)
    life = rng.uniform(1.0, 250.0, size=len(X))  # features tell of it up to 100 alone
    health = rng.normal(size=X.shape)
    health[:, :2] = np.minimum(life, 100.0)[:, None] + 5.0 * rng.normal(size=(len(X), 2))
    for unit in (1.0, 1000.0):
        chosen = choose_scale(health, np.stack([unit * life, unit * (life - 120.0)], axis=1), folds, 0)
        assert chosen.offsets == (pytest.approx(0.05 * unit * np.median(life)), None)
    steady = 20.0 + signal + 0.5 * rng.normal(size=len(X))
    mostly_none = np.where(rng.random(len(X)) < 0.7, 0.0, rng.exponential(size=len(X)))
    assert choose_scale(X, np.stack([steady, mostly_none], axis=1), folds, 0) == plain_scale(2)


def test_without_features_or_folds_targets_stay_as_they_are():
    X, signal, _ = table(30)
    y = np.exp(signal)[:, None]
    assert choose_scale(X, y, [], 0) == choose_scale(X[:, :0], y, make_folds(30, 3, 0), 0) == plain_scale(1)


def test_the_scale_has_an_inverse_and_knows_no_number_below_0():
    values = np.array([[0.0, -3.0], [2.5, 4.0], [1e6, 0.0]])
    np.testing.assert_allclose(LOGARITHMS.unscaled(LOGARITHMS.scaled(values)), values, atol=1e-9)
    negative = LOGARITHMS.unscaled(LOGARITHMS.scaled(np.array([[-5.0, -5.0]])))
    np.testing.assert_allclose(negative, [[0.0, -5.0]], atol=1e-12)
    assert LOGARITHMS.unscaled(np.array([[-50.0, -50.0]])).tolist() == [[0.0, -50.0]]


@pytest.fixture(scope="module")
def fitted():
    data, _, level = series(40, empty=False)
    y = np.stack([np.exp(2.0 * level), level], axis=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("liquidtime.estimators.stacking.goal.choose_scale", lambda *a: LOGARITHMS)
        return data, y, regressor(data, y)


def test_every_way_to_predict_is_in_units_of_the_target(fitted, tmp_path):
    data, y, model = fitted
    answer, said = model.predict(data), model.predict_parts(data)
    assert answer[:, 0].min() >= 0
    weights = {part.name: part.weight for part in model.parts_}
    mean = sum(weights[name] * LOGARITHMS.scaled(values) for name, values in said.items())
    np.testing.assert_allclose(answer, LOGARITHMS.unscaled(mean), rtol=1e-9)
    np.testing.assert_allclose(model.networks_alone(data), model.cfc_.predict(data))  # in units of the target as well
    assert np.corrcoef(answer[:, 0], y[:, 0])[0, 1] > 0.5
    evolution = model.evolve(data[:2])
    np.testing.assert_allclose(evolution.outputs[evolution.offsets[1:] - 1], answer[:2], rtol=1e-4, atol=1e-5)
    row = data[0]
    static = dict(zip(data.static_names, (float(row.static[0]), "fm"[int(row.static[1])]), strict=True))
    for k, (t, values) in enumerate(zip(row.times, row.values, strict=True)):
        live = model.update("one", t, values, static=static if k == 0 else None)
    np.testing.assert_allclose(live, answer[0], rtol=1e-4, atol=1e-5)
    model.save(tmp_path / "model")
    loaded = lt.load(tmp_path / "model")
    assert loaded.scale_ == model.scale_ == LOGARITHMS
    np.testing.assert_array_equal(loaded.predict(data), answer)


def test_figures_are_in_units_of_the_target(fitted):
    _, y, model = fitted
    assert 0.2 * y.std() < model.figures_["rmse"] < 3 * y.std()


@pytest.mark.parametrize("offsets", [(0.0, None), (-1.0, None), (None,), (None, None, None)])
def test_a_folder_with_an_impossible_scale_is_refused(fitted, tmp_path, offsets):
    _, _, model = fitted
    true = model.scale_
    try:
        model.scale_ = TargetScale(offsets)
        model.save(tmp_path / "model")
    finally:
        model.scale_ = true
    with pytest.raises(ValueError, match="scale"):
        lt.load(tmp_path / "model")
