"""Compiles a trained liquid network into one that needs no solver of differential equations."""

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

    With the presynaptic activity and the input held over an interval, every neuron's equation is linear,
    dx/dt = rate·(x∞ - x), and

        "hold":      x(dt) = x∞ + (x - x∞)·exp(-dt·rate), its exact solution; order 1
        "midpoint":  the same with rate and x∞ taken half way along the held solution; order 2, two evaluations
        "paper":     Algorithm 1; repaired, x(dt) = x∞ + (x - x∞)·exp(-dt·rate)·φ, see `algorithm_one`; order 0

    The result is a new layer of the same type, trainable, with the same state_dict keys; `ltc` is not changed.
    Every liquid cell is compiled: of stacked layers, of both directions, inside a mixed memory. Cells of another kind
    beside them stay as they are.
    Its `report` is an `ErrorReport`, measured against RK4 on `x` with the parameters as they are now, see `measure`.

    Args:
        ltc: an `lt.LTC` layer, or another `lt.Recurrent` with cells of the kind `LTCCell`.
        method: "paper", "hold" or "midpoint".
        repaired: of "paper": conductance-weighted (True, also if None), or as the paper prints it.
        x: (B, T, D), or as the layer takes it: samples to measure the error on. None takes 8 series of 16 samples
            of a standard normal signal with intervals uniform in 0…2, the same at every call.
        dt: with x, as the layer takes it: the intervals; None is 1.
        lengths: with x, (B,) samples in each series.
        h0: with x, the state to start from; None is 0.

    Raises:
        TypeError: something that is not a layer with liquid cells, or cells that do not take their steps with `solver`.
        ValueError: an unknown method, `repaired` with another one than "paper", `dt`, `lengths` or `h0` without
            `x`, intervals so long, in time constants, that no fine solution can be computed.

    """
    check_choice("method", method, METHODS)
    if repaired is not None and method != "paper":
        raise ValueError(f'`repaired` is for method "paper"; got {repaired!r} with method {method!r}. Leave it out.')
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
    """Return what to measure on, in the order x, h0, dt, lengths."""
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
