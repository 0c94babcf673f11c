"""How large a measured network and its batch are, and how much arithmetic that is."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Shape:
    """The sizes of one measurement.

    Args:
        B: series in the batch.
        T: samples of a series.
        D: inputs.
        H: hidden units, or neurons of an LTC.
        U: backbone units, or hidden units of an ODE-RNN's vector field.
        layers: of the backbone.
        outputs: of an LTC: motor neurons of an AutoNCP wiring; 0 connects all neurons.

    """

    B: int
    T: int
    D: int
    H: int
    U: int = 128
    layers: int = 1
    outputs: int = 0

    def __str__(self) -> str:
        units = f"AutoNCP({self.H}, {self.outputs})" if self.outputs else f"H{self.H} U{self.U}"
        depth = f" ×{self.layers}" if self.layers > 1 else ""
        return f"B{self.B} T{self.T} D{self.D} {units}{depth}"

    def reduced(self) -> Shape:
        """Return a size at which everything runs in milliseconds, to see that it runs."""
        return dataclasses.replace(
            self,
            B=min(self.B, 4),
            T=min(self.T, 6),
            D=min(self.D, 3),
            H=min(self.H, 16),
            U=min(self.U, 16),
            outputs=min(self.outputs, 2),
        )


XOR = Shape(128, 32, 1, 192, 128)
WALKER2D = Shape(256, 64, 17, 64, 256)
PHYSIONET = Shape(128, 200, 82, 256, 64, layers=2)
"""The paper's sizes; PhysioNet with two backbone layers."""


def product_flops(size: int) -> int:
    """Return the operations of a product of two (size, size) matrices: a multiplication and an addition each."""
    return 2 * size**3


def cfc_flops(shape: Shape) -> int:
    """Return the operations of a CfC's matrix products in a training step; see `training_flops`."""
    s = shape
    forward = (s.D + s.H) * s.U + (s.layers - 1) * s.U**2 + s.U * 4 * s.H
    return training_flops(s, forward, s.D * s.U)


def lstm_flops(shape: Shape) -> int:
    """Return the operations of an LSTM's matrix products in a training step; see `training_flops`."""
    return training_flops(shape, 4 * shape.H * (shape.D + shape.H), shape.D * 4 * shape.H)


def gru_flops(shape: Shape) -> int:
    """Return the operations of a GRU's matrix products in a training step; see `training_flops`."""
    return training_flops(shape, 3 * shape.H * (shape.D + shape.H), shape.D * 3 * shape.H)


def training_flops(shape: Shape, forward: int, from_x: int) -> int:
    """Return the operations of the products that forward and backward need, 2·B·T·(3·forward - from_x).

    The backward pass has two products for each one of the forward pass, for the gradient of its weights and of its
    argument; only the gradient of the samples x is asked for by nobody. Products with an initial state of 0 count.

    Args:
        shape: B and T.
        forward: multiplications of one sample's forward pass.
        from_x: how many of them have an element of x as a factor.

    """
    return 2 * shape.B * shape.T * (3 * forward - from_x)
