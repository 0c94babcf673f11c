"""The scan in plain PyTorch: the definition that the kernel is held to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from liquidtime.ops.cfc_scan.form import Form
from liquidtime.ops.products import linear_bf16


def _lecun_tanh(v: Tensor) -> Tensor:
    return 1.7159 * torch.tanh(0.666 * v)


_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "silu": F.silu,
    "gelu": F.gelu,
    "tanh": torch.tanh,
    "lecun_tanh": _lecun_tanh,
}

_LINEAR: dict[str, Callable[..., Tensor]] = {"full": F.linear, "bf16": linear_bf16}


def cfc_scan_ref(
    x: Tensor,
    state: tuple[Tensor, ...],
    dt: Tensor,
    lengths: Tensor | None,
    weights: Sequence[Tensor],
    form: Form,
    masks: Tensor | None = None,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Run the recurrence over a sequence; arguments and result are those of `cfc_scan`."""
    T = x.shape[1]
    inside = None
    if lengths is not None:
        inside = torch.arange(T, device=x.device) < lengths.unsqueeze(1)  # (B, T)
        x = x.masked_fill(~inside.unsqueeze(-1), 0.0)
        dt = dt.masked_fill(~inside, 0.0)
    outputs = []
    for k in range(T):
        mask = None if masks is None else masks[:, :, k]
        after = _step(x[:, k], state, dt[:, k].unsqueeze(-1), weights, form, mask)
        y = after[0]
        if inside is not None:
            here = inside[:, k].unsqueeze(-1)
            y = y.masked_fill(~here, 0.0)
            after = tuple(torch.where(here, new, old) for new, old in zip(after, state, strict=True))
        state = after
        outputs.append(y)
    if not outputs:
        return x.new_zeros(x.shape[0], 0, state[0].shape[1]), state
    return torch.stack(outputs, dim=1), state


def _step(
    x: Tensor, state: tuple[Tensor, ...], dt: Tensor, weights: Sequence[Tensor], form: Form, mask: Tensor | None
) -> tuple[Tensor, ...]:
    h, *rest = state
    if form.memory != "none":
        product = _LINEAR[form.products]
        candidate, add, forget, out = product(torch.cat([x, h], -1), weights[-2], weights[-1]).chunk(4, dim=-1)
        m = torch.sigmoid(forget + form.forget_bias) * rest[0] + torch.sigmoid(add) * torch.tanh(candidate)
        o = torch.sigmoid(out) * torch.tanh(m)
        rest = [m]
        x, h = (x, o) if form.memory == "hidden" else (o, h)
    return (_cell(x, h, dt, weights, form, mask), *rest)


def _cell(x: Tensor, h: Tensor, dt: Tensor, weights: Sequence[Tensor], form: Form, mask: Tensor | None) -> Tensor:
    drops, product = iter(() if mask is None else mask), _LINEAR[form.products]

    def heads(z: Tensor) -> Tensor:
        for layer in range(form.layers):
            z = _ACTIVATIONS[form.activation](product(z, weights[2 * layer], weights[2 * layer + 1]))
            if form.masked and form.masked[layer]:
                z = z * next(drops)
        return product(z, weights[2 * form.layers], weights[2 * form.layers + 1])

    z = torch.cat([x, h], dim=-1)
    vectors = weights[2 * form.layers + 2 :]
    if form.kind == "cf_s":
        u, A = heads(z), vectors[0]
        return A - A * torch.exp(-dt * (vectors[1] + u.abs())) * u
    if form.kind == "cf_s_paper":
        f, negated, A = torch.sigmoid(heads(z)), torch.sigmoid(heads(-z)), vectors[0]
        amplitude = h - A if form.state_amplitude else vectors[2]
        return amplitude * torch.exp(-dt * (vectors[1] + f)) * negated + A
    act = _ACTIVATIONS[form.head_activation]
    g1, g2, a, *c = heads(z).chunk(form.heads, dim=-1)
    s = torch.sigmoid(a * dt + c[0]) if c else torch.sigmoid(-a * dt)
    g1, g2 = act(g1), act(g2)
    return (1 - s) * g1 + s * g2 if form.kind == "gated" else g1 + s * g2
