"""Whether modules do what their classes say, so that something else may compute the same in their place."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.modules import module as module_hooks

_METHODS: dict[type, frozenset[str]] = {}


def note_methods(kind: type) -> frozenset[str]:
    """Return the names of the methods that a class has, and keep them; a tracer can read them but not find them."""
    names = _METHODS[kind] = frozenset(name for name in dir(kind) if callable(getattr(kind, name, None)))
    return names


for _kind in (nn.Module, nn.Linear, nn.Dropout, nn.ModuleList):
    note_methods(_kind)


def _methods(kind: type) -> frozenset[str]:
    names = _METHODS.get(kind)
    if names is not None:
        return names
    return _METHODS[nn.Module] if torch.compiler.is_compiling() else note_methods(kind)


def is_plain(module: nn.Module) -> bool:
    """Return whether a module and all inside do what their classes say: no hooks, and no method of an instance's own.

    A hook must see every step, and a method that was replaced may compute anything, so both need the plain loop.
    """
    if has_global_hooks():
        return False
    if torch.compiler.is_compiling():
        return all(_is_plain(part) for part in module.modules())
    parts = [module]
    for part in parts:  # the list grows; `modules()` takes three times as long
        if not _is_plain(part):
            return False
        parts += [inner for inner in part._modules.values() if inner is not None]
    return True


def _is_plain(part: nn.Module) -> bool:
    if part._forward_hooks or part._forward_pre_hooks or part._backward_hooks or part._backward_pre_hooks:
        return False
    return _methods(type(part)).isdisjoint(part.__dict__)


def has_global_hooks() -> bool:
    """Return whether PyTorch has hooks that are called for every module."""
    return bool(
        module_hooks._global_forward_hooks
        or module_hooks._global_forward_pre_hooks
        or module_hooks._global_backward_hooks
        or module_hooks._global_backward_pre_hooks
    )
