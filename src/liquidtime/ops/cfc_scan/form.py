"""What a scan of the CfC family computes, apart from its numbers."""

from __future__ import annotations

import dataclasses
import functools

from liquidtime.ops.products import PRODUCTS

KINDS = ("gated", "no_gate", "cf_s", "cf_s_paper")
ACTIVATIONS = ("relu", "silu", "gelu", "tanh", "lecun_tanh")
MEMORIES = ("none", "hidden", "input")
MAX_LAYERS = 16


@dataclasses.dataclass(frozen=True)
class Form:
    """The equations of a scan; README.md has them.

    Args:
        kind: "gated", "no_gate", "cf_s" or "cf_s_paper".
        heads: 4 (g1 g2 a c) or 3 (g1 g2 a) of the first two kinds, 1 of the others.
        layers: of the backbone, 0…16.
        activation: of the backbone.
        head_activation: of g1 and g2, "tanh" or "lecun_tanh".
        state_amplitude: of "cf_s_paper": whether B is h - A.
        memory: "none", "hidden" or "input".
        forget_bias: of the memory.
        masked: for each layer, whether its output is multiplied by a dropout mask.
        products: "full" or "bf16": of weights, and of [x ; h] and what the layers give, see `ops.products`.

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
        """How often the backbone runs in a step: twice where its arguments are also taken negated."""
        return 2 if self.kind == "cf_s_paper" else 1

    @property
    def remembers(self) -> bool:
        """Whether there is a memory beside the state."""
        return self.memory != "none"

    @property
    def vectors(self) -> int:
        """How many vectors (H,) the weights hold behind the heads: A and the rate, and B where it is learned."""
        if self.kind == "cf_s":
            return 2
        if self.kind == "cf_s_paper":
            return 2 if self.state_amplitude else 3
        return 0

    def encode(self) -> list[int]:
        """Return the form as whole numbers, which an operation of PyTorch can be given; `decode` takes them back."""
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


def decode(code: list[int], forget_bias: float) -> Form:
    """Return the form that `Form.encode` wrote."""
    return _decode(tuple(code), forget_bias)


@functools.cache
def _decode(code: tuple[int, ...], forget_bias: float) -> Form:
    kind, heads, layers, activation, head_activation, state_amplitude, memory, products, *masked = code
    return Form(
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
