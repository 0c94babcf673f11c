"""The read-outs of the members at one scale, for few series at once, by tables as in exported models."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag, silu

from liquidtime.estimators.network import NetworkState, SeriesNetwork
from liquidtime.estimators.network.table import ReadOutTable

_FEW = 8
"""Largest number of series for which tables are faster than a product with all pieces."""
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")


class ReadOuts:
    """The outputs of M networks from the states and inputs of B series, like `SeriesNetwork.read` for all at once.

    Few series are read by tables: of each column the two rows beside its value, where a product would touch every
    piece. The tables are made anew when a weight is replaced or changed in place; changes that PyTorch itself does not
    count, such as through `weight.data`, are not seen.

    Args:
        networks: of one model, reading by one encoder.
    """

    def __init__(self, networks: Sequence[SeriesNetwork]) -> None:
        self._networks = tuple(networks)
        self._tables: _Tables | None = None

    def __call__(
        self, y: Sequence[Tensor], states: Sequence[NetworkState], x: Tensor, history: Tensor, static: Tensor
    ) -> Tensor:
        """Return (M, B, K) the outputs.

        Args:
            y: (B, H) outputs of each member's layer after the step.
            states: of each member after it.
            x: (B, D) inputs of the step.
            history: (B, G) running statistics after it.
            static: (B, F).
        """
        if len(x) <= _FEW and all(map(_is_plain, self._networks)):
            tables = self._tables
            if tables is None or not tables.hold(self._networks):
                tables = self._tables = _Tables(self._networks)
            if tables.joint is not None:
                return tables.read(y, states, torch.cat([x, history, static], dim=-1))
        each = zip(self._networks, y, states, strict=True)
        return torch.stack([network.read(own, state, x, history, static) for network, own, state in each])

    def __getstate__(self) -> dict[str, Any]:
        return {"_networks": self._networks, "_tables": None}


class _Tables:
    """A copy of the weights of the read-outs, stacked."""

    def __init__(self, networks: Sequence[SeriesNetwork]) -> None:
        self._owners = _owners(networks)
        self._made_of = [tensor for owner in self._owners for tensor in owner.values()]
        self._counts = [(tensor._version, tensor.data_ptr()) for tensor in self._made_of]
        first = networks[0]
        H, self._units = first.recurrent.output_size, first.hidden.out_features
        tables = [ReadOutTable.of(one.pieces, one.hidden.weight[:, 3 * H :]) for one in networks]
        self.joint: ReadOutTable | None = ReadOutTable.beside(tables)
        with torch.no_grad():
            self._weight = torch.stack([one.hidden.weight[:, : 3 * H].t() for one in networks])  # (M, 3H, U)
            self._bias = torch.stack([one.hidden.bias.unsqueeze(0) for one in networks])
            self._out_weight = torch.stack([one.read_out.weight.t() for one in networks])  # (M, U, K)
            self._out_bias = torch.stack([one.read_out.bias.unsqueeze(0) for one in networks])

    def hold(self, networks: Sequence[SeriesNetwork]) -> bool:
        """Return whether the weights are still those from which the tables were made."""
        if not all(map(is_, _owners(networks), self._owners)):
            return False
        tensors = [tensor for owner in self._owners for tensor in owner.values()]
        same = len(tensors) == len(self._made_of) and all(map(is_, tensors, self._made_of))
        return same and [(tensor._version, tensor.data_ptr()) for tensor in tensors] == self._counts

    def read(self, y: Sequence[Tensor], states: Sequence[NetworkState], columns: Tensor) -> Tensor:
        """Return (M, B, K) the outputs; `columns` (B, G) are all that the read-outs see besides the states."""
        table = self.joint
        assert table is not None
        each = zip(y, states, strict=True)
        parts = [part for own, (_, pool) in each for part in (own, pool.total, pool.largest)]
        B, M = len(columns), len(y)
        pooled = torch.cat(parts, dim=-1).view(B, M, 3, -1)
        pooled[:, :, 1].div_(states[0].pool.steps.clamp(min=1.0).unsqueeze(-1))  # the sum becomes the mean
        hidden = torch.baddbmm(self._bias, pooled.view(B, M, -1).transpose(0, 1), self._weight)  # (M, B, U)
        if len(table.rows):
            places, shares = table.places(columns)
            found = embedding_bag(places, table.rows, mode="sum", per_sample_weights=shares)  # (B, M·U)
            hidden = hidden + found.view(B, M, self._units).transpose(0, 1)
        return torch.baddbmm(self._out_bias, silu(hidden), self._out_weight)


def _owners(networks: Sequence[SeriesNetwork]) -> list[dict[str, Tensor]]:
    """Return the modules that hold the tensors of the read-outs."""
    owners: list[Any] = []
    for network in networks:
        parts = network.__dict__["_modules"]
        owners += [
            parts["hidden"].__dict__["_parameters"],
            parts["read_out"].__dict__["_parameters"],
            parts["pieces"].__dict__["_buffers"],
        ]
    return owners


def _is_plain(network: SeriesNetwork) -> bool:
    """Return whether a network's read-out is unmodified, in evaluation mode, and in float32 on the CPU."""
    weight = network.hidden.weight
    if network.training or weight.dtype != torch.float32 or weight.device.type != "cpu" or weight.is_inference():
        return False
    modules = network._modules
    parts = [modules[name] for name in ("hidden", "read_out", "pieces", "dropout")]
    if any(getattr(part, name) for part in parts for name in _HOOKS):
        return False
    return type(parts[0]) is nn.Linear and type(parts[1]) is nn.Linear and type(network)._units is SeriesNetwork._units
