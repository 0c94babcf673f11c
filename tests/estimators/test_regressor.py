import numpy as np
import pytest

import liquidtime as lt
from estimators.small import TINY, series

BETTER = TINY | {"hidden_size": 16, "read_out_units": 16, "epochs": 20, "learning_rate": 0.02, "dropout": 0.0}


def test_it_learns_a_level_and_gives_it_back_in_its_own_unit():
    data, _, level = series(empty=False)
    new, _, wanted = series(40, seed=1, empty=False)
    model = lt.CfCRegressor(**BETTER).fit(data, 1000 + 50 * level)
    assert model.score(new, 1000 + 50 * wanted) > 0.6
    assert model.predict(new).shape == (40,)
    assert 900 < model.predict(new).mean() < 1100


def test_several_outputs_are_each_their_own():
    data, _, level = series(empty=False)
    age = data.static[:, 0]
    model = lt.CfCRegressor(**BETTER).fit(data, np.stack([level, 7 * age], axis=1))
    predicted = model.predict(data)
    assert predicted.shape == (90, 2)
    assert np.corrcoef(predicted[:, 0], level)[0, 1] > 0.8
    assert np.corrcoef(predicted[:, 1], age)[0, 1] > 0.9


def test_a_target_for_every_step_is_predicted_from_the_past_alone():
    data, _, _ = series(60, empty=False)
    drift = data.values[:, 0]
    model = lt.CfCRegressor(**BETTER | {"per_step": True}).fit(data, drift)
    assert model.score(data, drift) > 0.7
    whole = model.predict(data)
    assert whole.shape == (len(data.times),)
    cut = data[[4]]
    half = cut.head(3)
    np.testing.assert_allclose(model.predict(half), whole[data.offsets[4] : data.offsets[4] + 3], atol=1e-5)


def test_steps_of_arrays_keep_their_shape_and_unknown_targets_teach_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 6))
    y = np.cumsum(X, axis=1)
    y[:, 0] = np.nan
    model = lt.CfCRegressor(**BETTER | {"per_step": True, "epochs": 40}).fit(X, y)
    assert model.predict(X).shape == (30, 6)
    assert model.score(X, y) > 0.6
    with pytest.raises(ValueError, match=r"`y` must have shape \(N,\) or \(N, K\).*One target per sample"):
        model.fit(X, y[:, :5])
    with pytest.raises(ValueError, match="`per_step` needs single samples, not bins"):
        lt.CfCRegressor(per_step=True, bin_width=2.0).fit(X, y)


def test_the_unit_of_the_target_does_not_matter():
    data, _, level = series(30)
    plain, large = (lt.CfCRegressor(**TINY).fit(data, y).predict(data) for y in (level, 5e4 + 1e3 * level))
    np.testing.assert_allclose((large - 5e4) / 1e3, plain, atol=1e-4)
