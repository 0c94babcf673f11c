from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from liquidtime import cells
from liquidtime._checks import check_choice
from liquidtime._types import State
from liquidtime.compat.ncps.graphs import graph_of
from liquidtime.compat.ncps.names import ltc_cell
from liquidtime.compat.ncps.torch.wrapped_cell import GraphCell
from liquidtime.wirings import Adjacency

MAPPINGS = ("affine", "linear", None)


class MembraneCell(cells.LTCCell):
    """`LTCCell` with the additions of `ncps`: parameters that may be positive by themselves, optional maps, and ε.

        v' = (cm·v + h·current) / (cm + h·(conductance + ε)),   h = dt / unfolds

    It is the semi-implicit step without cm in the denominators, so that a cm that was clipped to 0 is valid.

    Args:
        graph: the neurons and synapses.
        unfolds: number of steps per sample.
        epsilon: ε.
        softplus: whether conductances and capacitances are the softplus of their parameters, or the parameters
            themselves.
        unused: names of the parameters of the input and output maps that remain 1 or 0.

    """

    def __init__(self, graph: Adjacency, unfolds: int, epsilon: float, softplus: bool, unused: list[str]) -> None:
        super().__init__(graph.sensory.shape[0], None, graph, unfolds=unfolds)
        self.epsilon, self.softplus = epsilon, softplus
        for name in unused:
            value = getattr(self, name).detach()
            delattr(self, name)
            self.register_buffer(name, value, persistent=False)

    def positive(self, parameter: Tensor) -> Tensor:
        """Return the conductance or capacitance of a parameter."""
        return super().positive(parameter) if self.softplus else parameter

    def forward(self, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: x (B, D), state ((B, H),), dt (B,)."""
        (v,) = state
        drive, h = self.drive(x), dt.unsqueeze(-1) / self.unfolds
        for _ in range(self.unfolds):
            conductance, current = drive.flows(v)
            v = (drive.capacitance * v + h * current) / (drive.capacitance + h * (conductance + self.epsilon))
        return self.read_out(v), (v,)


class LTCCell(GraphCell):
    """One time step of an LTC, with the interface of `ncps.torch.LTCCell`.

    Args:
        wiring: a wiring of `liquidtime.compat.ncps.wirings`, of `ncps`, or of `liquidtime.wirings`.
        in_features: D; None for the number of inputs for which the wiring was built.
        input_mapping: "affine", "linear" or None.
        output_mapping: "affine", "linear" or None.
        ode_unfolds: number of solver steps per sample.
        epsilon: number that is added to the denominator of every step.
        implicit_param_constraints: whether conductances and capacitances are kept positive by softplus. If not,
            call `apply_weight_constraints` after every step of the optimiser.

    """

    def __init__(
        self,
        wiring: Any,
        in_features: int | None = None,
        input_mapping: str | None = "affine",
        output_mapping: str | None = "affine",
        ode_unfolds: int = 6,
        epsilon: float = 1e-8,
        implicit_param_constraints: bool = False,
    ) -> None:
        unused = _unused("input", input_mapping) + _unused("output", output_mapping)
        graph = graph_of(wiring, in_features)
        super().__init__(
            MembraneCell(graph, ode_unfolds, epsilon, implicit_param_constraints, unused), ltc_cell, wiring, graph
        )

    def forward(self, inputs: Tensor, states: Tensor, elapsed_time: Tensor | float = 1.0) -> tuple[Tensor, Tensor]:
        """Take one step.

        Args:
            inputs: (B, D) the sample.
            states: (B, H) the neurons' potentials.
            elapsed_time: (B,) or (B, 1) time since the previous sample, or a number.

        Returns:
            (B, motor_size) the output, and (B, H) the new potentials.

        """
        return self.step("elapsed_time", inputs, states, elapsed_time)

    @torch.no_grad()
    def apply_weight_constraints(self) -> None:
        """Set negative conductances and capacitances to 0, unless softplus keeps them positive."""
        cell = self.cell
        assert isinstance(cell, MembraneCell)
        if not cell.softplus:
            for parameter in (cell.recurrent.w, cell.sensory.w, cell.capacitance, cell.leak):
                parameter.relu_()


def _unused(side: str, mapping: str | None) -> list[str]:
    check_choice(f"{side}_mapping", mapping, MAPPINGS)
    return {"affine": [], "linear": [f"{side}_bias"], None: [f"{side}_weight", f"{side}_bias"]}[mapping]
