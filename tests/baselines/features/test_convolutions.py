"""Convolutions of resampled series against plain loops, and series that differ by shape alone told apart."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

from baselines.features.series import ragged, sampled
from liquidtime.baselines.features.convolutions import POOLS, ConvolutionFeatures
from liquidtime.baselines.features.resampling import RegularGrid, Resampled
from liquidtime.baselines.features.responses import HALF, TAPS, viewed
from liquidtime.baselines.features.ridge import Ridge


def dense(seed=0, **options):
    return ragged(seed, **{"S": 7, "C": 2, "least": 50, "most": 120, "missing": 0.2, **options})


def test_features_are_those_of_a_loop():
    data = dense()
    features = ConvolutionFeatures(thresholds=700).fit(data)
    table = features.transform(data)
    series = features.grid_.resample(data)
    ends, compared = np.cumsum(series.counts), 0
    for number in range(0, len(features.kernels_), 37):
        kernel = features.kernels_[number]
        values = viewed(series, kernel.view)
        weights = np.where(np.isin(np.arange(TAPS), kernel.triple), 2.0, -1.0)
        each = len(kernel.thresholds)
        for row, (end, count) in enumerate(zip(ends, series.counts, strict=True)):
            own = values[list(kernel.channels), end - count : end].sum(axis=0, dtype=np.float64)
            padded = np.pad(own, HALF * kernel.dilation)
            response = sum(w * padded[k * kernel.dilation : k * kernel.dilation + count] for k, w in enumerate(weights))
            if np.abs(response - kernel.thresholds[0]).min() < 1e-3:
                continue  # single precision may decide either way
            compared += 1
            above = response > kernel.thresholds[0]
            longest = run = 0
            for inside in above:
                run = run + 1 if inside else 0
                longest = max(longest, run)
            expected = [
                above.mean(),
                (response - kernel.thresholds[0])[above].mean() if above.any() else 0.0,
                (np.flatnonzero(above) / (count - 1)).mean() if above.any() else -1.0,
                np.log1p(longest),
            ]
            column = number * each * len(POOLS)
            np.testing.assert_allclose(table[row, column : column + len(POOLS)], expected, rtol=1e-3, atol=1e-3)
    assert compared > 50


def test_resampling_interpolates_at_true_times():
    data = sampled(lambda _, t: 3.0 * t + 1.0, n=60, span=30.0)
    grid = RegularGrid.fit(data)
    series = grid.resample(data)
    begin = 0
    for one, count in zip(data, series.counts, strict=True):
        values = series.values[0, begin : begin + count] * grid.scale[0] + grid.mean[0]
        times = one.times[-1] - grid.step * np.arange(count)[::-1]
        np.testing.assert_allclose(values, 3.0 * times + 1.0, rtol=1e-4, atol=1e-3)
        begin += count


def test_the_grid_is_as_fine_as_the_samples_and_no_finer_than_they_tell():
    regular = sampled(lambda _, t: np.sin(t), n=101, span=50.0, regular=True)
    assert RegularGrid.fit(regular).step == pytest.approx(0.5)
    bursts = sampled(lambda _, t: np.sin(t), n=50, span=50.0)  # random times: some intervals are tiny
    assert RegularGrid.fit(bursts).step >= 0.2


def test_views():
    series = Resampled(np.array([3, 2]), np.array([[1.0, 2.0, 4.0, 5.0, 5.0]], dtype=np.float32))
    np.testing.assert_array_equal(viewed(series, "differences"), [[0, 1, 2, 0, 0]])
    np.testing.assert_allclose(viewed(series, "sums"), [[1, 3, 7, 5, 10]])
    own = viewed(series, "own scale")
    np.testing.assert_allclose([own[0, :3].mean(), own[0, :3].std(), own[0, 3:].std()], [0, 1, 0], atol=1e-6)


def test_series_are_independent_of_their_neighbours():
    data = dense(1)
    features = ConvolutionFeatures(thresholds=500).fit(data)
    table = features.transform(data)
    np.testing.assert_allclose(features.transform(data[2:5]), table[2:5], rtol=1e-3, atol=1e-4)
    assert table.shape == (len(data), len(features.get_feature_names_out()))
    assert np.isfinite(table).all()
    np.testing.assert_array_equal(ConvolutionFeatures(thresholds=500).fit(data).transform(data), table)


def test_shapes_are_told_apart():
    random = np.random.default_rng(0)
    y = np.arange(60) % 3

    def function(number, t):
        waves = (np.sin(t), np.sign(np.sin(t)), 2 * np.abs((t / np.pi) % 2 - 1) - 1)
        return waves[y[number]] + 0.2 * random.normal(size=len(t))

    data = sampled(function, S=60, n=150, span=40.0)
    X = ConvolutionFeatures(thresholds=1000).fit_transform(data)
    model = Ridge().fit(X, y, list(KFold(5, shuffle=True, random_state=0).split(X)))
    assert (model.out_of_fold_.argmax(axis=1) == y).mean() > 0.9


def test_sparse_series_have_no_convolutions():
    data = ragged(0, most=10)
    features = ConvolutionFeatures().fit(data)
    assert features.transform(data).shape == (len(data), 0)


def test_empty_and_single_samples_are_survived():
    data = dense()
    features = ConvolutionFeatures(thresholds=100).fit(data)
    short = data[:1].with_empty(np.array([99]))
    assert np.isfinite(features.transform(short)).all()
    assert features.transform(data[:0]).shape == (0, len(features.names_))


def test_no_threshold_is_refused():
    with pytest.raises(ValueError, match="thresholds"):
        ConvolutionFeatures(thresholds=0).fit(dense())


def test_features_are_the_same_bits_however_many_thresholds_are_pooled_together(monkeypatch):
    features = ConvolutionFeatures(thresholds=400).fit(dense())
    for data in (dense(), dense(1)[:1]):
        tables = []
        for together in (1, 900, 1 << 24):
            monkeypatch.setattr("liquidtime.baselines.features.convolutions._AT_ONCE", together)
            tables.append(features.transform(data))
        assert tables[0].shape[1] == len(features.names_)
        np.testing.assert_array_equal(tables[0], tables[1])
        np.testing.assert_array_equal(tables[0], tables[2])
