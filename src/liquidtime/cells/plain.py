"""Checks that modules do exactly what their classes define, so that a faster computation may replace them."""

from __future__ import annotations

import operator
from abc import ABC
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.modules import module as module_hooks
from torch.nn.utils import parametrize

_OF_MODULES = ("__call__", "_call_impl", "__getattr__")
_HARMLESS = frozenset(  # they have no effect on results
    {"extra_repr", "__repr__", "__init_subclass__", "save_pretrained", "push_to_hub", "from_pretrained"}
)
_METHOD = (property, classmethod, staticmethod)


class Methods(NamedTuple):
    """The methods of a class at its definition: names that instances must not have, and methods that must stay."""

    callables: frozenset[str]
    names: list[str]
    read: Callable[[type], Any]
    originals: Any

    def are_those_of(self, kind: type) -> bool:
        """Return whether a class, this one or a subclass, has exactly these methods."""
        if torch.compiler.is_compiling():  # the compiler itself replaces methods of all modules
            pairs = zip(self.names, self.originals, strict=True)
            return all(getattr(kind, name) == method for name, method in pairs if name not in _OF_MODULES)
        return bool(self.read(kind) == self.originals)


_METHODS: dict[type, Methods] = {}
_tables: list[dict[str, Any]] = []
_tables_as_defined: list[dict[str, Any]] = []


def note_methods(kind: type, free: Iterable[str] = ()) -> None:
    """Record the methods of a class at its definition.

    Args:
        kind: the class.
        free: names of methods that may be replaced, because no faster computation depends on them.

    """
    harmless = {*_HARMLESS, *free}
    is_module = issubclass(kind, nn.Module)
    if is_module:
        harmless.add("__init__")
    own = {
        name
        for owner in kind.__mro__
        if owner not in (object, ABC, nn.Module)
        for name, value in vars(owner).items()
        if (callable(value) or isinstance(value, _METHOD)) and not isinstance(value, type)
    }
    names = sorted(own - harmless) + (list(_OF_MODULES) if is_module else [])
    read = operator.attrgetter(*names)
    callables = frozenset(name for name in dir(kind) if callable(getattr(kind, name, None)))
    _METHODS[kind] = Methods(callables, names, read, read(kind))


def note_table(table: dict[str, Any]) -> None:
    """Record the contents of a table at its definition."""
    _tables.append(table)
    _tables_as_defined.append(dict(table))


def methods_of(kind: type) -> Methods:
    """Return the recorded methods of a class, or else of its nearest base class with recorded methods."""
    for base in kind.__mro__:
        methods = _METHODS.get(base)
        if methods is not None:
            return methods
    raise TypeError(f"{kind.__name__} is not a module")


def is_as_defined(kind: type, like: type | None = None) -> bool:
    """Return whether a class has the recorded methods of itself, or of `like`, and all tables are unchanged."""
    return tables_hold() and methods_of(like or kind).are_those_of(kind)


def tables() -> list[dict[str, Any]]:
    """Return all recorded tables."""
    return _tables


def tables_hold() -> bool:
    """Return whether all tables are unchanged since they were recorded."""
    return _tables == _tables_as_defined


# A compiler treats the answer as constant; this does what `torch.compiler.assume_constant_result` does, but does not
# load it.
is_as_defined._dynamo_marked_constant = True  # type: ignore[attr-defined]

for _kind in (nn.Module, nn.Linear, nn.Dropout):
    note_methods(_kind, ("reset_parameters",))
note_methods(nn.ModuleList, ("append", "extend", "insert", "pop", "__setitem__", "__delitem__", "__add__", "__iadd__"))


def is_plain(module: nn.Module) -> bool:
    """Return whether a module and all its parts do what their classes define, whether called at every step or once.

    There are no hooks, which would have to run at every step; no replaced methods, of an instance or of a class, which
    could compute anything; and no parametrization in training, which could return a new weight at every step, unless
    `torch.nn.utils.parametrize.cached` evaluates it once.
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
    if part.training and "parametrizations" in part._modules and not parametrize._cache_enabled:
        return False
    kind = type(part)
    return is_as_defined(kind) and _has_no_own_methods(kind, part)


def _has_no_own_methods(kind: type, part: nn.Module) -> bool:
    methods = _METHODS.get(kind)
    if methods is None:
        methods = _METHODS[nn.Module] if torch.compiler.is_compiling() else methods_of(kind)
    return methods.callables.isdisjoint(part.__dict__)


GLOBAL_HOOKS: tuple[dict[int, Any], ...] = (  # that PyTorch calls for every module
    module_hooks._global_forward_hooks,
    module_hooks._global_forward_pre_hooks,
    module_hooks._global_backward_hooks,
    module_hooks._global_backward_pre_hooks,
)


def has_global_hooks() -> bool:
    """Return whether PyTorch has hooks that are called for every module."""
    return any(GLOBAL_HOOKS)
