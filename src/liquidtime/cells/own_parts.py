"""Custom backbones and heads of a CfC, since the paper leaves the networks f, g and h open."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor, nn

from liquidtime.errors import wrong_shape

MakeBackbone: TypeAlias = Callable[[int], nn.Module]
"""Maps the width of [x ; h] to a module from (B, D + H) to (B, F)."""
MakeHead: TypeAlias = Callable[[int, int], nn.Module]
"""Maps the widths F and H to a module from (B, F) to (B, H)."""


def own_backbone(make: MakeBackbone, width: int, argument: str = "backbone") -> tuple[nn.Module, int]:
    """Return the module that `make` returns for (B, width), and the width F of its output.

    Raises:
        TypeError: `make` is not a function, or does not return a module.
        ValueError: the module does not map (B, width) to (B, F).

    """
    if isinstance(make, nn.Module) or not callable(make):
        raise TypeError(
            f"`{argument}` must be a function that makes a module from the width of [x ; h], so that each layer gets "
            f"its own, such as `lambda width: nn.Linear(width, 64)`; got {type(make).__name__}"
        )
    module = make(width)
    return module, _out_features(argument, module, width)


def own_heads(make: MakeHead, width: int, hidden_size: int, count: int) -> nn.ModuleList:
    """Return one module per head, each from (B, width) to (B, H).

    Raises:
        TypeError: `make` is not a function, or does not return modules.
        ValueError: a module does not map (B, width) to (B, H), or is the module of another head.

    """
    if isinstance(make, nn.Module) or not callable(make):
        raise TypeError(
            "`head` must be a function that makes a module from the width of the backbone's output and H, such as "
            f"`lambda width, H: nn.Linear(width, H)`; got {type(make).__name__}"
        )
    heads = [make(width, hidden_size) for _ in range(count)]
    for head in heads:
        out = _out_features("head", head, width)
        if out != hidden_size:
            raise ValueError(f"`head` must make modules with outputs (B, H) = (B, {hidden_size}); got (B, {out})")
    if len({id(head) for head in heads}) < count:
        raise ValueError(f"`head` must make a new module in each of its {count} calls; got the same one again")
    return nn.ModuleList(heads)


def _out_features(argument: str, module: object, width: int) -> int:
    """Return the width of a module's output for a batch of two rows of 0, without changing the module."""
    if not isinstance(module, nn.Module):
        raise TypeError(f"`{argument}` must make an nn.Module; got {type(module).__name__}")
    parameter = next(module.parameters(), torch.empty(0))
    kept = {name: value.clone() for name, value in module.state_dict().items()}
    modes = {part: part.training for part in module.modules()}
    module.eval()
    with torch.no_grad():
        out = module(torch.zeros(2, width, dtype=parameter.dtype, device=parameter.device))
    for part, training in modes.items():
        part.training = training
    module.load_state_dict(kept)
    if not isinstance(out, Tensor):
        raise TypeError(f"`{argument}` must make a module that returns a tensor; got {type(out).__name__}")
    if out.dim() != 2 or out.shape[0] != 2:
        raise wrong_shape(argument, "(B, F)", [2, "F"], out.shape, f"The module must map (B, {width}) to (B, F).")
    return out.shape[1]
