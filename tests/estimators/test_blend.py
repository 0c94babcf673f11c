import numpy as np
import pytest

from liquidtime.estimators.forecast import PARTS, fit_blend
from liquidtime.estimators.forecast.blend import hats

NAMES = (*PARTS, "boosting", "linear")


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


def _errors(n, C, wild, seed=0):
    """Return parts, truth and gaps: boosting is best, others repeat its errors, a straight line is wild."""
    rng = np.random.default_rng(seed)
    truth, shared = rng.normal(size=(2, n, C))
    sizes = {"network": 0.7, "last value": 0.8, "straight line": wild, "mean so far": 1.0, "seasonal naive": 0.9}
    shares = {"straight line": 0.1, "mean so far": 0.8, "seasonal naive": 0.8}
    parts = []
    for name in NAMES:
        share = shares.get(name, 0.95)
        own = share * shared + np.sqrt(1 - share**2) * rng.normal(size=(n, C))
        parts.append(truth + sizes.get(name, 0.6) * own)
    return np.stack(parts, axis=-1), truth, rng.uniform(0.5, 20.0, (n, C))


@pytest.mark.parametrize("wild", [1.0, 10.0, 1000.0])
def test_a_part_that_is_wildly_off_has_no_say(wild):
    parts, truth, s = _errors(1500, 3, wild)
    mixed = fit_blend(parts, truth, s, 500, NAMES).mix(parts, s)
    alone = [((parts[..., j] - truth) ** 2).mean() for j in range(len(NAMES))]
    assert ((mixed - truth) ** 2).mean() <= 1.01 * min(alone)


def test_weights_do_not_depend_on_the_unit_of_a_channel():
    parts, truth, s = _errors(400, 1, 5.0)
    one, other = (fit_blend(factor * parts, factor * truth, s, 100, NAMES).weights for factor in (1.0, 1e3))
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_a_channel_of_few_values_is_weighed_as_the_others_are():
    """What 20 values seem to say of 7 parts at 6 gaps is chance; what all channels say is not."""
    parts, truth, s = _errors(1500, 3, 5.0)
    rare = truth.copy()
    rare[20:, 2] = np.nan
    rows = slice(20, None)
    known, few = (fit_blend(parts, taught, s, 500, NAMES).mix(parts, s)[rows, 2] for taught in (truth, rare))
    off, least = (((mixed - truth[rows, 2]) ** 2).mean() for mixed in (few, known))
    assert off < 1.15 * least


def test_an_exact_part_is_taken_beside_huge_errors():
    parts, truth, s = _errors(200, 2, 1e6)
    parts[..., NAMES.index("boosting")] = truth
    blend = fit_blend(parts, truth, s, 100, NAMES)
    np.testing.assert_allclose(blend.mix(parts, s), truth, atol=1e-3)


def test_intervals_of_forecasts_that_are_right_hold_what_is_rounded():
    rng = np.random.default_rng(0)
    truth, s = rng.normal(size=(500, 1)), rng.uniform(0.5, 5.0, (500, 1))
    parts = np.stack([truth + spread * rng.normal(size=(500, 1)) for spread in (0.1, 0.0, 0.5, 1.0, 0.8)], axis=-1)
    blend = fit_blend(parts, truth, s, 50)
    said = blend.mix(parts, s)
    rounded = said + 1e-7
    assert ((said + blend.error(parts, s, 0.05) < rounded) & (rounded < said + blend.error(parts, s, 0.95))).all()
    assert (blend.error(parts, s, 0.95) < 1e-3).all()
