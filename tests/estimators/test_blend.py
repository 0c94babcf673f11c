import numpy as np

from liquidtime.estimators.forecast import PARTS, fit_blend
from liquidtime.estimators.forecast.blend import hats


def test_weights_change_smoothly_where_most_gaps_are_one():
    rng = np.random.default_rng(0)
    s = np.where(rng.random((4000, 1)) < 0.6, 1.0, rng.uniform(1.0, 8.0, (4000, 1)))
    truth = rng.normal(size=(4000, 1))
    parts = np.stack([truth + rng.normal(size=(4000, 1)) * spread for spread in (0.5, 0.4, 3.0, 1.0, 2.0)], axis=-1)
    blend = fit_blend(parts, truth, s, 400)
    assert (np.diff(np.log1p(blend.knots)) > 0.05).all()
    assert (blend.weights >= 0).all()
    np.testing.assert_allclose(blend.weights.sum(axis=-1), 1.0)
    gaps = np.linspace(0.0, 9.0, 200)[:, None]
    assert np.abs(np.diff(blend.shares(gaps), axis=0)).max() < 0.1
    off = [((parts[..., j] - truth) ** 2).mean() for j in range(len(PARTS))]
    assert ((blend.mix(parts, s) - truth) ** 2).mean() < min(off)
    np.testing.assert_allclose(hats(blend.knots, gaps).sum(axis=-1), 1.0)
