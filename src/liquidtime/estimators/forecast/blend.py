"""A mixture of forecasts whose weights depend on the channel and the gap, and its expected errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LinearRegression

from liquidtime.estimators.forecast.network import LAST, LINE, MEAN, PARTS, SEASONAL

Values = npt.NDArray[np.float64]
_KNOTS = (0.03, 0.15, 0.35, 0.65, 0.95)
"""Quantiles of the gaps at which weights are chosen, besides the gap 0."""
_APART = 0.1
_PRIOR, _EXACT = 0.01, 1e3
_USUAL = 0.15
"""Usual distance of the weights of one channel from those of all channels."""
_ENOUGH = 30.0
_LEAST, _ROUNDING = 1e-9, 1e-10
_EXACTLY = 1e-6
"""Smallest half-width of intervals in standard deviations, because exact forecasts are rounded."""
_CLEAR = 0.5
"""Relative margin, times one over the root of the number of series, by which an error is clearly smaller."""
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

        forecast = Σ weight · part,    error = expected size(gap, disagreement, level) · quantile(gap)

    Args:
        knots: (K,) scaled gaps since the channel's last value.
        weights: (C, K, J) of the parts, at least 0, of sum 1.
        sizes: (C, K + 3) how large errors are expected to be at each knot, per standard deviation of the parts from
            their mean, and per deviation of the forecast above and below the training mean; at least 0.
        errors: (C, K, L) quantiles, at the `LEVELS`, of (truth - forecast) / expected size.
    """

    knots: Values
    weights: Values
    sizes: Values
    errors: Values

    def shares(self, s: Values) -> Values:
        """Return (..., C, J) the weights of the parts, at scaled times s (..., C) since each channel's last value."""
        shares: Values = np.einsum("...ck,ckj->...cj", hats(self.knots, s), self.weights)
        return shares

    def mix(self, parts: Values, s: Values) -> Values:
        """Return (..., C) the mixture of parts (..., C, J)."""
        mixture: Values = np.einsum("...cj,...cj->...c", parts, self.shares(s))
        return mixture

    def size(self, parts: Values, s: Values) -> Values:
        """Return (..., C) the expected size of the errors of the mixture of parts (..., C, J)."""
        size: Values = np.einsum("...cm,cm->...c", _signs(hats(self.knots, s), parts, self.mix(parts, s)), self.sizes)
        return size

    def error(self, parts: Values, s: Values, level: float) -> Values:
        """Return (..., C) the quantile of the errors of the mixture of parts (..., C, J) at a level."""
        at = np.array([[np.interp(level, LEVELS, row) for row in channel] for channel in self.errors])  # (C, K)
        quantile: Values = np.einsum("...ck,ck->...c", hats(self.knots, s), at)
        return quantile * self.size(parts, s)


def fit_blend(parts: Values, truth: Values, s: Values, series: int, names: Sequence[str] = PARTS) -> Blend:
    """Choose the weights by least squares on forecasts of series that no part was fitted to.

    If a channel has little data, its weights are those of all channels together. At the gap 0 the mean and the seasonal
    naive forecast have no weight, so that the mixture is the last value there. Where a naive forecast alone has the
    smaller error about a knot, it alone is taken there; the last value also where it is not clearly beaten.

    Args:
        parts: (n, C, J) forecasts in standard deviations.
        truth: (n, C), NaN = not measured.
        s: (n, C) scaled time since each channel's last value.
        series: how many series, or groups of them, these are of, which have nothing to do with each other; the fewer,
            the more is left to the last value, and the wider are intervals.
        names: the J parts, those of `PARTS` among them.
    """
    known = ~np.isnan(truth)
    C, J = parts.shape[1:]
    inner = np.quantile(s[known], _KNOTS) if known.any() else np.ones(1)
    knots = _spread(inner)
    K = len(knots)
    free = np.ones((K, J), dtype=bool)
    free[0, [names.index(MEAN), names.index(SEASONAL)]] = False
    grams, counts = [], []
    for c in range(C):
        rows = known[:, c]
        errors = parts[rows, c] - truth[rows, c, None]  # weights of sum 1 mix errors as they mix forecasts
        design = (hats(knots, s[rows, c])[:, :, None] * errors[:, None, :]).reshape(-1, K * J)
        grams.append(design.T @ design)
        counts.append(int(rows.sum()))
    start = np.zeros((K, J))
    start[:, names.index(LAST)] = 1.0
    total = max(sum(counts), 1)
    common = _simplex(sum(grams) / total, start, free, _doubt(total, K, series))
    weights = np.stack(
        [
            _simplex(gram / max(count, 1), common, free, _doubt(count, K, series))
            for gram, count in zip(grams, counts, strict=True)
        ]
    )
    naive = [names.index(name) for name in (LAST, LINE, SEASONAL)]
    clearly = _CLEAR / np.sqrt(max(series, 1))
    for c in range(C):
        rows = known[:, c]
        _yield_to_naive(weights[c], hats(knots, s[rows, c]), parts[rows, c], truth[rows, c], naive, free, clearly)
    blend = Blend(knots, weights, np.zeros((C, K + 3)), np.zeros((C, K, len(LEVELS))))
    return _with_errors(blend, parts, truth, s, series)


