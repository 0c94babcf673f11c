import numpy as np

from estimators.small import series
from liquidtime.baselines.classical import summary_features


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
