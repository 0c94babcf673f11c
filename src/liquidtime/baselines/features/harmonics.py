"""Least-squares fits of a few harmonics at true times, with one frequency per series."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from liquidtime.baselines.features.segments import Floats, Segments

PHASES = 32
"""Number of points per period at which a fitted curve is evaluated."""


@dataclass(frozen=True, eq=False)
class HarmonicFit:
    """z(t) = a_0 + sum over k of a_k cos(2 pi k f t) + b_k sin(2 pi k f t), per run.

    Args:
        frequency: (R,) f.
        cosines: (R, H) a_1 to a_H.
        sines: (R, H) b_1 to b_H.
        explained: (R,) fraction of the variance that the curve explains, in [0, 1]; NaN if there is no variance.
        residuals: (n,) values minus the curve.
        phases: (n,) f t modulo 1.
    """

    frequency: Floats
    cosines: Floats
    sines: Floats
    explained: Floats
    residuals: Floats
    phases: Floats

    @property
    def amplitudes(self) -> Floats:
        """(R, H) sqrt(a_k^2 + b_k^2)."""
        return np.hypot(self.cosines, self.sines)

    def relative_phases(self) -> Floats:
        """Return (R, H - 1) phase_k - k phase_1 in turns, in [0, 1): invariant to shifts of time."""
        phase = np.arctan2(-self.sines, self.cosines) / (2 * np.pi)
        order = np.arange(2, self.cosines.shape[1] + 1)
        return np.mod(phase[:, 1:] - order * phase[:, :1], 1.0)

    def curve(self) -> Floats:
        """Return (R, `PHASES`) the curve over one period, starting at its minimum, without its mean, in deviations."""
        turns = np.arange(PHASES) / PHASES
        angle = 2 * np.pi * np.outer(np.arange(1, self.cosines.shape[1] + 1), turns)
        values = self.cosines @ np.cos(angle) + self.sines @ np.sin(angle)
        scale = np.sqrt((values**2).mean(axis=1, keepdims=True))
        shift = values.argmin(axis=1)[:, None] + np.arange(PHASES)
        scaled: Floats = np.take_along_axis(values, shift % PHASES, axis=1) / np.where(scale > 0, scale, np.nan)
        return scaled


def fit_harmonics(runs: Segments, frequency: Floats, count: int) -> HarmonicFit:
    """Fit harmonics by least squares.

    Args:
        runs: the observed values.
        frequency: (R,) > 0, turns per unit of time.
        count: number of harmonics H.
    """
    turns = np.mod((runs.times - runs.spread(runs.first_time)) * runs.spread(frequency), 1.0)
    basis = [np.ones(len(turns))]
    rotation = np.exp(2j * np.pi * turns)
    power = np.ones_like(rotation)
    for _ in range(count):
        power = power * rotation
        basis += [power.real, power.imag]
    R, width = len(runs), len(basis)
    z = runs.values - runs.spread(runs.mean(runs.values))
    gram, moment = np.empty((R, width, width)), np.empty((R, width))
    for i in range(width):
        moment[:, i] = runs.sum(basis[i] * z)
        for j in range(i + 1):
            gram[:, i, j] = gram[:, j, i] = runs.sum(basis[i] * basis[j])
    gram += 1e-6 * runs.counts[:, None, None] * np.eye(width)  # otherwise singular with few or clustered phases
    weights: Floats = np.asarray(np.linalg.solve(gram, moment[:, :, None])[:, :, 0], dtype=np.float64)
    curve = np.zeros(len(z))
    for i in range(width):
        curve += runs.spread(weights[:, i]) * basis[i]
    residuals = z - curve
    variance = runs.sum(z * z)
    with np.errstate(invalid="ignore", divide="ignore"):
        explained = np.where(variance > 0, 1.0 - runs.sum(residuals**2) / variance, np.nan)
    return HarmonicFit(frequency, weights[:, 1::2], weights[:, 2::2], np.clip(explained, 0.0, 1.0), residuals, turns)


def folded_roughness(runs: Segments, phases: Floats) -> Floats:
    """Return (R,) mean squared difference of values that are neighbours in phase, over twice the variance.

    Near 0 if the values follow a curve of the phase, near 1 if they do not.

    Args:
        runs: the observed values.
        phases: (n,) in [0, 1).
    """
    z = runs.values[np.lexsort((phases, runs.runs))]
    steps = np.diff(z, prepend=z[:1])
    steps[runs.starts] = 0.0
    variance = runs.sum((z - runs.spread(runs.mean(z))) ** 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(variance > 0, runs.sum(steps**2) / (2 * variance), np.nan)
