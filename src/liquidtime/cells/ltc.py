from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from liquidtime._checks import check_choice, check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.cell import Cell
from liquidtime.cells.plain import is_as_defined, is_plain, note_methods
from liquidtime.cells.synapses import Synapses
from liquidtime.ops import ltc_scan
from liquidtime.solvers import SOLVERS, Solver
from liquidtime.wirings import FullyConnected, Wiring, neurons_of

_SOLVERS = {type(solver): name for name, solver in SOLVERS.items()}
for _solver in _SOLVERS:
    note_methods(_solver)

INIT_RANGES = {"leak": (0.001, 1.0), "rest": (-0.2, 0.2), "capacitance": (0.4, 0.6)}


class LTCCell(Cell):
    """The liquid time-constant cell: neurons with leaky membranes and conductance-based synapses.

        cm·dv/dt = gl·(vl - v) + Σ w·s·(E - v),   s = σ(γ·(v_pre - μ)) over the sensory and the recurrent synapses

    The input is held over the interval dt and the equation is solved in `unfolds` steps. cm, gl and w are kept positive
    by softplus. Inputs and outputs each pass through an affine map; the outputs are the motor neurons of the wiring,
    which are the first `output_size` neurons. With dt = 0 the state does not change.

    Args:
        input_size: D.
        hidden_size: H, the number of neurons; None for that of the wiring.
        wiring: which neurons have synapses; None connects all of them.
        solver: "semi_implicit", "euler", "rk4", "hold" or "midpoint", or a `Solver`.
        unfolds: number of solver steps per sample.

    """

    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int | None = None,
        wiring: Wiring | None = None,
        solver: str | Solver = "semi_implicit",
        unfolds: int = 6,
    ) -> None:
        super().__init__()
        D = check_size("input_size", input_size)
        H = neurons_of(hidden_size, wiring)
        wiring = FullyConnected(H) if wiring is None else wiring
        graph = wiring.build(D)
        self.input_size, self.output_size, self.state_sizes = D, graph.output_size, (H,)
        if not isinstance(solver, Solver):
            check_choice("solver", solver, SOLVERS)
            solver = SOLVERS[solver]
        self.solver = solver
        self.unfolds = check_size("unfolds", unfolds)
        self.wiring = wiring
        self.leak = nn.Parameter(torch.empty(H).uniform_(*INIT_RANGES["leak"]))
        self.rest = nn.Parameter(torch.empty(H).uniform_(*INIT_RANGES["rest"]))
        self.capacitance = nn.Parameter(torch.empty(H).uniform_(*INIT_RANGES["capacitance"]))
        self.sensory = Synapses(graph.sensory)
        self.recurrent = Synapses(graph.adjacency)
        self.input_weight = nn.Parameter(torch.ones(D))
        self.input_bias = nn.Parameter(torch.zeros(D))
        self.output_weight = nn.Parameter(torch.ones(self.output_size))
        self.output_bias = nn.Parameter(torch.zeros(self.output_size))

    def positive(self, parameter: Tensor) -> Tensor:
        """Return the conductance or capacitance of a parameter, which is stored unconstrained."""
        return F.softplus(parameter)

    def drive(self, x: Tensor) -> LTCDrive:
        """Return the right-hand side dv/dt = push(v) - rate(v)·v with the input x (B, D) held."""
        return LTCDrive(self, x)

    def read_out(self, v: Tensor) -> Tensor:
        """Return the outputs (B, output_size), an affine map of the motor neurons of v (B, H)."""
        return v[..., : self.output_size] * self.output_weight + self.output_bias

    def forward(self, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: x (B, D), state ((B, H),), dt (B,)."""
        (v,) = state
        v = self.solver.integrate(self.drive(x), v, dt.unsqueeze(-1), self.unfolds).to(v.dtype)
        return self.read_out(v), (v,)

    def scan(self, x: Tensor, state: State, dt: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Run the cell over a sequence, in one operation if there is one; see `Cell.scan`."""
        self.check_stored(x, state, dt, lengths)
        done = self._scan_at_once(x, state, dt, lengths) if self._is_fused() else None
        return super().scan(x, state, dt, lengths) if done is None else done

    def _is_fused(self) -> bool:
        """Return whether the equations of the cell are those of `ltc_scan`."""
        solver, synapses = self.solver, (self.sensory, self.recurrent)
        if type(solver) not in _SOLVERS or solver.__dict__ or not is_as_defined(type(solver)):
            return False
        if not is_as_defined(type(self), LTCCell) or not is_as_defined(LTCDrive) or not is_plain(self):
            return False
        return all(type(part) is Synapses and part.is_listed() for part in synapses)

    def _scan_at_once(self, x: Tensor, state: State, dt: Tensor, lengths: Tensor | None) -> tuple[Tensor, State] | None:
        padding = None
        if lengths is not None:
            padding = (torch.arange(x.shape[1], device=x.device) >= lengths.unsqueeze(1)).unsqueeze(-1)  # (B, T, 1)
            x = x.masked_fill(padding, 0.0)
        leak, capacitance = self.positive(self.leak), self.positive(self.capacitance)
        synapses = [*self.sensory.listed(self.positive), *self.recurrent.listed(self.positive)]
        parameters = [*synapses, leak, leak * self.rest, capacitance]
        inputs = x * self.input_weight + self.input_bias
        graphs = self.sensory.graph(), self.recurrent.graph()
        done = ltc_scan(inputs, state[0], dt, lengths, parameters, *graphs, self.unfolds, _SOLVERS[type(self.solver)])
        if done is None:
            return None
        v, last = done
        y = self.read_out(v)
        return y if padding is None else y.masked_fill(padding, 0.0), (last,)

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"solver={self.solver.name}, unfolds={self.unfolds}"


class LTCDrive:
    """The right-hand side dv/dt = push(v) - rate(v)·v of the neurons of a cell with its input held.

        rate = (gl + Σ w·s) / cm;   push = (gl·vl + Σ w·s·E) / cm

    The terms that do not depend on v are computed once.

    Args:
        cell: the cell with the neurons.
        x: (B, D) the input before the affine map of the cell; `inputs` is the result of the map.

    """

    def __init__(self, cell: LTCCell, x: Tensor) -> None:
        self.positive = cell.positive
        self.inputs = x * cell.input_weight + cell.input_bias
        self.leak, self.capacitance = cell.positive(cell.leak), cell.positive(cell.capacitance)
        self.sensory, self.recurrent = cell.sensory, cell.recurrent
        conductance, current = self.sensory(self.inputs, self.sensory.conductances(cell.positive))
        self._conductance, self._current = conductance + self.leak, current + self.leak * cell.rest
        self._w = self.recurrent.conductances(cell.positive)

    def flows(self, v: Tensor) -> tuple[Tensor, Tensor]:
        """Return the conductance gl + Σ w·s and the current gl·vl + Σ w·s·E at v (B, H), each (B, H)."""
        conductance, current = self.recurrent(v, self._w)
        return self._conductance + conductance, self._current + current

    def __call__(self, v: Tensor) -> tuple[Tensor, Tensor]:
        """Return (rate, push) at v (B, H), each (B, H)."""
        conductance, current = self.flows(v)
        return conductance / self.capacitance, current / self.capacitance


note_methods(LTCDrive)
