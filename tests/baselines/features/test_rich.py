"""Rich features against plain loops over each series, and what they promise: names, NaN, determinism, alignment."""

import numpy as np
import pytest

from baselines.features.series import ragged, sampled
from liquidtime.baselines.features.lags import autocorrelations
from liquidtime.baselines.features.rich import RichFeatures
from liquidtime.baselines.features.segments import Segments
from liquidtime.data import SeriesSet


def column(data, name, features=None):
    features = features or RichFeatures()
    table = features.fit_transform(data)
    return table[:, features.names_.index(name)]


def by_loop(data, place, function):
    results = []
    for series in data:
        seen = ~np.isnan(series.values[:, place])
        z, t = series.values[seen, place].astype(np.float64), series.times[seen]
        results.append(function(t, z, series.times) if len(z) else np.nan)
    return np.array(results)


STATISTICS = {
    "mean": lambda t, z, all_times: z.mean(),
    "deviation": lambda t, z, all_times: z.std(),
    "minimum": lambda t, z, all_times: z.min(),
    "range": lambda t, z, all_times: np.ptp(z),
    "median": lambda t, z, all_times: np.median(z),
    "quantile 0.1": lambda t, z, all_times: np.quantile(z, 0.1),
    "quantile 0.95": lambda t, z, all_times: np.quantile(z, 0.95),
    "median absolute deviation": lambda t, z, all_times: np.median(np.abs(z - np.median(z))),
    "first": lambda t, z, all_times: z[0],
    "last": lambda t, z, all_times: z[-1],
    "previous": lambda t, z, all_times: z[-2] if len(z) > 1 else np.nan,
    "last but 3": lambda t, z, all_times: z[-4] if len(z) > 3 else np.nan,
    "time since last": lambda t, z, all_times: all_times[-1] - t[-1],
    "time since maximum": lambda t, z, all_times: all_times[-1] - t[z.argmax()],
    "slope": lambda t, z, all_times: np.polyfit(t, z, 1)[0] if len(z) > 1 else np.nan,
    "mean absolute difference": lambda t, z, all_times: np.abs(np.diff(z)).mean() if len(z) > 1 else np.nan,
    "mean absolute rate": lambda t, z, all_times: np.abs(np.diff(z) / np.diff(t)).mean() if len(z) > 1 else np.nan,
    "longest interval": lambda t, z, all_times: np.diff(t).max() if len(z) > 1 else np.nan,
    "deviation of intervals": lambda t, z, all_times: np.diff(t).std() if len(z) > 1 else np.nan,
    "crossings of mean": lambda t, z, all_times: (
        np.abs(np.diff((z > z.mean()).astype(float))).mean() if len(z) > 1 else np.nan
    ),
}


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("seed", [0, 1])
def test_statistics_are_those_of_a_loop(name, seed):
    data = ragged(seed)
    expected = by_loop(data, 1, STATISTICS[name])
    np.testing.assert_allclose(column(data, f"b: {name}"), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["peaks", "longest strike above median", "skewness", "mean of part 3"])
def test_shapes_are_those_of_a_loop(name):
    def loop(t, z, all_times):
        if name == "peaks":
            return ((z[1:-1] > z[:-2]) & (z[1:-1] > z[2:])).sum() / len(z)
        if name == "skewness":
            return (((z - z.mean()) / z.std()) ** 3).mean()
        if name == "mean of part 3":
            place = (t - t[0]) / (t[-1] - t[0])
            return z[(place >= 2 / 8) & (place < 3 / 8)].mean()
        longest = run = 0
        for above in z > np.median(z):
            run = run + 1 if above else 0
            longest = max(longest, run)
        return longest / len(z)

    data = ragged(3, S=8, least=60, most=90, missing=0.1)
    np.testing.assert_allclose(column(data, f"c: {name}"), by_loop(data, 2, loop), rtol=1e-6, atol=1e-9)


