"""The interface of a backend of the scan: its runs, their inputs and their outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from liquidtime.ops.cfc_scan.form import Form
from liquidtime.ops.dispatch import Backends
from liquidtime.ops.shapes import check_part, check_parts, check_samples


class Inputs(NamedTuple):
    """Inputs of a scan; `m0` and `masks` are None if the form has none."""

    x: Tensor  # (B, T, D)
    h0: Tensor  # (B, H)
    m0: Tensor | None  # (B, H)
    dt: Tensor  # (B, T)
    lengths: Tensor | None  # (B,)
    weights: Sequence[Tensor]  # in the order of `cfc_scan`
    masks: Tensor | None  # (K, B, T, U)


class Outputs(NamedTuple):
    """Results of a forward run: outputs, last state and memory, and opaque data for its backward run."""

    y: Tensor  # (B, T, H), 0 past the end of a row
    hn: Tensor  # (B, H)
    mn: Tensor | None  # (B, H)
    saved: Tensor | None


class Gradients(NamedTuple):
    """Results of a backward run; None for gradients that were not requested."""

    x: Tensor | None
    h0: Tensor | None
    m0: Tensor | None
    dt: Tensor | None
    weights: list[Tensor]


class Sizes(NamedTuple):
    """Sizes of a scan whose tensors fit the form and each other; U is 0 without a backbone."""

    B: int
    T: int
    D: int
    H: int
    U: int
    dtype: torch.dtype


class Wanted(NamedTuple):
    """Which gradients are needed besides those of the weights; that of dt only if the forward run was told so."""

    x: bool
    state: bool
    dt: bool


class Stepper(ABC):
    """A stack of cells of one form that processes single samples without gradients.

    It keeps a copy of the weights in the order of the backend, and checks with every sample that the weights still have
    the values from which the copy was made.
    """

    @abstractmethod
    def step(
        self, x: Tensor, h: Tensor | None, m: Tensor | None, dt: Tensor | float
    ) -> tuple[Tensor, Tensor, Tensor | None] | None:
        """Process one sample.

        Args:
            x: (B, D) in the type and on the device of the weights, as are h, m and dt if it is a tensor.
            h: (layers, B, H), or None for 0.
            m: the memory in the same form, or None for 0 or if the form has no memory.
            dt: (B,), or one number for all rows.

        Returns:
            (B, H) the output, and the new state and memory; None if the weights have changed, an interval is invalid,
                or something traces or watches the computation.

        """


class FrozenStepper(ABC):
    """A stack of cells of one form that processes single samples with the weights from which it was made.

    It has its own state and memory, initially 0, and an output; these tensors are overwritten with every sample.

    Attributes:
        y: (B, H) the output.
        h: (layers, B, H) the state.
        m: the memory in the same form, or None.

    """

    y: Tensor
    h: Tensor
    m: Tensor | None

    @abstractmethod
    def step(self, x: Tensor, dt: Tensor | float) -> bool:
        """Process one sample x (B, D), of any strides, with dt (), (B,), (B, 1) or a number; False if one does not fit.

        Raises:
            ValueError: an interval that is negative, NaN or infinite.

        """


class Seen(ABC):
    """A run whose inputs a backend has inspected; it is made right before it runs, and runs once."""

    @property
    @abstractmethod
    def sizes(self) -> Sizes:
        """The sizes of the inputs."""

    @abstractmethod
    def forward(self, save: bool, need_ddt: bool) -> Outputs:
        """Run forward, as `Backend.forward` does."""


class Backend(ABC):
    """Runs scans on the devices that it lists. It is registered once: `BACKENDS.register(YourBackend())`.

    A backend refuses forms and types that it does not support, and training if it has no backward run; such a scan runs
    in the plain loop.
    """

    devices: tuple[str, ...]

    @abstractmethod
    def refusal(self, form: Form, inputs: Inputs, training: bool) -> str | None:
        """Return why this scan is refused, or None if not. It is also called while tracing, so it reads no values."""

    def look(self, form: Form, inputs: Inputs) -> Seen | None:
        """Return a forward run if a single inspection shows that the backend supports these inputs.

        It replaces `refusal`, `check_inputs` and the checks of the memory of all tensors. The backward run of the same
        scan inspects the tensors again and refuses any that no longer fit. None is inconclusive.
        """
        return None

    @abstractmethod
    def saved_like(self, form: Form, inputs: Inputs, need_ddt: bool) -> Tensor:
        """Return an uninitialised tensor like the one that a forward run with these inputs saves."""

    @abstractmethod
    def forward(self, form: Form, inputs: Inputs, save: bool, need_ddt: bool, *, zeroed: bool = False) -> Outputs:
        """Run forward. Shapes, types and devices have been checked; numbers, lengths and memory have not.

        Args:
            form: form of the scan.
            inputs: inputs of the scan.
            save: whether a backward run will follow.
            need_ddt: whether it will compute the gradient of dt.
            zeroed: whether the saved data are returned to a caller, and so must not differ from run to run.

        Raises:
            ValueError: an interval that is negative, NaN or infinite, or a length outside 0…T.

        """

    def backward(
        self,
        form: Form,
        inputs: Inputs,
        y: Tensor,
        saved: Tensor,
        incoming: tuple[Tensor | None, Tensor | None, Tensor | None],
        wanted: Wanted,
    ) -> Gradients:
        """Run backward from the gradients of y, the last state and the last memory; None is 0."""
        raise NotImplementedError(f"{type(self).__name__} has no backward run, so it must refuse training")

    def stepper(self, form: Form, weights: Sequence[Sequence[Tensor]], sources: Sequence[Tensor]) -> Stepper | None:
        """Return a stepper for single samples, or None if the backend has nothing faster than a scan of one sample.

        Args:
            form: form of every layer.
            weights: weights of each layer, in the order of `cfc_scan`.
            sources: the tensors from which the weights were made.

        """
        return None

    def frozen(self, form: Form, weights: Sequence[Sequence[Tensor]], rows: int) -> FrozenStepper | None:
        """Return a stepper for single samples of `rows` rows with a copy of these weights, or None if there is none."""
        return None


BACKENDS: Backends[Backend] = Backends()
CHANGED = "a tensor of the scan has changed its shape or type since the forward run"


def check_inputs(form: Form, inputs: Inputs) -> None:
    """Refuse inputs that do not fit the form or each other.

    Raises:
        ValueError: a shape does not fit.
        TypeError: a type or device does not fit.

    """
    x, h0, m0, dt, lengths, weights, masks = inputs
    B, T, D = check_samples(x, dt, lengths)
    if h0.dim() != 2 or h0.shape[1] < 1:
        raise ValueError(f"`h0` must have shape (B, H) with H at least 1; got {tuple(h0.shape)}")
    H = h0.shape[1]
    check_part("h0", h0, (B, H), x)
    if (m0 is None) == form.remembers:
        raise ValueError(f"`m0` must be given if, and only if, there is a memory; the form has {form.memory!r}")
    if m0 is not None:
        check_part("m0", m0, (B, H), x)
    U = check_weights(form, weights, D, H, x)
    count = sum(form.masked) * form.passes
    if (masks is None) != (count == 0):
        raise ValueError(f"`masks` must be given if, and only if, layers are masked; {count} are needed")
    if masks is not None:
        check_part("masks", masks, (count, B, T, U), x)


def sizes_of(form: Form, inputs: Inputs) -> Sizes:
    """Return the sizes of inputs, read from the tensors that determine them."""
    x = inputs.x
    B, T, D = x.shape
    return Sizes(B, T, D, inputs.h0.shape[1], inputs.weights[0].shape[0] if form.layers else 0, x.dtype)


def check_weights(form: Form, weights: Sequence[Tensor], D: int, H: int, like: Tensor) -> int:
    """Return U (0 without a backbone), or refuse weights that do not fit the form, D inputs and H units.

    Raises:
        ValueError: a shape does not fit.
        TypeError: a type or device differs from that of `like`.

    """
    width, U = (H if form.memory == "input" else D) + H, 0
    shapes: list[tuple[int, ...]] = []
    if form.layers:
        U = weights[0].shape[0] if len(weights) and weights[0].dim() == 2 and weights[0].shape[0] else 1
        for _ in range(form.layers):
            shapes += [(U, width), (U,)]
            width = U
    shapes += [(form.heads * H, width), (form.heads * H,)] + [(H,)] * form.vectors
    if form.remembers:
        shapes += [(4 * H, D + H), (4 * H,)]
    check_parts("weights", weights, shapes, like)
    return U
