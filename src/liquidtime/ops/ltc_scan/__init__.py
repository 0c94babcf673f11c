"""The whole-sequence steps of liquid time-constant neurons. README.md says what it equals."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from liquidtime.ops.fitness import Way, way_for
from liquidtime.ops.ltc_scan.native import ltc_scan_native
from liquidtime.ops.ltc_scan.reference import SOLVERS, Graph, graph_of, ltc_scan_ref

__all__ = ["SOLVERS", "Graph", "graph_of", "ltc_scan", "ltc_scan_native", "ltc_scan_ref"]


def ltc_scan(
    x: Tensor,
    v: Tensor,
    dt: Tensor,
    lengths: Tensor | None,
    parameters: Sequence[Tensor],
    sensory: Graph,
    recurrent: Graph,
    unfolds: int,
    solver: str = SOLVERS[0],
) -> tuple[Tensor, Tensor]:
    """Run neurons over a sequence in `unfolds` steps of a solver a sample, on the kernel where it fits.

    Args:
        x: (B, T, D) what the sensors see.
        v: (B, H) potentials.
        dt: (B, T) time since the previous sample, at least 0.
        lengths: (B,) number of samples of each row, or None; what lies behind changes nothing.
        parameters: w, γ, μ, E of the sensory synapses, each (n,), and of the recurrent ones; then gl, gl·vl and cm,
            each (H,). w, gl and cm are positive.
        sensory: the synapses of the sensors.
        recurrent: the synapses between neurons.
        unfolds: steps a sample.
        solver: one of `SOLVERS`: "semi_implicit", "euler", "rk4", "hold" or "midpoint".

    Returns:
        (B, T, H) the potentials after each sample, 0 behind a row's samples; and (B, H) the last ones.

    """
    way = way_for(x, v, dt, *parameters)
    if way is Way.REFERENCE:
        return ltc_scan_ref(x, v, dt, lengths, parameters, sensory, recurrent, unfolds, solver)
    traced = way is Way.TRACED
    return ltc_scan_native(x, v, dt, lengths, parameters, sensory, recurrent, unfolds, solver, traced=traced)
