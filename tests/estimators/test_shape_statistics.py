"""Statistics of series in torch, against numpy on each series alone; padding, odd lengths and periods at true times."""

import numpy as np
import pytest
import torch

from liquidtime.estimators.network.shape_statistics import _EACH, _FREQUENCIES, shape_statistics, size


def padded(rng, lengths, V=2, T=None):
    T = T or max(lengths)
    values, dt = torch.full((len(lengths), T, V), 7.0), torch.full((len(lengths), T), 3.0)
    for i, n in enumerate(lengths):
        values[i, :n] = torch.from_numpy(rng.normal(size=(n, V)).cumsum(axis=0) / 3)
        dt[i, :n] = torch.from_numpy(rng.exponential(size=n))
    return values, dt, torch.tensor(lengths)


def test_numbers_are_those_of_numpy_for_each_series():
    values, dt, lengths = padded(np.random.default_rng(0), [40, 25, 70])
    table = np.sinh(shape_statistics(values, dt, lengths).double().numpy())
    assert table.shape == (3, size(2))
    for row, n in enumerate(lengths.tolist()):
        own = values[row, :n].double().numpy()
        z = (own - own.mean(axis=0)) / own.std(axis=0)
        expected = [
            own.mean(axis=0), np.log(own.std(axis=0)), (z**3).mean(axis=0), np.log1p((z**4).mean(axis=0)),
            *(np.sort(own, axis=0)[int((n - 1) * np.float32(share))] for share in (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)),
        ]  # fmt: skip
        np.testing.assert_allclose(table[row, :22], np.concatenate(expected), rtol=2e-3, atol=2e-4)
        steps = np.abs(np.diff(own, axis=0))
        sizes = (steps.mean(axis=0), np.sqrt((steps**2).mean(axis=0)), steps.max(axis=0))
        np.testing.assert_allclose(table[row, 22:28], np.log(np.concatenate(sizes) + 1e-4), rtol=2e-3, atol=2e-4)
        np.testing.assert_allclose(table[row, 28:30], (z[1:] * z[:-1] < 0).mean(axis=0), atol=2e-4)
        lagged = [(z[lag:] * z[:-lag]).sum(axis=0) / n if lag < n else np.zeros(2) for lag in (1, 2, 4, 8, 16, 32, 64)]
        np.testing.assert_allclose(table[row, 36:50], np.concatenate(lagged), rtol=2e-3, atol=2e-4)
        assert table[row, -1] == pytest.approx(np.log1p(n), rel=1e-3)


def test_what_lies_past_the_end_counts_for_nothing():
    values, dt, lengths = padded(np.random.default_rng(1), [12, 1, 0, 90], T=90)
    table = shape_statistics(values, dt, lengths)
    assert torch.isfinite(table).all()
    for row, n in enumerate(lengths.tolist()):
        some = max(n, 1)
        alone = shape_statistics(values[row : row + 1, :some], dt[row : row + 1, :some], lengths[row : row + 1])
        torch.testing.assert_close(alone[0], table[row], rtol=1e-4, atol=1e-4)


def test_the_spectrum_is_of_true_times():
    rng = np.random.default_rng(2)
    dt = torch.from_numpy(rng.exponential(size=(1, 400))).float()
    frequencies = np.geomspace(1 / 256, 0.45, _FREQUENCIES)
    for place in (3, 8, 13):
        wave = torch.sin(2 * np.pi * frequencies[place] * dt.cumsum(dim=1)).unsqueeze(-1)
        spectrum = shape_statistics(wave, dt, torch.tensor([400]))[0, _EACH - _FREQUENCIES : _EACH]
        assert int(spectrum.argmax()) == place


def test_constant_series_have_finite_statistics():
    values = torch.full((2, 20, 3), 5.0)
    assert torch.isfinite(shape_statistics(values, torch.ones(2, 20), torch.tensor([20, 3]))).all()
