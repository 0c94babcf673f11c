"""Draws scans at random and compares the kernels with the cells' plain loops, values and every gradient."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from liquidtime.cells import Cell, CfCCell, CfCNoGateCell, CfSCell, CfSPaperCell, LTCCell, MixedMemory
from liquidtime.ops import cfc_scan, ltc_scan, using_backend
from liquidtime.ops.cfc_scan import Form
from liquidtime.ops.ltc_scan import Graph

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
CELLS = {"gated": CfCCell, "no_gate": CfCNoGateCell, "cf_s": CfSCell, "cf_s_paper": CfSPaperCell}


class Masks(nn.Module):
    """Stands where a backbone has its dropout, and multiplies by the masks that a scan is given."""

    def __init__(self, form: Form, masks: Tensor) -> None:
        super().__init__()
        self.calls = [
            None if not masked else masks[pass_ * sum(form.masked) + sum(form.masked[:layer]), :, step]
            for step in range(masks.shape[2])
            for pass_ in range(form.passes)
            for layer, masked in enumerate(form.masked)
        ]

    def forward(self, z: Tensor) -> Tensor:
        mask = self.calls.pop(0)
        return z if mask is None else z * mask


class Loop(nn.Module):
    """A cell whose `forward` is the plain loop over it."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, *given: Any) -> Any:
        return Cell.scan(self.cell, *given)


def by_loop(x, state, dt, lengths, weights, form: Form, masks=None):
    """Run the scan as the plain loop over the cell that it stands for, with these very weights."""
    D, H, L = x.shape[2], state[0].shape[1], form.layers
    options: dict[str, Any] = {"backbone_layers": L, "products": form.products}
    if L:
        options |= {"backbone_units": weights[0].shape[0], "backbone_activation": form.activation}
    if form.kind in ("gated", "no_gate"):
        options |= {"gate_bias": form.heads == 4, "head_activation": form.head_activation}
    if form.kind == "cf_s_paper":
        options["amplitude"] = "state" if form.state_amplitude else "free"
    cell = inner = CELLS[form.kind](H if form.memory == "input" else D, H, **options)
    if masks is not None:
        inner.backbone.dropout = Masks(form, masks)
    if form.remembers:
        cell = MixedMemory(inner, form.memory, input_size=D, forget_bias=form.forget_bias)
    names = [f"backbone.layers.{k}.{part}" for k in range(L) for part in ("weight", "bias")]
    names += ["heads.weight", "heads.bias", "A", "w_tau", "B"][: 2 + form.vectors]
    values = dict(zip(names, weights, strict=False))
    if form.kind == "cf_s_paper":  # the rate is softplus(wτ)
        rate = values["w_tau"]
        values["w_tau"] = rate + torch.log(-torch.expm1(-rate))
    if form.remembers:
        values = {f"cell.{name}": value for name, value in values.items()}
        values |= {"lstm.input_map.weight": weights[-2][:, :D], "lstm.input_map.bias": weights[-1]}
        values["lstm.recurrent_map.weight"] = weights[-2][:, D:]
    loop = Loop(cell.to(x.dtype))
    return functional_call(loop, {f"cell.{name}": v for name, v in values.items()}, (x, state, dt, lengths))


def by_kernel(x, state, dt, lengths, weights, form: Form, masks=None, *, traced=False, recompute=False):
    """Run the scan on the kernel; with `traced` as the registered operator."""
    if traced:
        m0, save = state[1] if form.remembers else None, torch.is_grad_enabled()
        arguments = (x, state[0], m0, dt, lengths, list(weights), masks, form.encode(), form.forget_bias, save)
        y, hn, mn, _ = torch.ops.liquidtime.cfc_scan(*arguments, save and dt.requires_grad)
        return y, (hn, mn) if form.remembers else (hn,)
    draw = None if masks is None else lambda: masks
    with using_backend("native"):
        done = cfc_scan(x, state, dt, lengths, weights, form, draw, recompute=recompute)
    assert done is not None
    return done


class Positive(LTCCell):
    """Liquid neurons whose parameters are conductances and capacitances themselves."""

    def positive(self, parameter: Tensor) -> Tensor:
        return parameter


def ltc_by_loop(x, v, dt, lengths, parameters, sensory: Graph, recurrent: Graph, unfolds, solver="semi_implicit"):
    """Run liquid neurons as the plain loop over their cell, with these very parameters."""
    D, H = x.shape[2], v.shape[1]
    leak, current, capacitance = parameters[8:]
    values = {"cell.leak": leak, "cell.rest": current / leak, "cell.capacitance": capacitance}
    for name, graph, sizes, of in (
        ("sensory", sensory, (D, H), parameters[:4]),
        ("recurrent", recurrent, (H, H), parameters[4:8]),
    ):
        where = (graph.pre, graph.post)
        for part, value in zip(("w", "gamma", "mu", "E"), of, strict=True):
            values[f"cell.{name}.{part}"] = x.new_zeros(sizes).index_put(where, value)
        values[f"cell.{name}.mask"] = x.new_zeros(sizes).index_put(where, x.new_ones(len(graph.pre)))
    loop = Loop(Positive(D, H, solver=solver, unfolds=unfolds).to(x.dtype))
    y, (last,) = functional_call(loop, values, (x, (v,), dt, lengths))
    return y, last


