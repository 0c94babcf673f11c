"""Properties of every model of the package, measured on the model itself: the table in the docs on models."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from liquidtime.cells import MixedMemory
from liquidtime.networks.entry import Entry
from liquidtime.networks.table import NETWORKS
from liquidtime.ops import using_backend

D, H, U, T = 64, 64, 128, 64
BEGIN, END = "<!-- made by `liquidtime paper models` -->", "<!-- end -->"


@dataclass(frozen=True)
class Facts:
    """One row of the table.

    Attributes:
        name: the name, for `network=`.
        kind: the class.
        uses_dt: whether time has an effect inside; if not, it may still be an input.
        reads_masks: whether it distinguishes observed values from missing ones by itself.
        causal: whether an output depends only on the samples up to it.
        products: multiply-adds in its matrix products, per sample.
        pointwise: numbers computed by pointwise operations, per sample.
        weights: number of learned weights.

    """

    name: str
    kind: str
    uses_dt: bool
    reads_masks: bool
    causal: bool
    products: float
    pointwise: float
    weights: int


@functools.cache
def facts() -> tuple[Facts, ...]:
    """Return the facts about every network of the table, in its order."""
    rows = []
    for name, entry in NETWORKS.items():
        with torch.random.fork_rng():
            torch.manual_seed(0)
            rows.append(_of_model(name, entry) if entry.reads_series else _of_cell(name, entry))
    return tuple(rows)


def markdown() -> str:
    """Return the facts as a table."""
    text = [
        "| network | class | dt inside | masks | causal | products | pointwise | weights |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one in facts():
        yes = ["yes" if value else "–" for value in (one.uses_dt, one.reads_masks, one.causal)]
        counts = [_short(one.products), _short(one.pointwise), f"{one.weights:,}"]
        text.append("| " + " | ".join([f"`{one.name}`", f"`{one.kind}`", *yes, *counts]) + " |")
    return "\n".join(text) + "\n"


def renewed(page: str) -> str:
    """Return a page with the table between its two markers regenerated.

    Raises:
        ValueError: the page does not have each of the markers once, in order.

    """
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise ValueError(f"`page` must have one line {BEGIN} and, after it, one line {END}, which enclose the table.")
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{markdown()}{END}{rest.split(END)[1]}"


def _of_cell(name: str, entry: Entry) -> Facts:
    cell = entry.cell(D, H, U, masks=range(D // 2, D)).double()
    x, dt = torch.ones(1, T, D, dtype=torch.float64), torch.ones(1, T, dtype=torch.float64)
    inner = cell.cell if isinstance(cell, MixedMemory) else cell
    kind = type(cell).__name__ + (f" of {type(inner).__name__}" if inner is not cell else "")
    products, pointwise = _counted(lambda: cell.scan(x, cell.initial_state(x), dt))
    reads_masks = entry.masks != "none"
    return Facts(name, kind, inner.uses_dt, reads_masks, entry.causal, products, pointwise, _weights(cell))


def _of_model(name: str, entry: Entry) -> Facts:
    model = entry.model(D, H, mask=True).double().eval()
    x, dt = torch.ones(1, T, D, dtype=torch.float64), torch.ones(1, T, dtype=torch.float64)
    products, pointwise = _counted(lambda: model(x, dt=dt))
    reads_masks = entry.masks != "none"
    return Facts(
        name, type(model).__name__, model.uses_dt, reads_masks, entry.causal, products, pointwise, _weights(model)
    )


def _weights(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def _counted(run: Any) -> tuple[float, float]:
    """Return the multiply-adds of products and the results of pointwise operations, per sample.

    The model runs in plain torch operations, which are counted; in double precision, an LSTM runs in no others.
    """
    with using_backend("reference"), sdpa_kernel(SDPBackend.MATH), torch.no_grad():
        flops = FlopCounterMode(display=False)
        with flops:
            run()
        pointwise = _Pointwise()
        with pointwise:
            run()
    return flops.get_total_flops() / 2 / T, pointwise.count / T


class _Pointwise(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the results of pointwise operations."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if torch.Tag.pointwise in func.tags and isinstance(result, Tensor):
            self.count += result.numel()
        return result


def _short(count: float) -> str:
    """Return a count rounded to two significant digits."""
    if count < 1000:
        return f"{float(f'{count:.2g}'):.0f}"
    return f"{float(f'{count / 1000:.2g}'):g}k" if count < 999_500 else f"{float(f'{count / 1e6:.2g}'):g}M"
