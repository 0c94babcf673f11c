import numpy as np
import pytest

from estimators.small import series
from liquidtime.baselines.classical import LastValue, MeanSoFar
from liquidtime.data import SeriesEncoder


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
