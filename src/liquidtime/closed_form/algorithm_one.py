"""The paper's Algorithm 1, which translates a trained liquid network into closed form."""

from __future__ import annotations

from typing import ClassVar, Protocol, cast

import torch
from torch import Tensor

from liquidtime._checks import check_width
from liquidtime._types import Drive
from liquidtime.errors import wrong_shape
from liquidtime.solvers import Solver


class SynapsesLike(Protocol):
    """What the algorithm asks of the synapses from one set of neurons to another, see `cells.synapses`."""

    mask: Tensor

    @property
    def E(self) -> Tensor:  # noqa: N802
        """(n_pre, n_post) reversal potentials."""

    def activity(self, v: Tensor) -> Tensor:
        """Return s (B, n_pre, n_post) from v (B, n_pre)."""

    def conductances(self) -> Tensor:
        """Return w (n_pre, n_post), 0 where there is no synapse."""


class LiquidDrive(Protocol):
    """What the algorithm asks of a liquid cell's right-hand side: the parts it is made of, see `cells.ltc`."""

    inputs: Tensor
    leak: Tensor
    capacitance: Tensor

    @property
    def sensory(self) -> SynapsesLike:
        """The synapses from the inputs."""

    @property
    def recurrent(self) -> SynapsesLike:
        """The synapses from the neurons."""

    def __call__(self, v: Tensor) -> tuple[Tensor, Tensor]:
        """Return (rate, push), each (B, H)."""


class LiquidCell(Protocol):
    """What the algorithm asks of a liquid cell."""

    input_size: int

    @property
    def hidden_size(self) -> int:
        """H."""

    def drive(self, x: Tensor) -> LiquidDrive:
        """Return the right-hand side with the input x (B, D) held."""


class AlgorithmOne(Solver):
    """Algorithm 1 in the place of a solver: x0 is the neuron's own last state and t the time since then.

    As a step it has order 0. At h = 0 it returns A + (x0 - A)·φ and not x0, so shorter steps do not bring it
    nearer to the equation's solution; see `as_printed` and `as_repaired`.

    Args:
        repaired: conductance-weighted (`as_repaired`), or as the paper prints it (`as_printed`).

    """

    name: ClassVar[str] = "paper"
    order: ClassVar[int] = 0

    def __init__(self, *, repaired: bool = True) -> None:
        self.repaired = repaired

    def step(self, drive: Drive, x: Tensor, h: Tensor) -> Tensor:
        """Return x after one step of h (B, 1); `drive` must be a liquid cell's."""
        if not hasattr(drive, "sensory"):
            raise TypeError(f"`drive` must be what LTCCell.drive returns; got {type(drive).__name__}, without synapses")
        formula = as_repaired if self.repaired else as_printed
        return formula(cast(LiquidDrive, drive), x, x, h)

    def __repr__(self) -> str:
        return f"AlgorithmOne(repaired={self.repaired})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AlgorithmOne) and self.repaired == other.repaired

    def __hash__(self) -> int:
        return hash((AlgorithmOne, self.repaired))


def algorithm_one(
    cell: LiquidCell, x: Tensor, recorded: Tensor, t: Tensor, x0: Tensor, *, repaired: bool = True
) -> Tensor:
    """Return the activity that Algorithm 1 gives from recorded activity; there is no recursion.

    Every neuron's x̂(t) is written from the inputs and the recorded activity of its presynaptic neurons at t, the
    time t since the start and the state at the start. `as_printed` and `as_repaired` are the two formulas.

    Args:
        cell: an `LTCCell`; a layer's is `layer.cells[0]`.
        x: (B, T, D) inputs.
        recorded: (B, T, H) activity of all neurons at the times t.
        t: (B, T) time since the start, at least 0; `dt.cumsum(1)` for a series that starts one interval before
            its first sample.
        x0: (B, H) or (H,) activity at the start.
        repaired: which formula.

    Returns:
        (B, T, H) the closed-form activity.

    Raises:
        ValueError: a shape that does not fit, a time that is negative, NaN or infinite.

    """
    H = cell.hidden_size
    if x.dim() != 3:
        raise ValueError(f"`x` must have shape (B, T, D); got {tuple(x.shape)}.")
    check_width("x", x, cell.input_size, "(B, T, D)")
    B, T = x.shape[0], x.shape[1]
    if recorded.shape != (B, T, H):
        raise wrong_shape("recorded", "(B, T, H)", [B, T, H], recorded.shape, "One activity a sample and neuron.")
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
    return formula(drive, recorded.reshape(B * T, H), start, t.reshape(B * T, 1)).reshape(B, T, H)


def as_printed(drive: LiquidDrive, v: Tensor, x0: Tensor, t: Tensor) -> Tensor:
    """Return Algorithm 1 as the paper prints it: a sum over the synapses j into each neuron i.

        x̂_i = Σ_j (x0_i - A_ij)·exp(-t·(1/τ_i + s_ij))·(1 - s_ij) + A_ij,   s_ij = σ(γ_ij·(v_j - μ_ij))

    with A the reversal potentials and 1/τ = gl/cm. Every synapse adds its own A and its own x0, so a neuron with n
    synapses is of the size of n potentials. The weights w and the resting potential do not occur. A neuron
    without synapses is 0, the empty sum.

    Args:
        drive: the cell's, with the inputs of each row.
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


def as_repaired(drive: LiquidDrive, v: Tensor, x0: Tensor, t: Tensor) -> Tensor:
    """Return Algorithm 1 with its sums weighted by conductance: one decay and one target a neuron.

        x̂_i = A_i + (x0_i - A_i)·exp(-t·(1/τ_i + f_i))·φ_i
        f_i = Σ_j w_ij·s_ij / cm_i,   A_i = (gl·vl + Σ_j w_ij·s_ij·E_ij) / (gl + Σ_j w_ij·s_ij)
        φ_i = Σ_j w_ij·(1 - s_ij) / Σ_j w_ij

    The liquid equation is cm·dx/dt = gl·(vl - x) + Σ w·s·(E - x): conductances add up, so its rate is 1/τ + f and the
    potential that it tends to is A, a weighted mean of rest and reversal potentials. φ is the lemma's factor f(-I),
    1 - s of one synapse, averaged over the synapses. With φ = 1 this is `solvers.Hold`, the exact solution while
    the presynaptic activity is held; with φ < 1, t → 0 gives A + (x0 - A)·φ and not x0. A neuron without synapses
    has φ = 1 and relaxes to rest, as its equation does.

    Args:
        drive: the cell's, with the inputs of each row.
        v: (B, H) presynaptic activity.
        x0: (B, H) the state at the start.
        t: (B, 1) time since the start.

    """
    rate, push = drive(v)
    A = push / rate
    opened = rate * drive.capacitance - drive.leak  # Σ w·s
    total = drive.sensory.conductances().sum(dim=0) + drive.recurrent.conductances().sum(dim=0)
    connected = total > 0
    phi = torch.where(connected, 1 - opened / torch.where(connected, total, 1.0), 1.0)
    return A + (x0 - A) * torch.exp(-t * rate) * phi
