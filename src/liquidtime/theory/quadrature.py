"""The integral of a function from 0 to each of many times."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import Legendre

from liquidtime.theory.activity import Array

_FIRST_PIECES = 64
_MOST_PIECES = 1 << 17
_SMALLEST = 1e-13


def _lobatto(n: int) -> tuple[Array, Array]:
    """Return the nodes and weights of n-point Gauss-Lobatto quadrature on [-1, 1]."""
    P = Legendre.basis(n - 1)
    nodes = np.concatenate([[-1.0], np.sort(P.deriv().roots().real), [1.0]])
    return nodes, 2.0 / (n * (n - 1) * P(nodes) ** 2)


_NODES, _WEIGHTS = _lobatto(10)


def cumulative(g: Callable[[Array], Array], ends: Array, breaks: Array, tolerance: float) -> Array:
    """Return the integral of g over 0…t for every t in `ends`, by adaptive Gauss-Lobatto quadrature.

    [0, T], where T is the last end, is cut at the ends, at the breaks and into 64 equal pieces. A piece is halved until
    the results with ten nodes on it and with ten nodes on each half agree to `tolerance` times its length, or until it
    is 1e-13 T long: a jump not among the breaks costs about forty halvings and an error of that length. The outer nodes
    lie close to the ends, so that a jump near an end is noticed, but just inside, so that a jump at an end is not.

    Args:
        g: maps times (N,) to values (N,), each in [0, 1].
        ends: (N,) increasing times, at least 0.
        breaks: (M,) times at which g jumps or has a kink.
        tolerance: largest error of the mean of g over any piece.

    Returns:
        (N,) integrals, accurate to `tolerance` times t.

    """
    if ends.size == 0 or ends[-1] == 0:
        return np.zeros_like(ends)
    T = ends[-1]
    inner = breaks[(breaks > 0) & (breaks < T)]
    edges = np.unique(np.concatenate([[0.0], ends, inner, np.linspace(0.0, T, _FIRST_PIECES + 1)]))
    lower, upper = edges[:-1], edges[1:]
    piece = np.arange(lower.size)
    totals = np.zeros(lower.size)
    inset = 0.1 * tolerance
    whole = _gauss(g, lower, upper, inset)
    while lower.size:
        middle = 0.5 * (lower + upper)
        left, right = _gauss(g, lower, middle, inset), _gauss(g, middle, upper, inset)
        length = upper - lower
        done = (np.abs(left + right - whole) <= tolerance * length) | (length <= _SMALLEST * T)
        np.add.at(totals, piece[done], (left + right)[done])
        rest = ~done
        if 2 * int(rest.sum()) > _MOST_PIECES:
            at = float(lower[rest][0])
            raise ValueError(
                f"`signal` varies too fast to be integrated to `tolerance` = {tolerance:g}; more than "
                f"{_MOST_PIECES} pieces of [0, {T:g}] are needed, the first at t = {at:g}. "
                "Pass a larger `tolerance`, the jumps of the signal as `breaks`, or a PiecewiseConstant."
            )
        lower, upper = (
            np.concatenate([lower[rest], middle[rest]]),
            np.concatenate([middle[rest], upper[rest]]),
        )
        whole = np.concatenate([left[rest], right[rest]])
        piece = np.tile(piece[rest], 2)
    sums = np.concatenate([[0.0], np.cumsum(totals)])
    return sums[np.searchsorted(edges, ends)]


def _gauss(g: Callable[[Array], Array], lower: Array, upper: Array, inset: float) -> Array:
    half = 0.5 * (upper - lower)
    nodes = 0.5 * (lower + upper)[:, None] + half[:, None] * _NODES  # (N, 10)
    nodes[:, 0] = np.maximum(lower + inset * half, np.nextafter(lower, upper))
    nodes[:, -1] = np.minimum(upper - inset * half, np.nextafter(upper, lower))
    values = g(nodes.ravel()).reshape(nodes.shape)
    total: Array = half * (values @ _WEIGHTS)
    return total