def _yield_to_naive(
    weights: Values,
    near: Values,
    parts: Values,
    truth: Values,
    naive: Sequence[int],
    free: npt.NDArray[np.bool_],
    clearly: float,
) -> None:
    """Set the weights (K, J) of one channel to a naive part alone near each knot at which it is better.

    Args:
        weights: they are changed.
        near: (n, K) how near each question is to each knot.
        parts: (n, J).
        truth: (n,).
        naive: positions of the naive parts, the last value first.
        free: (K, J) which may have weight.
        clearly: the share of its error by which the last value must be beaten, and by which others must beat.
    """
    for k in range(len(weights)):
        if near[:, k].sum() < _ENOUGH:
            continue
        mixed = np.einsum("nk,kj,nj->n", near, weights, parts)
        off = float(near[:, k] @ (mixed - truth) ** 2)
        for place, j in enumerate(naive):
            alone = float(near[:, k] @ (parts[:, j] - truth) ** 2)
            bound = off / (1.0 - clearly) if place == 0 and clearly < 1.0 else off * (1.0 - clearly)
            if free[k, j] and alone < bound:
                weights[k], off = np.eye(weights.shape[1])[j], alone


def _signs(near: Values, parts: Values, mixed: Values) -> Values:
    """Return (..., K + 3) the inputs for the size of an error: the gap, the spread of the parts, and the level."""
    apart = parts.std(axis=-1)
    levels = (np.maximum(mixed, 0.0), np.maximum(-mixed, 0.0))
    return np.concatenate([near, np.stack([apart, *levels], axis=-1)], axis=-1)


def _with_errors(blend: Blend, parts: Values, truth: Values, s: Values, series: int) -> Blend:
    """Return the blend with the sizes and quantiles of its errors."""
    known = ~np.isnan(truth)
    C, K = blend.weights.shape[:2]
    mixed = blend.mix(parts, s)
    off = truth - mixed
    near = hats(blend.knots, s)
    whole = max(float(np.abs(off[known]).mean()), _LEAST) if known.any() else 1.0
    sizes = np.zeros((C, K + 3))
    sizes[:, :K] = whole
    for c in range(C):
        rows = known[:, c]
        if rows.sum() >= _ENOUGH:
            sizes[c] = _sizes(_signs(near[rows, c], parts[rows, c], mixed[rows, c]), np.abs(off[rows, c]))
    blend = Blend(blend.knots, blend.weights, sizes, blend.errors)
    ratio = off / blend.size(parts, s)
    pooled = _quantiles(ratio[known], np.ones(int(known.sum())), series)
    errors = np.empty((C, K, len(LEVELS)))
    for c in range(C):
        rows = known[:, c]
        each = _quantiles(ratio[rows, c], np.ones(int(rows.sum())), series) if rows.sum() >= _ENOUGH else pooled
        for k in range(K):
            weight = near[rows, c, k]
            errors[c, k] = _quantiles(ratio[rows, c], weight, series) if weight.sum() >= _ENOUGH else each
    least = _EXACTLY / np.maximum(sizes[:, :K, None], _ROUNDING)
    below, above = np.array(LEVELS) < 0.5, np.array(LEVELS) > 0.5
    errors = np.where(below, np.minimum(errors, -least), np.where(above, np.maximum(errors, least), errors))
    return Blend(blend.knots, blend.weights, sizes, errors)


