"""A forecast as a mixture of several, whose weights depend on the channel and on the gap; and how far it may be off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LinearRegression

from liquidtime.estimators.forecast.network import PARTS

Values = npt.NDArray[np.float64]
_KNOTS = (0.03, 0.15, 0.35, 0.65, 0.95)
"""Quantiles of the gaps at which weights are chosen, besides the gap 0."""
_APART = 0.1
_PRIOR, _EXACT = 0.01, 1e3
_ENOUGH = 30.0
_LOWER = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
LEVELS = (*_LOWER, 0.5, *(round(1 - level, 3) for level in reversed(_LOWER)))
"""Levels of the stored quantiles of the errors."""


def hats(knots: Values, gaps: Values) -> Values:
    """Return (..., K) the weights of the knots at gaps (...): at most two are not 0, their sum is 1.

    Args:
        knots: (K,) increasing gaps, the first 0; between them the logarithm of 1 + gap counts.
        gaps: of at least 0.
    """
    at, log = np.log1p(knots), np.log1p(gaps)
    place = np.clip(np.searchsorted(at, log, side="right") - 1, 0, len(at) - 2)
    share = np.clip((log - at[place]) / (at[place + 1] - at[place]), 0.0, 1.0)
    weights = np.zeros((*gaps.shape, len(at)))
    np.put_along_axis(weights, place[..., None], (1 - share)[..., None], axis=-1)
    np.put_along_axis(weights, place[..., None] + 1, share[..., None], axis=-1)
    return weights


@dataclass(frozen=True, eq=False)
class Blend:
    """Weights and error quantiles by channel and gap, smooth in the gap.

    Args:
        knots: (K,) scaled gaps since the channel's last value.
        weights: (C, K, J) of the `PARTS`, at least 0, of sum 1.
        errors: (C, K, L) quantiles, at the `LEVELS`, of truth minus forecast, in standard deviations.
    """

    knots: Values
    weights: Values
    errors: Values

    def shares(self, s: Values) -> Values:
        """Return (..., C, J) the weights of the parts, at scaled times s (..., C) since each channel's last value."""
        shares: Values = np.einsum("...ck,ckj->...cj", hats(self.knots, s), self.weights)
        return shares

    def mix(self, parts: Values, s: Values) -> Values:
        """Return (..., C) the mixture of parts (..., C, J)."""
        mixture: Values = np.einsum("...cj,...cj->...c", parts, self.shares(s))
        return mixture

    def error(self, s: Values, level: float) -> Values:
        """Return (..., C) the quantile of the errors at a level."""
        at = np.array([[np.interp(level, LEVELS, row) for row in channel] for channel in self.errors])  # (C, K)
        quantile: Values = np.einsum("...ck,ck->...c", hats(self.knots, s), at)
        return quantile


def fit_blend(parts: Values, truth: Values, s: Values, series: int) -> Blend:
    """Choose the weights by least squares on forecasts of series that the network was not trained on.

    Where a channel says little, its weights are those of all channels together. At the gap 0 the mean and the seasonal
    naive forecast have no weight, so that the mixture is the last value there.

    Args:
        parts: (n, C, J) forecasts in standard deviations.
        truth: (n, C), NaN = not measured.
        s: (n, C) scaled time since each channel's last value.
        series: how many series these are of; the fewer, the more is left to the last value.
    """
    known = ~np.isnan(truth)
    C, J = parts.shape[1:]
    inner = np.quantile(s[known], _KNOTS) if known.any() else np.ones(1)
    knots = _spread(inner)
    K = len(knots)
    free = np.ones((K, J), dtype=bool)
    free[0, [PARTS.index("mean so far"), PARTS.index("seasonal naive")]] = False
    grams, sides, counts = [], [], []
    for c in range(C):
        rows = known[:, c]
        design = (hats(knots, s[rows, c])[:, :, None] * parts[rows, c][:, None, :]).reshape(-1, K * J)
        grams.append(design.T @ design)
        sides.append(design.T @ truth[rows, c])
        counts.append(int(rows.sum()))
    start = np.zeros((K, J))
    start[:, PARTS.index("last value")] = 1.0
    total = max(sum(counts), 1)
    doubt = max(_PRIOR, 1.0 / max(series, 1))
    common = _simplex(sum(grams) / total, sum(sides) / total, start, free, doubt)
    weights = np.stack(
        [_simplex(grams[c] / max(counts[c], 1), sides[c] / max(counts[c], 1), common, free, doubt) for c in range(C)]
    )
    blend = Blend(knots, weights, np.zeros((C, K, len(LEVELS))))
    off = truth - blend.mix(parts, s)
    pooled = _quantiles(off[known], np.ones(int(known.sum())))
    errors = np.empty((C, K, len(LEVELS)))
    for c in range(C):
        rows = known[:, c]
        near = hats(knots, s[rows, c])
        whole = _quantiles(off[rows, c], np.ones(int(rows.sum()))) if rows.sum() >= _ENOUGH else pooled
        for k in range(K):
            errors[c, k] = _quantiles(off[rows, c], near[:, k]) if near[:, k].sum() >= _ENOUGH else whole
    return Blend(knots, weights, errors)


def _spread(gaps: Values) -> Values:
    """Return 0 and those of increasing gaps that lie well apart, so that weights change smoothly between them."""
    knots = [0.0]
    for gap in np.maximum(gaps, 1e-3).tolist():
        if np.log1p(gap) - np.log1p(knots[-1]) > _APART or len(knots) == 1:
            knots.append(gap)
    return np.array(knots)


def _simplex(gram: Values, side: Values, prior: Values, free: npt.NDArray[np.bool_], doubt: float) -> Values:
    """Return (K, J) weights, at least 0 and of sum 1 at each knot, that minimise w'Gw - 2b'w, near `prior` in doubt."""
    K, J = prior.shape
    scale = max(float(np.trace(gram)) / (K * J), 1e-6)
    sums = np.kron(np.eye(K), np.ones((J, 1)))  # (K·J, K)
    use = free.ravel()
    matrix = gram + doubt * scale * np.eye(K * J) + _EXACT * scale * sums @ sums.T
    vector = side + doubt * scale * prior.ravel() + _EXACT * scale * sums.sum(axis=1)
    factor = np.linalg.cholesky(matrix[np.ix_(use, use)])
    solution = np.zeros(K * J)
    least_squares = LinearRegression(fit_intercept=False, positive=True)
    solution[use] = least_squares.fit(factor.T, np.linalg.solve(factor, vector[use])).coef_
    weights = solution.reshape(K, J)
    shares: Values = weights / weights.sum(axis=1, keepdims=True)
    return shares


def _quantiles(errors: Values, weights: Values) -> Values:
    """Return (L,) quantiles of weighted errors, each a little further out: for one error more, yet unknown."""
    if len(errors) == 0:
        return np.zeros(len(LEVELS))
    order = np.argsort(errors)
    total = np.cumsum(weights[order])
    n = total[-1]
    levels = np.array(LEVELS)
    levels = np.clip(np.where(levels > 0.5, levels * (n + 1) / n, 1 - (1 - levels) * (n + 1) / n), 0.0, 1.0)
    levels[LEVELS.index(0.5)] = 0.5
    quantiles: Values = np.interp(levels, (total - 0.5 * weights[order]) / n, errors[order])
    return quantiles