def test_counts_and_series_features():
    data = ragged(5)
    np.testing.assert_array_equal(column(data, "number of samples"), data.lengths)
    np.testing.assert_array_equal(column(data, "a: count"), [np.sum(~np.isnan(series.values[:, 0])) for series in data])
    np.testing.assert_allclose(column(data, "s1"), data.static[:, 1])


def test_autocorrelation_of_a_sinusoid_is_its_cosine():
    data = sampled(lambda _, t: np.sin(2 * np.pi * t / 10.0), n=2000, span=200.0)
    features = RichFeatures().fit(data)
    lags = features.plans_[0].lags
    table = features.transform(data)
    for number, lag in enumerate(lags[lags < 50]):
        values = table[:, features.names_.index(f"x: autocorrelation at lag {number + 1}")]
        np.testing.assert_allclose(values, np.cos(2 * np.pi * lag / 10.0), atol=0.08)


def test_autocorrelation_is_that_of_a_loop_over_series():
    data = ragged(1, S=12, least=0, most=60)
    for number, lag in enumerate((0.7, 1.0, 12.5)):

        def expected(t, z, _, lag=lag):
            z = z - z.mean()
            moments = t - t[0] + lag
            inside = moments <= t[-1] - t[0]
            if not inside.any() or not z.any():
                return np.nan
            return np.mean(z[inside] * np.interp(moments[inside], t - t[0], z)) / np.mean(z * z)

        runs = Segments.of_channel(data, 0)
        own = autocorrelations(runs, np.array([0.7, 1.0, 12.5]))[f"autocorrelation at lag {number + 1}"]
        loop = by_loop(data, 0, expected)[runs.owner]
        assert np.isfinite(loop).any()
        np.testing.assert_allclose(own, loop, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("regular", [False, True])
def test_the_period_is_found(regular):
    periods = np.array([2.1, 3.7, 5.0, 1.3, 9.0, 2.9])
    data = sampled(lambda k, t: 3.0 + np.sin(2 * np.pi * t / periods[k] + k), regular=regular)
    np.testing.assert_allclose(1 / np.exp(column(data, "x: log frequency 1")), periods, rtol=0.005)
    np.testing.assert_allclose(column(data, "x: share explained by frequency 1"), 1.0, atol=1e-3)


def test_harmonics_do_not_depend_on_the_beginning_of_time():
    def curve(_, t):
        return np.sin(2 * np.pi * t / 4.0) + 0.5 * np.cos(4 * np.pi * t / 4.0)

    def shape(number, t):
        return curve(number, t + number)  # the same curve, begun later in every series

    features = RichFeatures()
    table = features.fit_transform(sampled(shape, n=300))
    for name, expected in (("harmonic 1", 1 / np.sqrt(1.25)), ("harmonic 2", 0.5 / np.sqrt(1.25))):
        np.testing.assert_allclose(table[:, features.names_.index(f"x: {name} of frequency 1")], expected, atol=0.01)
    phases = table[:, features.names_.index("x: phase of harmonic 2 of frequency 1")]
    np.testing.assert_allclose(phases, 0.5, atol=0.02)


def test_frequencies_above_the_mean_rate_are_found_where_times_are_irregular():
    periods = 0.31 + 0.01 * np.arange(6)  # a sample per three periods
    data = sampled(lambda k, t: np.sin(2 * np.pi * t / periods[k]), n=100, span=100.0)
    np.testing.assert_allclose(1 / np.exp(column(data, "x: log frequency 1")), periods, rtol=1e-3)


def test_pairs_are_correlated_over_shared_samples():
    data = ragged(7, least=20, missing=0.2)

    def loop(values):
        both = ~np.isnan(values[:, :2]).any(axis=1)
        return np.corrcoef(values[both, 0], values[both, 1])[0, 1]

    expected = [loop(series.values.astype(np.float64)) for series in data]
    np.testing.assert_allclose(column(data, "correlation of a and b"), expected, rtol=1e-5)


def test_many_channels_are_not_paired_and_few_samples_give_few_statistics():
    many = RichFeatures().fit(ragged(0, C=9)).names_
    assert not any(name.startswith("correlation") for name in many)
    few = RichFeatures().fit(ragged(0, most=3, missing=0.0)).names_
    assert "a: mean" in few
    assert not any("quantile" in name or "autocorrelation" in name for name in few)


@pytest.mark.parametrize(("C", "trends"), [(64, True), (65, False)])
def test_very_many_channels_have_levels_alone(C, trends):
    rng = np.random.default_rng(0)
    names = tuple(f"c{place}" for place in range(C))
    data = SeriesSet(np.arange(0, 60, 6), np.tile(np.arange(6.0), 9), rng.normal(size=(54, C)), names)
    made = RichFeatures().fit(data).names_
    assert "c0: mean" in made
    assert any("quantile" in name for name in made) == trends


def test_training_series_get_what_later_ones_get():
    data = ragged(0, S=20, most=80)
    features = RichFeatures()
    table = features.fit_transform(data)
    np.testing.assert_array_equal(table, features.transform(data))
    np.testing.assert_array_equal(table, RichFeatures().fit(data).transform(data))
    for rows in (slice(3, 7), slice(5, 6), slice(19, 20)):  # a series has the same bits in every set
        np.testing.assert_array_equal(table[rows], features.transform(data[rows]))
    assert table.shape == (20, len(features.get_feature_names_out()))
    assert len(set(features.names_)) == len(features.names_)
    assert not np.isinf(table).any()


def test_series_without_a_value_are_all_unknown_and_do_not_warn():
    data = ragged(0, S=5, least=5)
    features = RichFeatures().fit(data)
    empty = data[:0].with_empty(np.array([77]))
    row = features.transform(empty)[0]
    known = {name for name, value in zip(features.names_, row, strict=True) if not np.isnan(value)}
    assert known <= {"number of samples", "number of channels observed"} | {
        name for name in features.names_ if name.endswith((": count", ": share of samples"))
    }


def test_constant_columns_are_left_out():
    data = SeriesSet(np.array([0, 2, 4]), np.array([0.0, 1.0, 0.0, 1.0]), np.ones((4, 1)), ("x",))
    assert RichFeatures().fit(data).names_ == ()
    assert RichFeatures().fit_transform(data).shape == (2, 0)


def test_categories_have_shares_and_no_means():
    data = ragged(0, C=1, statics=0, least=5)
    codes = np.where(np.isnan(data.values), np.nan, (data.values > 0).astype(np.float32))
    data = SeriesSet(data.offsets, data.times, codes, ("a",), categories={"a": ("off", "on")})
    features = RichFeatures().fit(data)
    assert "a: mean" not in features.names_
    expected = [np.nanmean(series.values[:, 0]) for series in data]
    np.testing.assert_allclose(column(data, "a: share of on"), expected, rtol=1e-6)


def test_other_orders_of_channels_are_taken_and_missing_ones_named():
    data = ragged(0)
    features = RichFeatures().fit(data)
    turned = SeriesSet(
        data.offsets,
        data.times,
        data.values[:, ::-1],
        data.channels[::-1],
        static=data.static,
        static_names=data.static_names,
    )
    np.testing.assert_array_equal(features.transform(turned), features.transform(data))
    fewer = SeriesSet(data.offsets, data.times, data.values[:, :2], ("a", "b"))
    with pytest.warns(UserWarning, match="missing"):
        assert features.transform(fewer).shape == (len(data), len(features.names_))


def test_no_series_is_refused():
    with pytest.raises(ValueError, match="at least one series"):
        RichFeatures().fit(ragged()[:0])


def test_series_without_a_value_have_features_too():
    rng = np.random.default_rng(0)
    data = SeriesSet.from_arrays([(np.arange(100.0), rng.normal(size=(100, 1))) for _ in range(6)])
    features = RichFeatures().fit(data)
    assert any("autocorrelation" in name for name in features.names_)
    for count in (0, 1):
        table = features.transform(data[:1].head(count))
        assert table.shape == (1, len(features.names_))
