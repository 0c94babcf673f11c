"""The networks that are measured, all with the same three methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, cast

import torch
from torch import Tensor, nn

from benchmarks.side_by_side.ode_rnn import ODERNN
from benchmarks.side_by_side.shape import Shape
from benchmarks.side_by_side.transformer import CausalTransformer
from liquidtime.cells import Cell
from liquidtime.layers import LTC, CfC, Recurrent
from liquidtime.networks import NETWORKS, recurrent_layer
from liquidtime.wirings import AutoNCP

CELLS = tuple(name for name, entry in NETWORKS.items() if not entry.reads_series)
"""The networks of the table that take one step after another."""


class Network(nn.Module, ABC):
    """What a measurement needs of a network."""

    @abstractmethod
    def run(self, x: Tensor, dt: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the outputs (B, T, ·) for x (B, T, D), dt (B, T) and lengths (B,)."""

    def begin(self, x: Tensor, dt: Tensor) -> Any:
        """Return a state from which `step` goes on; the samples x (B, T, D) came before it."""
        return self.step(x[:, 0], None, dt[:, 0])

    @abstractmethod
    def step(self, x: Tensor, state: Any, dt: Tensor) -> Any:
        """Take one sample x (B, D), dt (B,) after the one before, and return the new state."""


class Ours(Network):
    """A layer of this package, with every series' own intervals."""

    def __init__(self, layer: Recurrent) -> None:
        super().__init__()
        self.layer = layer

    def run(self, x: Tensor, dt: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the outputs (B, T, ·)."""
        y: Tensor = self.layer(x, dt=dt, lengths=lengths)[0]
        return y

    def step(self, x: Tensor, state: Any, dt: Tensor) -> Any:
        """Take one sample."""
        return self.layer.step(x, state, dt)[1]


class Frozen(Ours):
    """The same with single samples by the layer's frozen stepper; `strided`, with a sample whose numbers lie apart."""

    def __init__(self, layer: Recurrent, strided: bool = False) -> None:
        super().__init__(layer)
        self._strided = strided
        self._apart = torch.empty(0)

    def begin(self, x: Tensor, dt: Tensor) -> Any:
        """Return the stepper, which holds its state."""
        self._apart = x[:, -1].repeat_interleave(2, dim=1)[:, ::2]  # as a column of a table has it
        return self.layer.stepper(x.shape[0])

    def step(self, x: Tensor, state: Any, dt: Tensor) -> Any:
        """Take one sample."""
        return state(self._apart if self._strided else x, dt)


class StepByStep(Ours):
    """The same by the plain loop over the cell's steps, which is what the layer must not be slower than."""

    def run(self, x: Tensor, dt: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the outputs (B, T, ·)."""
        cell = cast(Cell, self.layer.cells[0])
        return Cell.scan(cell, x, cell.initial_state(x), dt, lengths)[0]


class Ncps(Network):
    """A network of `ncps`, all intervals 1, which is the only way that it takes every batch, and its fastest."""

    def __init__(self, rnn: Any) -> None:
        super().__init__()
        self.rnn = rnn

    def run(self, x: Tensor, dt: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the outputs (B, T, ·); intervals and lengths are not looked at."""
        y: Tensor = self.rnn(x)[0]
        return y

    def step(self, x: Tensor, state: Any, dt: Tensor) -> Any:
        """Take one sample, by the cell alone."""
        if state is None:
            state = x.new_zeros(x.shape[0], self.rnn.state_size)
        return self.rnn.rnn_cell(x, state, 1.0)[1]


class Torch(Network):
    """A recurrent network of PyTorch, whole sequences by the layer and single samples by the cell with its weights."""

    def __init__(self, layer: nn.RNNBase, cell: nn.RNNCellBase) -> None:
        super().__init__()
        self.layer, self.cell = layer, cell
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            setattr(cell, name, getattr(layer, f"{name}_l0"))

    def run(self, x: Tensor, dt: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the outputs (B, T, H); intervals and lengths are not looked at."""
        y: Tensor = self.layer(x)[0]
        return y

    def step(self, x: Tensor, state: Any, dt: Tensor) -> Any:
        """Take one sample."""
        return self.cell(x, state)


class Solved(Network):
    """An ODE-RNN."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.rnn = ODERNN(shape.D, shape.H, shape.U)

    def run(self, x: Tensor, dt: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the outputs (B, T, H); lengths are not looked at."""
        y: Tensor = self.rnn(x, dt)
        return y

    def step(self, x: Tensor, state: Any, dt: Tensor) -> Any:
        """Take one sample."""
        return self.rnn.step(x, state, dt)


class Attending(Network):
    """A causal Transformer; a single sample is taken with the keys and values of those before it kept."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.net = CausalTransformer(shape.D, shape.H)

    def run(self, x: Tensor, dt: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the outputs (B, T, H); intervals and lengths are not looked at."""
        y: Tensor = self.net(x)
        return y

    def begin(self, x: Tensor, dt: Tensor) -> Any:
        """Return the keys and values of the samples x (B, T, D)."""
        return self.net.begin(x)

    def step(self, x: Tensor, state: Any, dt: Tensor) -> Any:
        """Take one sample."""
        return self.net.step(x, state)[1]


def our_cfc(shape: Shape, products: str = "full") -> Network:
    """Return a CfC of this package."""
    return Ours(CfC(shape.D, shape.H, backbone_units=shape.U, backbone_layers=shape.layers, products=products))


def our_bf16_cfc(shape: Shape) -> Network:
    """Return the same with bf16 products."""
    return our_cfc(shape, "bf16")


def our_frozen_cfc(shape: Shape, strided: bool = False) -> Network:
    """Return the same, frozen for single samples."""
    return Frozen(CfC(shape.D, shape.H, backbone_units=shape.U, backbone_layers=shape.layers), strided)


def our_ltc(shape: Shape) -> Network:
    """Return an LTC of this package."""
    return Ours(LTC(shape.D, shape.H, AutoNCP(shape.H, shape.outputs) if shape.outputs else None))


def our_cell(name: str, shape: Shape) -> Network:
    """Return a layer of the cell that has this name in the estimators."""
    return Ours(_layer(name, shape))


def our_cell_step_by_step(name: str, shape: Shape) -> Network:
    """Return the same as a plain loop."""
    return StepByStep(_layer(name, shape))


def _layer(name: str, shape: Shape) -> Recurrent:
    """Return a layer; where masks are required they are the second half of the inputs."""
    masks = range((shape.D + 1) // 2, shape.D) if NETWORKS[name].masks == "required" else ()
    return recurrent_layer(name, shape.D, shape.H, shape.U, masks=masks)


def ncps_cfc(shape: Shape) -> Network:
    """Return a CfC of `ncps`."""
    import ncps.torch

    return Ncps(ncps.torch.CfC(shape.D, shape.H, backbone_units=shape.U, backbone_layers=shape.layers))


def ncps_ltc(shape: Shape) -> Network:
    """Return an LTC of `ncps`, on the same wiring as ours."""
    import ncps.torch
    import ncps.wirings

    wiring = ncps.wirings.AutoNCP(shape.H, shape.outputs) if shape.outputs else shape.H
    return Ncps(ncps.torch.LTC(shape.D, wiring))


def torch_lstm(shape: Shape) -> Network:
    """Return PyTorch's LSTM."""
    return Torch(nn.LSTM(shape.D, shape.H, batch_first=True), nn.LSTMCell(shape.D, shape.H))


def torch_gru(shape: Shape) -> Network:
    """Return PyTorch's GRU."""
    return Torch(nn.GRU(shape.D, shape.H, batch_first=True), nn.GRUCell(shape.D, shape.H))


def torch_rnn(shape: Shape) -> Network:
    """Return PyTorch's plain recurrent network."""
    return Torch(nn.RNN(shape.D, shape.H, batch_first=True), nn.RNNCell(shape.D, shape.H))


def signals(shape: Shape, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Return x (B, T, D), standard normal; dt (B, T), uniform in 0…2; and lengths (B,), spread over 1…T, shuffled."""
    source = torch.Generator().manual_seed(seed)
    x = torch.randn(shape.B, shape.T, shape.D, generator=source)
    dt = 2 * torch.rand(shape.B, shape.T, generator=source)
    places = (torch.randperm(shape.B, generator=source) + 0.5) / shape.B
    return x, dt, (places * shape.T).ceil().to(torch.int64)
