from __future__ import annotations

from liquidtime._checks import named_arguments
from liquidtime.cells import Cell, LTCCell
from liquidtime.cells.mixed_memory import remembering
from liquidtime.layers.arguments import remembered
from liquidtime.layers.recurrent import Recurrent
from liquidtime.solvers import Solver
from liquidtime.wirings import FullyConnected, Wiring, neurons_of


class LTC(Recurrent):
    """A liquid time-constant network over sequences, used like `nn.LSTM` with time as an additional argument.

        y, h = LTC(D, H)(x, dt=dt)              x (B, T, D), dt (B, T), y (B, T, H)

        cm·dv/dt = gl·(vl - v) + Σ w·s·(E - v),   s = σ(γ·(v_pre - μ))

    solved over each interval dt with a constant input. The outputs are the motor neurons of the wiring. `Recurrent`
    describes how to call it and the few differences from `nn.LSTM`.

    Args:
        input_size: D.
        hidden_size: H, the number of neurons; with a wiring, its number of neurons or None.
        wiring: synapses between neurons; None connects all neurons.
        solver: "semi_implicit", "euler", "rk4", "hold" or "midpoint", or a `Solver`.
        unfolds: number of solver steps per sample.
        mixed_memory: False, True (= "hidden") or "input": add the memory of an LSTM; see `MixedMemory`.
        num_layers: number of layers, each reading the outputs of the one below.
        bidirectional: whether each layer also runs backwards in time.
        batch_first: whether x is (B, T, D) instead of (T, B, D).
        dropout: dropout rate between layers, in training.
        proj_size: width of a linear projection of the output; None for no projection.
        forget_bias: forget bias of the mixed memory.

    """

    @remembered
    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int | None = None,
        wiring: Wiring | None = None,
        solver: str | Solver = "semi_implicit",
        unfolds: int = 6,
        *,
        mixed_memory: bool | str = False,
        num_layers: int = 1,
        bidirectional: bool = False,
        batch_first: bool = True,
        dropout: float = 0.0,
        proj_size: int | None = None,
        forget_bias: float | None = None,
    ) -> None:
        H = neurons_of(hidden_size, wiring)
        graph = FullyConnected(H) if wiring is None else wiring

        def make_cell(width: int) -> Cell:
            return LTCCell(width, H, graph, solver, unfolds)

        super().__init__(
            remembering(make_cell, H, mixed_memory, forget_bias),
            input_size,
            num_layers=num_layers,
            bidirectional=bidirectional,
            batch_first=batch_first,
            dropout=dropout,
            proj_size=proj_size,
        )
