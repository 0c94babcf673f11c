import numpy as np
import pytest

from estimators.small import series
from liquidtime.baselines.classical import Guess, LastValue, MeanSoFar, SummaryBoosting, summary_features
from liquidtime.data import SeriesEncoder


def test_every_summary_is_that_of_its_definition():
    data, _, _ = series(20)
    features = summary_features(data)
    assert features.shape == (20, 7 * 3 + 2)
    for place, one in enumerate(data):
        for channel in range(3):
            seen = one.values[~np.isnan(one.values[:, channel]), channel].astype(np.float64)
            row = features[place, 7 * channel : 7 * channel + 7]
            if len(seen) == 0:
                assert np.isnan(np.delete(row, 5)).all()
                assert row[5] == 0
            else:
                wanted = [seen.mean(), seen.min(), seen.max(), seen[0], seen[-1], len(seen), seen.std()]
                np.testing.assert_allclose(row, wanted, atol=1e-9)
    np.testing.assert_array_equal(features[:, -2:], data.static)


def test_boosting_learns_and_the_guess_does_not():
    data, labels, level = series(200, empty=False)
    new, wanted, _ = series(100, seed=1, empty=False)
    boosting = SummaryBoosting().fit(data, labels)
    assert (boosting.predict(new) == wanted).mean() > 0.7
    assert boosting.predict_proba(new).shape == (100, 3)
    guess = Guess().fit(data, labels)
    np.testing.assert_allclose(guess.predict_proba(new)[0], np.unique(labels, return_counts=True)[1] / 200)
    assert Guess("regress").fit(data, level).predict(new) == pytest.approx(level.mean())
    assert SummaryBoosting("regress").fit(data, level).predict(new).shape == (100,)


def test_constant_forecasts_are_the_last_value_and_the_mean_so_far():
    data, _, _ = series(12)
    encoder = SeriesEncoder().fit(data)
    last = LastValue(encoder, ("drift", "noise")).predict(data, horizons=[1.0, 9.0])
    mean = MeanSoFar(encoder, ("drift",)).predict(data, horizons=[1.0])
    assert last.shape == (12, 2, 2)
    seen = data[5].values[~np.isnan(data[5].values[:, 0]), 0]
    assert last[5, :, 0] == pytest.approx([seen[-1], seen[-1]])
    assert mean[5, 0, 0] == pytest.approx(seen.mean(), rel=1e-5)
    observed = data.values[~np.isnan(data.values[:, 0]), 0]
    assert last[0, 0, 0] == pytest.approx(observed.mean(), abs=0.2)  # nothing seen: the training mean
