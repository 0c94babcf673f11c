import numpy as np
import pytest

from liquidtime.data.encoding.scaling import fit_scaling, heavy_tailed
from oracles.encoding import scaled, scaling

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("column", "heavy"),
    [
        (RNG.lognormal(0, 1, 500), True),
        (RNG.exponential(3, 500), True),
        (np.where(RNG.random(500) < 0.1, 0.0, RNG.lognormal(2, 1.5, 500)), True),
        (RNG.normal(100, 5, 500), False),
        (RNG.uniform(0, 1, 500), False),
        (-RNG.lognormal(0, 1, 500), False),
        (RNG.lognormal(0, 1, 500) - 2, False),
        (RNG.integers(0, 2, 500), False),
        (RNG.lognormal(0, 1, 19), False),
        (np.zeros(100), False),
    ],
)
def test_the_logarithm_is_for_heavy_upper_tails_of_what_is_not_negative(column, heavy):
    assert heavy_tailed(column.astype(float)) == heavy


@pytest.mark.parametrize("clip", [None, 0.0, 0.01, 0.1])
def test_statistics_and_values_are_those_of_the_definition(clip):
    values = np.column_stack([RNG.normal(5, 2, 200), RNG.lognormal(1, 1, 200)]).astype(np.float32)
    values[RNG.random(values.shape) < 0.3] = np.nan
    fitted = fit_scaling(values, ["a", "b"], clip, True)
    for place, logged in ((0, False), (1, True)):
        seen = [float(v) for v in values[:, place] if not np.isnan(v)]
        stats = scaling(seen, clip, logged)
        for name, number in stats.items():
            assert getattr(fitted, name)[place] == pytest.approx(number, rel=1e-9), name
        new = np.array([-50.0, 0.0, 1.0, 5.0, 1e6], dtype=np.float32)
        np.testing.assert_allclose(fitted.column(place, new), [scaled(float(v), stats) for v in new], rtol=1e-5)


def test_what_lies_far_outside_is_cut_and_a_rare_event_is_not():
    normal = RNG.normal(0, 1, 2000)
    normal[:5] = 1e6
    rare = np.zeros(2000)
    rare[:3] = 1.0
    fitted = fit_scaling(np.column_stack([normal, rare]), ["n", "r"], 0.01, True)
    assert 3.5 < fitted.high[0] < 6
    assert fitted.scale[0] == pytest.approx(1.0, abs=0.1)
    assert fitted.column(1, np.array([1.0]))[0] > 20
    assert np.all((normal[5:] > fitted.low[0]) & (normal[5:] < fitted.high[0]))


def test_constant_and_never_observed_columns_have_scale_one():
    values = np.column_stack([np.full(50, 7.0), np.full(50, np.nan)]).astype(np.float32)
    fitted = fit_scaling(values, ["c", "n"], 0.01, True)
    assert fitted.scale.tolist() == [1.0, 1.0]
    assert fitted.mean.tolist() == [7.0, 0.0]
    assert fitted.column(0, np.array([7.0, 9.0])).tolist() == [0.0, 2.0]


def test_names_choose_the_logarithm_and_invert_undoes_it():
    values = RNG.uniform(1, 2, (100, 2)).astype(np.float32)
    fitted = fit_scaling(values, ["a", "b"], None, ["b"])
    assert fitted.unit[0] == 0 < fitted.unit[1]
    for place in (0, 1):
        back = fitted.invert(place, fitted.column(place, values[:, place]))
        np.testing.assert_allclose(back, values[:, place], rtol=1e-5)
