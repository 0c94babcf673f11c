"""Periods of dense channels: the strongest frequencies at true times, their harmonics, and the power by band.

The periodogram is that of unevenly spaced samples (Lomb 1976, Scargle 1982; here without their phase shift, whose
effect is small with many samples): |sum of z exp(-2 pi i f t)|^2 on a fine grid of frequencies, computed by spreading
the samples onto a regular grid of times and one fast Fourier transform. The peaks are refined by exact least squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.features.harmonics import PHASES, fit_harmonics, folded_roughness
from liquidtime.baselines.features.segments import Floats, Segments
from liquidtime.baselines.features.statistics import Statistics

OVERSAMPLING = 2
MOST_FREQUENCIES, FREQUENCIES_PER_VALUE, WORK = 100_000, 200, 1e8
PEAKS, HARMONICS, BANDS = 2, 4, 10
_SPREADING = 2.6
"""Points of the time grid per frequency: enough to make images of other frequencies faint."""
_BLOCK = 2**20
"""Number of points of time grids that are processed at once."""


@dataclass(frozen=True)
class FrequencyGrid:
    """Frequencies k * step for k = 1 … count.

    Args:
        step: > 0.
        count: number of frequencies.
    """

    step: float
    count: int


def frequency_grid(runs: Segments, channels: int = 1) -> FrequencyGrid | None:
    """Choose frequencies for a channel: from one turn per longest span to half the sampling rate.

    Samples that are not on a regular grid can distinguish frequencies far above half their mean rate; there the limits
    on frequencies per value and on the total work determine the highest frequency.

    Args:
        runs: the observed values of the training series.
        channels: number of channels that share the total work.

    Returns:
        None if all runs are single values.
    """
    gaps = runs.intervals()
    if len(gaps) == 0:
        return None
    step = 1.0 / (OVERSAMPLING * float(np.quantile(runs.last_time - runs.first_time, 0.95)))
    budget = min(MOST_FREQUENCIES, FREQUENCIES_PER_VALUE * float(np.median(runs.counts)), WORK / (len(runs) * channels))
    tick = float(np.quantile(gaps.values, 0.05))
    ratio = gaps.values / tick
    regular = np.mean(np.abs(ratio - np.rint(ratio)) < 0.05) > 0.9
    wanted = 0.5 / tick / step if regular else budget
    return FrequencyGrid(step, int(max(8, min(wanted, budget))))


def periods(runs: Segments, grid: FrequencyGrid) -> Statistics:
    """Return the strongest frequencies, the shape of the folded series and the power in bands of frequency.

    Args:
        runs: the observed values.
        grid: result of `frequency_grid`.
    """
    centred = runs.with_values(runs.values - runs.spread(runs.mean(runs.values)))
    statistics: Statistics = {}
    for peak in range(PEAKS):
        frequency, power = _strongest(centred, grid, statistics if peak == 0 else None)
        frequency = _refined(centred, frequency, grid.step)
        fit = fit_harmonics(centred, frequency, HARMONICS)
        name = f"frequency {peak + 1}"
        statistics[f"log {name}"] = np.log(frequency)
        statistics[f"power at {name}"] = power
        statistics[f"share explained by {name}"] = fit.explained
        statistics[f"amplitude at {name}"] = fit.amplitudes[:, 0]
        if peak == 0:
            statistics |= _folded(centred, frequency, name) | _folded(centred, frequency / 2, f"half {name}")
        centred = runs.with_values(fit.residuals)
    return statistics


def _folded(runs: Segments, frequency: Floats, name: str) -> Statistics:
    fit = fit_harmonics(runs, frequency, HARMONICS)
    amplitudes, phases, curve = fit.amplitudes, fit.relative_phases(), fit.curve()
    total = np.sqrt((amplitudes**2).sum(axis=1))
    total = np.where(total > 0, total, np.nan)
    statistics: Statistics = {
        f"share explained by curve of {name}": fit.explained,
        f"roughness folded by {name}": folded_roughness(runs, fit.phases),
        f"phase of maximum of {name}": curve.argmax(axis=1) / PHASES,
        f"maximum of curve of {name}": curve.max(axis=1),
        f"minimum of curve of {name}": curve[:, 0],
        f"skewness of curve of {name}": (curve**3).mean(axis=1),
    }
    for k in range(HARMONICS):
        statistics[f"harmonic {k + 1} of {name}"] = amplitudes[:, k] / total
    for k in range(HARMONICS - 1):
        statistics[f"phase of harmonic {k + 2} of {name}"] = phases[:, k]
    for k in range(1, 8):
        statistics[f"curve of {name} at {k}/8"] = curve[:, k * PHASES // 8]
    return statistics


def _strongest(runs: Segments, grid: FrequencyGrid, bands: Statistics | None) -> tuple[Floats, Floats]:
    """Return (R,) the frequency with most power and that power as a fraction of the variance; add the power by band."""
    size = 2 ** int(np.ceil(np.log2(_SPREADING * (grid.count + 1))))
    low = np.maximum(np.ceil(1.0 / np.maximum(runs.last_time - runs.first_time, 1e-300) / grid.step), 1)
    low = np.minimum(low, grid.count).astype(np.int64)
    number = np.arange(1, grid.count + 1)
    damping = (np.sinc(number / size) ** 4).astype(np.float32)  # effect of linear spreading on the power
    edges = np.unique(np.rint(np.geomspace(1, grid.count + 1, BANDS + 1)).astype(np.int64)) - 1
    variance = np.maximum(runs.sum(runs.values**2), 1e-300)
    frequency, power = np.empty(len(runs)), np.empty(len(runs))
    shares = np.empty((len(runs), len(edges) - 1))
    block = max(1, _BLOCK // size)
    for begin in range(0, len(runs), block):
        rows = np.arange(begin, min(begin + block, len(runs)))
        spectrum = _spectrum(runs, rows, grid, size) / damping
        total = np.maximum(spectrum.sum(axis=1, dtype=np.float64), 1e-300)
        shares[rows] = np.add.reduceat(spectrum, edges[:-1], axis=1) / total[:, None]
        spectrum[number[None, :] < low[rows, None]] = 0.0
        best = spectrum.argmax(axis=1)
        frequency[rows] = (best + 1) * grid.step
        power[rows] = 2.0 * spectrum[np.arange(len(rows)), best] / (runs.counts[rows] * variance[rows])
    if bands is not None:
        bands |= {f"power in band {k + 1}": shares[:, k] for k in range(shares.shape[1])}
    return frequency, power


def _spectrum(runs: Segments, rows: npt.NDArray[np.int64], grid: FrequencyGrid, size: int) -> Floats:
    """Return (r, K) the power of some runs at the frequencies of the grid."""
    begin, end = runs.starts[rows[0]], runs.starts[rows[-1]] + runs.counts[rows[-1]]
    run = runs.runs[begin:end] - rows[0]
    place = np.mod((runs.times[begin:end] - runs.first_time[rows][run]) * grid.step, 1.0) * size
    left = place.astype(np.int64)
    share = place - left
    z = runs.values[begin:end]
    cells = np.concatenate([run * size + left % size, run * size + (left + 1) % size])
    weights = np.concatenate([z * (1.0 - share), z * share])
    signal = np.bincount(cells, weights, minlength=len(rows) * size).reshape(len(rows), size).astype(np.float32)
    spectrum = np.fft.rfft(signal, axis=1)[:, 1 : grid.count + 1]
    power: Floats = spectrum.real**2 + spectrum.imag**2
    return power


def _refined(runs: Segments, frequency: Floats, step: float) -> Floats:
    """Return (R,) the frequencies near those given whose sinusoids explain most: best of seven, then a parabola."""

    def explained(candidates: Floats) -> Floats:
        return np.nan_to_num(fit_harmonics(runs, candidates, 1).explained)

    shifts = np.linspace(-0.75, 0.75, 7)
    nearby = [np.maximum(frequency + shift * step, step / 4) for shift in shifts]
    shares = np.stack([explained(candidates) for candidates in nearby])  # (7, R)
    best, rows = shares.argmax(axis=0), np.arange(len(runs))
    middle = np.clip(best, 1, len(shifts) - 2)
    left, centre, right = (shares[middle + k, rows] for k in (-1, 0, 1))
    bend = left - 2.0 * centre + right
    vertex = np.where(bend < 0, 0.5 * (left - right) / np.where(bend < 0, bend, -1.0), 0.0)
    spacing = (shifts[1] - shifts[0]) * step
    refined = np.maximum(frequency + shifts[middle] * step + np.clip(vertex, -1.0, 1.0) * spacing, step / 4)
    chosen: Floats = np.where(explained(refined) > shares[best, rows], refined, np.stack(nearby)[best, rows])
    return chosen