def _sizes(signs: Values, errors: Values) -> Values:
    """Return (K + 3,) coefficients of the sizes of errors, where no size is below a tenth of the mean."""
    mean = max(float(errors.mean()), _LEAST)
    found = LinearRegression(fit_intercept=False, positive=True).fit(signs, errors).coef_
    floor = np.zeros(signs.shape[1])
    floor[: signs.shape[1] - 3] = 0.1 * mean
    sizes: Values = np.maximum(found, floor)
    return sizes


def _spread(gaps: Values) -> Values:
    """Return 0 and those of increasing gaps that are well separated, so that weights change smoothly between them."""
    knots = [0.0]
    for gap in np.maximum(gaps, 1e-3).tolist():
        if np.log1p(gap) - np.log1p(knots[-1]) > _APART or len(knots) == 1:
            knots.append(gap)
    return np.array(knots)


def _doubt(values: int, knots: int, series: int) -> float:
    """Return the strength of the pull of weights towards the earlier ones.

    With errors of variance v and weights that usually lie u from those from before, the most probable ones make
    n·w'Gw / v + |w - prior|² / u² least; v is the error about all K knots together.

    Args:
        values: n that the weights are chosen by.
        knots: K.
        series: that the values are of.
    """
    return max(_PRIOR, knots / (max(values, 1) * _USUAL**2), 1.0 / max(series, 1))


def _simplex(gram: Values, prior: Values, free: npt.NDArray[np.bool_], doubt: float) -> Values:
    """Return (K, J) weights, at least 0 with sum 1 at each knot, with the smallest error and, in doubt, near `prior`.

        w'Gw + doubt · e · |w - prior|²

    e is the error of the best single part near one knot, not that of all parts: a part with huge errors, such as a
    straight line through noise, should have no weight and no influence on the trust in the others.

    Args:
        gram: (K·J, K·J) G, the mean products of the errors of parts, each near its knot.
        prior: (K, J).
        free: (K, J) which may have weight.
        doubt: at least 0.
    """
    K, J = prior.shape
    scale = max(float(gram.diagonal().reshape(K, J).mean(axis=0).min()), _LEAST)
    sums = np.kron(np.eye(K), np.ones((J, 1)))  # (K·J, K)
    use = free.ravel()
    diagonal = doubt * scale + _ROUNDING * gram.diagonal()  # the latter keeps the matrix positive beside huge errors
    matrix = gram + np.diag(diagonal) + _EXACT * scale * sums @ sums.T
    vector = doubt * scale * prior.ravel() + _EXACT * scale * sums.sum(axis=1)
    factor = np.linalg.cholesky(matrix[np.ix_(use, use)])
    solution = np.zeros(K * J)
    least_squares = LinearRegression(fit_intercept=False, positive=True)
    solution[use] = least_squares.fit(factor.T, np.linalg.solve(factor, vector[use])).coef_
    weights = solution.reshape(K, J)
    shares: Values = weights / weights.sum(axis=1, keepdims=True)
    return shares


def _quantiles(errors: Values, weights: Values, series: int) -> Values:
    """Return (L,) quantiles of weighted errors, slightly widened to allow for one more, unknown series.

    Args:
        errors: (n,).
        weights: (n,) how much each counts.
        series: how many series they are of; errors of one series resemble each other, so that only these count.
    """
    if len(errors) == 0:
        return np.zeros(len(LEVELS))
    order = np.argsort(errors)
    total = np.cumsum(weights[order])
    n = max(min(total[-1], float(series)), 1e-9)
    levels = np.array(LEVELS)
    levels = np.clip(np.where(levels > 0.5, levels * (n + 1) / n, 1 - (1 - levels) * (n + 1) / n), 0.0, 1.0)
    levels[LEVELS.index(0.5)] = 0.5
    quantiles: Values = np.interp(levels, (total - 0.5 * weights[order]) / total[-1], errors[order])
    return quantiles
