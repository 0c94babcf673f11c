"""The paper's figures of the theory and the architecture, drawn from the equations or from a network."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from liquidtime.cells import CfCCell, LTCCell
from liquidtime.closed_form import AlgorithmOne
from liquidtime.layers import CfC
from liquidtime.solvers import RK4, Solver
from liquidtime.theory import approximate, exact, printed
from liquidtime.training import isolated_rng

FINE = 64
"""RK4 steps per interval for the exact solution of the equation."""


def draw_neuron(axes: Any) -> None:
    """Draw one neuron and its synapse on three axes: the input, the activation of the synapse, and the state.

    The state follows equation 1, the symmetric equation of the proof, and the lemma's closed form.
    """
    t = np.linspace(0, 10, 401)

    def signal(s: Any) -> Any:
        return 4 * np.sin(1.3 * s) * (s < 6) - 3.0 * (s >= 6)

    neuron: dict[str, Any] = {"A": 1.0, "w_tau": 0.3}
    opened = 1 / (1 + np.exp(-signal(t)))
    axes[0].plot(t, signal(t), color="0.3")
    axes[0].set_ylabel("input I(t)")
    axes[1].plot(t, opened, color="tab:green")
    axes[1].set_ylabel("synapse f(I)")
    axes[2].plot(t, printed(signal, t, -1.0, breaks=[6.0], tolerance=1e-6, **neuron), color="black", label="equation 1")
    axes[2].plot(t, exact(signal, t, -1.0, breaks=[6.0], **neuron), color="tab:blue", label="symmetric equation, exact")
    axes[2].plot(t, approximate(signal, t, -1.0, **neuron), color="tab:orange", label="closed form (lemma)")
    axes[2].set_ylabel("state x(t)")
    axes[2].set_xlabel("time")
    axes[2].legend(fontsize=8)


def two_neurons() -> LTCCell:
    """Return two neurons with five synapses: input to each, each to the other, and the first to itself."""
    with isolated_rng(7):
        cell = LTCCell(1, 2, unfolds=1).double()
    masks = {"sensory": torch.tensor([[1.0, 1.0]]), "recurrent": torch.tensor([[1.0, 1.0], [1.0, 0.0]])}
    with torch.no_grad():
        for name, mask in masks.items():
            synapses = getattr(cell, name)
            synapses.load_state_dict(synapses.state_dict() | {"mask": mask.double()})
        cell.recurrent.E.copy_(torch.tensor([[1.0, -1.0], [-1.0, 0.0]]))
        cell.sensory.E.copy_(torch.tensor([[1.0, 1.0]]))
        cell.sensory.w.fill_(1.0)
        cell.recurrent.w.fill_(1.5)
    return cell.requires_grad_(False)


def paths(cell: LTCCell, solver: Solver, unfolds: int, x: torch.Tensor, dt: torch.Tensor) -> torch.Tensor:
    """Return the potentials (T, H) for inputs x (T, D) that are constant over the intervals dt (T,)."""
    state, rows = torch.zeros(1, cell.hidden_size, dtype=x.dtype), []
    for sample, gap in zip(x, dt, strict=True):
        state = solver.integrate(cell.drive(sample.unsqueeze(0)), state, gap.reshape(1, 1), unfolds)
        rows.append(state[0])
    return torch.stack(rows)


def draw_two_neurons(axes: Any) -> None:
    """Draw two neurons with five synapses on three axes: the input, and each potential by ODE and in closed form."""
    cell = two_neurons()
    dt = torch.full((240,), 0.05, dtype=torch.float64)
    t = dt.cumsum(0)
    x = (torch.sin(1.5 * t) + 0.6 * torch.sin(4.1 * t)).unsqueeze(-1)
    fine, closed = paths(cell, RK4(), FINE, x, dt), paths(cell, AlgorithmOne(repaired=True), 1, x, dt)
    axes[0].plot(t, x[:, 0], color="0.3")
    axes[0].set_ylabel("input")
    for neuron in range(2):
        axis = axes[1 + neuron]
        axis.plot(t, fine[:, neuron], color="black", linewidth=2.2, label=f"ODE, {FINE} RK4 steps per sample")
        axis.plot(t, closed[:, neuron], color="tab:orange", linewidth=1.2, label="closed form (Algorithm 1, repaired)")
        error = float((fine - closed)[:, neuron].square().mean())
        axis.set_title(f"neuron {neuron + 1}: mean squared difference {error:.1e}", loc="left", fontsize=9)
        axis.set_ylabel("potential")
    axes[2].set_xlabel("time")
    axes[1].legend(fontsize=8)


def gate_curves(cell: CfCCell, x: torch.Tensor, h: torch.Tensor, times: torch.Tensor) -> torch.Tensor:
    """Return the gates s (N, H) for one input x (1, D) and state h (1, H) after the times (N,)."""
    with torch.no_grad():
        _, _, s = cell.gates(x.expand(len(times), -1), h.expand(len(times), -1), times.unsqueeze(-1))
    return s


def draw_architecture(axes: Any) -> None:
    """Draw the architecture on two axes: its parts, and the gates of a network over time."""
    left, right = axes
    left.set_axis_off()
    left.set_xlim(0, 11)
    left.set_ylim(0, 10)
    box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.3"}
    parts = {
        "input": (1.2, 5, "x(t), h"),
        "backbone": (3.7, 5, "backbone"),
        "f": (6.2, 8, "f: time gate"),
        "g": (6.2, 5, "g"),
        "h": (6.2, 2, "h"),
        "out": (9.0, 5, "σ(-f t)·g\n+ (1-σ(-f t))·h"),
    }
    for column, line, text in parts.values():
        left.text(column, line, text, ha="center", va="center", bbox=box, fontsize=10)
    arrow = {"arrowstyle": "->", "color": "0.3", "shrinkA": 26, "shrinkB": 30}
    links = (
        ("input", "backbone"),
        ("backbone", "f"),
        ("backbone", "g"),
        ("backbone", "h"),
        ("f", "out"),
        ("g", "out"),
        ("h", "out"),
    )
    for start, end in links:
        left.annotate("", xy=parts[end][:2], xytext=parts[start][:2], arrowprops=arrow)
    with isolated_rng(3):
        layer = CfC(2, 12, backbone_units=32, switch_times=(0.5, 6.0))
        x = torch.randn(1, 2)
    times = torch.linspace(0, 8, 200)
    cell: Any = layer.cells[0]
    right.plot(times, gate_curves(cell, x, torch.zeros(1, 12), times), linewidth=1)
    right.set_xlabel("time since the previous sample")
    right.set_ylabel("gate of each of 12 units")
    right.set_title("gates of a network whose units start as switches", fontsize=9)
