"""The paper's Algorithm 1, which translates a trained liquid network into closed form."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from liquidtime._checks import check_width
from liquidtime._types import Drive
from liquidtime.cells import LTCCell, MixedMemory
from liquidtime.cells.ltc import LTCDrive
from liquidtime.errors import wrong_shape
from liquidtime.layers import Recurrent
from liquidtime.solvers import Solver


class AlgorithmOne(Solver):
    """Algorithm 1 used as a solver: x0 is the last state of the neuron itself and t the time since then.

    As a step it has order 0. At h = 0 it returns A + (x0 - A)·φ and not x0, so shorter steps do not bring it closer to
    the solution of the equation; see `as_printed` and `as_repaired`.

    Args:
        repaired: whether sums are weighted by conductance (`as_repaired`) or as printed in the paper (`as_printed`).

    """

    name: ClassVar[str] = "paper"
    order: ClassVar[int] = 0

    def __init__(self, *, repaired: bool = True) -> None:
        self.repaired = repaired

    def step(self, drive: Drive, x: Tensor, h: Tensor) -> Tensor:
        """Return x after one step of h (B, 1); `drive` must be that of a liquid cell."""
        if not isinstance(drive, LTCDrive):
            raise TypeError(
                f"`drive` must be the result of LTCCell.drive; got {type(drive).__name__}, without synapses. "
                "Algorithm 1 sums over synapses. For another equation, use a solver such as Hold() or Midpoint()."
            )
        formula = as_repaired if self.repaired else as_printed
        return formula(drive, x, x, h)

    def __repr__(self) -> str:
        return f"AlgorithmOne(repaired={self.repaired})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AlgorithmOne) and self.repaired == other.repaired

    def __hash__(self) -> int:
        return hash((AlgorithmOne, self.repaired))


def algorithm_one(
    cell: LTCCell, x: Tensor, recorded: Tensor, t: Tensor, x0: Tensor, *, repaired: bool = True
) -> Tensor:
    """Return the activity that Algorithm 1 computes from recorded activity, without recursion.

    The x̂(t) of every neuron is computed from the inputs and the recorded activity of its presynaptic neurons at t, the
    time t since the start and the state at the start. `as_printed` and `as_repaired` are the two formulas.

    Args:
        cell: an `LTCCell`; that of a layer is `layer.cells[0]`.
        x: (B, T, D) inputs.
        recorded: (B, T, H) activity of all neurons at the times t.
        t: (B, T) time since the start, at least 0; `dt.cumsum(1)` for a series that starts one interval before
            its first sample.
        x0: (B, H) or (H,) activity at the start.
        repaired: which of the two formulas.

    Returns:
        (B, T, H) the closed-form activity.

    Raises:
        TypeError: the cell is not liquid, its `drive` does not consist of synapses, or an argument is not a tensor.
        ValueError: a shape does not fit, or a time is negative, NaN or infinite.

    """
    _check_cell(cell)
    for name, value in (("x", x), ("recorded", recorded), ("t", t), ("x0", x0)):
        if not isinstance(value, Tensor):
            raise TypeError(f"`{name}` must be a tensor; got {type(value).__name__}. Pass torch.as_tensor({name}).")
    H = cell.hidden_size
    if x.dim() != 3:
        raise ValueError(f"`x` must have shape (B, T, D); got {tuple(x.shape)}.")
    check_width("x", x, cell.input_size, "(B, T, D)")
    B, T = x.shape[0], x.shape[1]
    if recorded.shape != (B, T, H):
        raise wrong_shape("recorded", "(B, T, H)", [B, T, H], recorded.shape, "One activity per sample and neuron.")
    if t.shape != (B, T):
        raise wrong_shape("t", "(B, T)", [B, T], t.shape, "From intervals: dt.cumsum(1).")
    if x0.shape not in ((B, H), (H,)):
        raise wrong_shape("x0", "(B, H)", [B, H], x0.shape, "The state at t = 0.")
    bad = (~((t >= 0) & torch.isfinite(t))).nonzero()
    if len(bad):
        row, step = (int(index) for index in bad[0])
        raise ValueError(
            f"`t` must be finite and at least 0; {len(bad)} of {t.numel()} times are not. The first is "
            f"{float(t[row, step]):g} in series {row} at position {step}."
        )
    start = x0.expand(B, H).unsqueeze(1).expand(B, T, H).reshape(B * T, H)
    formula = as_repaired if repaired else as_printed
    drive = cell.drive(x.reshape(B * T, -1))
    if not isinstance(drive, LTCDrive):
        raise TypeError(
            f"`cell` must have the equation of an LTCCell, but the `drive` of {type(cell).__name__} returns "
            f"{type(drive).__name__}, which has no synapses to sum over."
        )
    return formula(drive, recorded.reshape(B * T, H), start, t.reshape(B * T, 1)).reshape(B, T, H)


def _check_cell(cell: object) -> None:
    if isinstance(cell, LTCCell):
        return
    hint = "Make one with lt.cells.LTCCell(...)."
    if isinstance(cell, Recurrent):
        hint = "Pass one of its cells, such as layer.cells[0]."
    elif isinstance(cell, MixedMemory):
        hint = "Pass the liquid cell inside it, `cell.cell`."
    raise TypeError(f"`cell` must be an LTCCell; got {type(cell).__name__}. {hint}")


def as_printed(drive: LTCDrive, v: Tensor, x0: Tensor, t: Tensor) -> Tensor:
    """Return Algorithm 1 as printed in the paper: a sum over the synapses j into each neuron i.

        x̂_i = Σ_j (x0_i - A_ij)·exp(-t·(1/τ_i + s_ij))·(1 - s_ij) + A_ij,   s_ij = σ(γ_ij·(v_j - μ_ij))

    where A are the reversal potentials and 1/τ = gl/cm. Every synapse adds its own A and its own x0, so the value of a
    neuron with n synapses is as large as n potentials. The weights w and the resting potential do not occur. A neuron
    without synapses is 0, the empty sum.

    Args:
        drive: drive of the cell, with the inputs of each row.
        v: (B, H) presynaptic activity.
        x0: (B, H) the state at the start.
        t: (B, 1) time since the start.

    """
    start, time = x0.unsqueeze(1), t.unsqueeze(-1)  # (B, 1, H), (B, 1, 1)
    total = torch.zeros_like(x0)
    for synapses, source in ((drive.sensory, drive.inputs), (drive.recurrent, v)):
        s = synapses.activity(source)  # (B, n_pre, H)
        decay = torch.exp(-time * (drive.leak / drive.capacitance + s)) * (1 - s)
        total = total + (((start - synapses.E) * decay + synapses.E) * synapses.mask).sum(dim=1)
    return total


def as_repaired(drive: LTCDrive, v: Tensor, x0: Tensor, t: Tensor) -> Tensor:
    """Return Algorithm 1 with sums weighted by conductance: one decay and one target per neuron.

        x̂_i = A_i + (x0_i - A_i)·exp(-t·(1/τ_i + f_i))·φ_i
        f_i = Σ_j w_ij·s_ij / cm_i,   A_i = (gl·vl + Σ_j w_ij·s_ij·E_ij) / (gl + Σ_j w_ij·s_ij)
        φ_i = Σ_j w_ij·(1 - s_ij) / Σ_j w_ij

    The liquid equation is cm·dx/dt = gl·(vl - x) + Σ w·s·(E - x): conductances add up, so its rate is 1/τ + f, and the
    potential to which it tends is A, a weighted mean of resting and reversal potentials. φ is the lemma's factor f(-I),
    which is 1 - s for one synapse, averaged over the synapses. With φ = 1 this is `solvers.Hold`, the exact solution
    while the presynaptic activity is held; with φ < 1, the limit for t → 0 is A + (x0 - A)·φ and not x0. A neuron
    without synapses has φ = 1 and relaxes to rest, as in its equation.

    Args:
        drive: drive of the cell, with the inputs of each row.
        v: (B, H) presynaptic activity.
        x0: (B, H) the state at the start.
        t: (B, 1) time since the start.

    """
    rate, push = drive(v)
    A = push / rate
    opened = rate * drive.capacitance - drive.leak  # Σ w·s
    sensory, recurrent = (part.conductances(drive.positive) for part in (drive.sensory, drive.recurrent))
    total = sensory.sum(dim=0) + recurrent.sum(dim=0)
    connected = total > 0
    phi = torch.where(connected, 1 - opened / torch.where(connected, total, 1.0), 1.0)
    return A + (x0 - A) * torch.exp(-t * rate) * phi
