"""The equations that a scan of the CfC family computes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

from liquidtime.ops.products import PRODUCTS

KINDS = ("gated", "no_gate", "cf_s", "cf_s_paper")
ACTIVATIONS = ("relu", "silu", "gelu", "tanh", "lecun_tanh")
HEAD_ACTIVATIONS = ("tanh", "lecun_tanh")
MEMORIES = ("none", "hidden", "input")
MAX_LAYERS = 16


class Form(NamedTuple):
    """The equations of a scan; README.md has them.

    Args:
        kind: "gated", "no_gate", "cf_s" or "cf_s_paper".
        heads: 4 (g1 g2 a c) or 3 (g1 g2 a) for the first two kinds, 1 for the others.
        layers: number of layers of the backbone, 0…16.
        activation: activation of the backbone.
        head_activation: activation of g1 and g2, "tanh" or "lecun_tanh".
        state_amplitude: only for "cf_s_paper": whether B is h - A.
        memory: "none", "hidden" or "input".
        forget_bias: forget bias of the memory.
        masked: for each layer, whether its output is multiplied by a dropout mask.
        products: "full" or "bf16": precision of the operands of products (weights, [x ; h] and outputs of layers), see
            `ops.products`.

    """

    kind: str = "gated"
    heads: int = 4
    layers: int = 1
    activation: str = "lecun_tanh"
    head_activation: str = "tanh"
    state_amplitude: bool = False
    memory: str = "none"
    forget_bias: float = 1.0
    masked: tuple[bool, ...] = ()
    products: str = "full"

    @property
    def passes(self) -> int:
        """How often the backbone runs in a step: twice if its arguments are also used with the opposite sign."""
        return 2 if self.kind == "cf_s_paper" else 1

    @property
    def remembers(self) -> bool:
        """Whether there is a memory in addition to the state."""
        return self.memory != "none"

    @property
    def vectors(self) -> int:
        """How many vectors (H,) follow the heads among the weights: A and the rate, and B if it is learned."""
        if self.kind == "cf_s":
            return 2
        if self.kind == "cf_s_paper":
            return 2 if self.state_amplitude else 3
        return 0

    @property
    def tensors(self) -> int:
        """Number of tensors among the weights."""
        return 2 * self.layers + 2 + self.vectors + 2 * self.remembers

    def fault(self) -> str | None:
        """Return why this form is invalid, or None if it is valid."""
        headed = self.kind in ("gated", "no_gate")
        if self.kind not in KINDS or self.heads not in ((3, 4) if headed else (1,)):
            return f"there is no kind {self.kind!r} with {self.heads} heads"
        if not 0 <= self.layers <= MAX_LAYERS:
            return f"a backbone has 0…{MAX_LAYERS} layers, not {self.layers}"
        if self.activation not in ACTIVATIONS or self.head_activation not in HEAD_ACTIVATIONS:
            return f"there are no activations {self.activation!r} and {self.head_activation!r}"
        if self.memory not in MEMORIES or self.products not in PRODUCTS or type(self.forget_bias) is not float:
            return f"there is no memory {self.memory!r}, products {self.products!r}, bias {self.forget_bias!r}"
        if len(self.masked) not in (0, self.layers):
            return f"{len(self.masked)} layers are masked or not, of {self.layers}"
        return None

    def encode(self) -> list[int]:
        """Return the form as whole numbers, as arguments for an operation of PyTorch; `decode` reads them."""
        return [
            KINDS.index(self.kind),
            self.heads,
            self.layers,
            ACTIVATIONS.index(self.activation),
            ACTIVATIONS.index(self.head_activation),
            int(self.state_amplitude),
            MEMORIES.index(self.memory),
            PRODUCTS.index(self.products),
            *(int(masked) for masked in self.masked),
        ]


def decode(code: Sequence[int], forget_bias: float) -> Form:
    """Return the form that `Form.encode` wrote.

    Raises:
        ValueError: `code` was not written by `Form.encode`.

    """
    return _decode(tuple(code), forget_bias)


@functools.cache
def _decode(code: tuple[int, ...], forget_bias: float) -> Form:
    if len(code) < 8 or min(code) < 0:
        raise ValueError(f"`code` must be a result of `Form.encode`; got {list(code)}")
    kind, heads, layers, activation, head_activation, state_amplitude, memory, products, *masked = code
    try:
        form = Form(
            KINDS[kind],
            heads,
            layers,
            ACTIVATIONS[activation],
            ACTIVATIONS[head_activation],
            bool(state_amplitude),
            MEMORIES[memory],
            forget_bias,
            tuple(bool(flag) for flag in masked),
            PRODUCTS[products],
        )
    except IndexError:
        raise ValueError(f"`code` must be a result of `Form.encode`; got {list(code)}") from None
    fault = form.fault()
    if fault is not None:
        raise ValueError(f"`code` is not a valid form: {fault}")
    return form
