"""Draws scans of the CfC family at random and compares two ways of running them, values and every gradient."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from liquidtime.ops.cfc_scan import Form, cfc_scan_native, cfc_scan_ref

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}


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
    of those counts then.
    """
    for index, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        a, b = a.detach(), b.detach()
        assert a.shape == b.shape
        if a.numel():
            error, scale = float((a - b).abs().max()), float(b.abs().max())
            if not error <= tolerance * scale and sizes is not None:
                scale = float(sizes()[index].max())
            assert error <= tolerance * scale, f"result {index}"


def compare(case: Case, **options: Any) -> None:
    """Hold the kernel to the definition."""
    expected_y, expected_state = case.run(cfc_scan_ref)
    y, state = case.run(cfc_scan_native, **options)
    tolerance = TOLERANCE[case.x.dtype]
    assert_same([y, *state], [expected_y, *expected_state], tolerance)
    losses = weighing(expected_y, expected_state)
    expected = gradients_of(losses.sum(), case.leaves, retain_graph=True)
    assert_same(gradients(case, y, state), expected, tolerance, lambda: row_by_row(losses, case.leaves))