def ltc_by_kernel(
    x, v, dt, lengths, parameters, sensory: Graph, recurrent: Graph, unfolds, solver="semi_implicit", *, traced=False
):
    """Run liquid neurons on the kernel; with `traced` as the registered operator."""
    if traced:
        save = torch.is_grad_enabled()
        arguments = (
            x,
            v,
            dt,
            lengths,
            list(parameters),
            [*sensory, *recurrent],
            unfolds,
            save,
            save and dt.requires_grad,
        )
        return torch.ops.liquidtime.ltc_scan(*arguments, solver)[:2]
    with using_backend("native"):
        done = ltc_scan(x, v, dt, lengths, parameters, sensory, recurrent, unfolds, solver)
    assert done is not None
    return done


@dataclasses.dataclass
class Case:
    form: Form
    x: Tensor
    state: tuple[Tensor, ...]
    dt: Tensor
    lengths: Tensor | None
    weights: list[Tensor]
    masks: Tensor | None

    @property
    def leaves(self) -> list[Tensor]:
        return [self.x, *self.state, self.dt, *self.weights]

    def run(self, way: Callable[..., Any], **options: Any) -> tuple[Tensor, tuple[Tensor, ...]]:
        return way(self.x, self.state, self.dt, self.lengths, self.weights, self.form, self.masks, **options)


def draw(
    form: Form,
    B: int = 3,
    T: int = 4,
    D: int = 2,
    H: int = 5,
    U: int = 6,
    dtype: torch.dtype = torch.float64,
    lengths: list[int] | None = None,
    seed: int = 0,
) -> Case:
    g = torch.Generator().manual_seed(seed)

    def normal(*shape: int, scale: float = 1.0) -> Tensor:
        return (torch.randn(*shape, generator=g, dtype=torch.float64) * scale).to(dtype).requires_grad_()

    width = (H if form.memory == "input" else D) + H
    weights = []
    for _ in range(form.layers):
        weights += [normal(U, width, scale=width**-0.5), normal(U, scale=0.1)]
        width = U
    weights += [normal(form.heads * H, width, scale=width**-0.5), normal(form.heads * H, scale=0.1)]
    rate = torch.rand(H, generator=g, dtype=torch.float64).to(dtype).requires_grad_()
    weights += [normal(H), rate, normal(H)][: form.vectors]
    if form.memory != "none":
        weights += [normal(4 * H, D + H, scale=(D + H) ** -0.5), normal(4 * H, scale=0.1)]
    state = tuple(normal(B, H) for _ in range(1 if form.memory == "none" else 2))
    dt = (torch.rand(B, T, generator=g, dtype=torch.float64) * 2).to(dtype).requires_grad_()
    masks = None
    if any(form.masked):
        count = sum(form.masked) * form.passes
        masks = (torch.rand(count, B, T, U, generator=g) < 0.6).to(dtype) / 0.6
    counts = None if lengths is None else torch.tensor(lengths, dtype=torch.int64).reshape(B)
    return Case(form, normal(B, T, D), state, dt, counts, weights, masks)


def weighing(y: Tensor, state: tuple[Tensor, ...]) -> Tensor:
    """(B,) a random weighing of all results of each row."""
    g = torch.Generator().manual_seed(1)
    parts = [(part * torch.randn(part.shape, generator=g, dtype=part.dtype)).flatten(1).sum(1) for part in (y, *state)]
    return torch.stack(parts).sum(0)


def gradients_of(loss: Tensor, leaves: list[Tensor], **options: Any) -> list[Tensor]:
    """The gradients of a number, 0 where a leaf plays no part."""
    grads = torch.autograd.grad(loss, leaves, allow_unused=True, **options)
    return [torch.zeros_like(leaf) if grad is None else grad for leaf, grad in zip(leaves, grads, strict=True)]


def gradients(case: Case, y: Tensor, state: tuple[Tensor, ...]) -> list[Tensor]:
    """The gradients of a random weighing of all results."""
    return gradients_of(weighing(y, state).sum(), case.leaves)


def row_by_row(losses: Tensor, leaves: list[Tensor]) -> list[Tensor]:
    """The sizes of what the rows bring to each gradient, added up."""
    totals = [torch.zeros_like(leaf) for leaf in leaves]
    for loss in losses:
        for total, grad in zip(totals, gradients_of(loss, leaves, retain_graph=True), strict=True):
            total += grad.abs()
    return totals


def assert_same(
    mine: list[Tensor], theirs: list[Tensor], tolerance: float, sizes: Callable[[], list[Tensor]] | None = None
) -> None:
    """Hold results to within `tolerance` of the largest entry of each tensor.

    A gradient that is a sum over rows can cancel to far less than its terms, most of all where it has one entry only.
    No order of adding them keeps more than the terms' own digits, so where `sizes` gives the terms' sizes, the largest
    of those counts then. Gradients that pass a narrow layer are sums over units too: 32 units in the last place of the
    largest of all results are allowed, about the square root of as many terms.
    """
    largest = max((float(b.detach().abs().max()) for b in theirs if b.numel()), default=0.0)
    for index, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        a, b = a.detach(), b.detach()
        assert a.shape == b.shape
        if a.numel():
            error, scale = float((a - b).abs().max()), float(b.abs().max())
            if not error <= tolerance * scale and sizes is not None:
                scale = max(float(sizes()[index].max()), 32 * torch.finfo(b.dtype).eps * largest / tolerance)
            assert error <= tolerance * scale, f"result {index}"


def compare(case: Case, **options: Any) -> None:
    """Hold the kernel to the definition."""
    expected_y, expected_state = case.run(by_loop)
    y, state = case.run(by_kernel, **options)
    tolerance = TOLERANCE[case.x.dtype]
    assert_same([y, *state], [expected_y, *expected_state], tolerance)
    losses = weighing(expected_y, expected_state)
    expected = gradients_of(losses.sum(), case.leaves, retain_graph=True)
    assert_same(gradients(case, y, state), expected, tolerance, lambda: row_by_row(losses, case.leaves))
