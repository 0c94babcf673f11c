"""The compiler from a trained liquid network to one that needs no solver of differential equations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from liquidtime._checks import check_choice
from liquidtime.closed_form.algorithm_one import AlgorithmOne
from liquidtime.closed_form.liquid_layer import Layer, check_liquid_layer, with_solver
from liquidtime.closed_form.measure import measure
from liquidtime.layers import Recurrent
from liquidtime.solvers import Hold, Midpoint, Solver

METHODS = ("paper", "hold", "midpoint")
SERIES, SAMPLES, SEED, LONGEST = 8, 16, 0, 2.0


def compile_ltc(
    ltc: Layer,
    method: str = "paper",
    *,
    repaired: bool | None = None,
    x: Tensor | None = None,
    dt: Any = None,
    lengths: Tensor | Sequence[int] | None = None,
    h0: Any = None,
) -> Layer:
    """Return a liquid network in closed form: the same parameters, one evaluation per sample instead of a solver.

    With the presynaptic activity and the input held over an interval, the equation of every neuron is linear,
    dx/dt = rate·(x∞ - x), and `method` is one of

        "hold":      x(dt) = x∞ + (x - x∞)·exp(-dt·rate), its exact solution; order 1
        "midpoint":  the same with rate and x∞ at the midpoint of the held solution; order 2, two evaluations
        "paper":     Algorithm 1; if repaired, x(dt) = x∞ + (x - x∞)·exp(-dt·rate)·φ, see `algorithm_one`; order 0

    The result is a new, trainable layer of the same type with the same state_dict keys; `ltc` is not changed. Every
    liquid cell is compiled, in stacked layers, in both directions and inside a mixed memory; cells of other kinds are
    left as they are. The attribute `report` of the result is an `ErrorReport`, measured against RK4 on `x` with the
    current parameters; see `measure`.

    Args:
        ltc: an `lt.LTC` layer, or another `lt.Recurrent` with cells of the type `LTCCell`.
        method: "paper", "hold" or "midpoint".
        repaired: for "paper": whether sums are weighted by conductance (True, also if None) or as printed in the paper.
        x: samples on which to measure the error: (B, T, D), or in the form that the layer accepts. None for 8 series of
            16 samples of a standard normal signal with intervals uniform in 0…2, the same in every call.
        dt: intervals that belong to x, in the form that the layer accepts; None for 1.
        lengths: (B,) number of samples in each series of x.
        h0: initial state for x; None for zeros.

    Raises:
        TypeError: `ltc` is not a layer with liquid cells, or its cells do not use `solver` for their steps.
        ValueError: the method is unknown, `repaired` is set with a method other than "paper", `dt`, `lengths` or `h0`
            are set without `x`, or intervals are so many time constants long that no fine solution can be computed.

    """
    check_choice("method", method, METHODS)
    if repaired is not None and method != "paper":
        raise ValueError(f'`repaired` applies only to method "paper"; got {repaired!r} with {method!r}. Leave it out.')
    check_liquid_layer(ltc)
    signal = _signal(ltc, x, dt, lengths, h0)
    solver, name = _solver(method, repaired is not False)
    compiled = with_solver(ltc, solver, 1)
    report = measure(ltc, compiled, name, *signal)
    object.__setattr__(compiled, "report", report)
    return compiled


def _solver(method: str, repaired: bool) -> tuple[Solver, str]:
    if method == "paper":
        return AlgorithmOne(repaired=repaired), "paper" if repaired else "paper as printed"
    return (Hold(), "hold") if method == "hold" else (Midpoint(), "midpoint")


def _signal(ltc: Recurrent, x: Any, dt: Any, lengths: Any, h0: Any) -> tuple[Tensor, Any, Any, Any]:
    """Return the samples to measure on, in the order x, h0, dt, lengths."""
    if x is not None:
        if not isinstance(x, Tensor):
            kind = type(x).__name__
            raise TypeError(f"`x` must be a tensor, padded with `lengths` where series differ in length; got {kind}")
        return x, h0, dt, lengths
    for name, value in (("dt", dt), ("lengths", lengths), ("h0", h0)):
        if value is not None:
            raise ValueError(
                f"`{name}` belongs to the samples in `x`, but there is no `x`. Pass `x` too, or leave it out."
            )
    D, weights = ltc.input_size, next(ltc.parameters())
    generator = torch.Generator().manual_seed(SEED)
    size = (SERIES, SAMPLES) if ltc.batch_first else (SAMPLES, SERIES)
    x = torch.randn(*size, D, generator=generator, dtype=torch.float64).to(weights)
    dt = LONGEST * torch.rand(*size, generator=generator, dtype=torch.float64).to(weights.device)
    return x, None, dt, None
