"""Fast paths for the calls of a layer that need little checking: one cell over whole sequences, and single samples."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from operator import is_
from typing import Any

import torch
from torch import Tensor, nn

from liquidtime._types import HiddenState
from liquidtime.cells import HeadedCell, MixedMemory
from liquidtime.cells.backbone import Backbone
from liquidtime.cells.fused import Fused
from liquidtime.cells.linear import LINEAR
from liquidtime.cells.lstm import LSTMCell
from liquidtime.cells.plain import (
    GLOBAL_HOOKS,
    has_global_hooks,
    is_as_defined,
    is_plain,
    methods_of,
    tables,
    tables_hold,
)
from liquidtime.ops import cfc_stepper
from liquidtime.ops.cfc_scan import Stepper
from liquidtime.ops.dispatch import runs_unwatched
from liquidtime.ops.native.objects import Watch
from liquidtime.ops.storage import check_module_stored, check_stored

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_OWNERS = ("_parameters", "_buffers", "_modules")
_KNOWN = (Backbone, LSTMCell, nn.Dropout, nn.ModuleList, *LINEAR.values())


class Snapshot:
    """Everything that decides what modules compute, except their tensors' numbers: settings, parts, hooks, methods.

    For hooks and replaced methods it only records whether there are any, not which.
    """

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        self._modules, self._kinds = list(modules), [*map(type, modules)]
        self._settings = [dict(module.__dict__) for module in modules]
        owners: list[dict[str, Any]] = [s[name] for s in self._settings for name in _OWNERS]
        self._places = [(owner, name) for owner in owners for name in owner]
        self._parts = [owner[name] for owner, name in self._places]
        self._growing = [settings["_modules"] for settings in self._settings]
        self._sizes = [*map(len, self._growing)]  # a new parameter changes nothing, but a new module in a list does
        self._hooks = [s[name] for s in self._settings for name in _HOOKS]
        self._hooked = any(self._hooks)
        methods = {kind: methods_of(kind) for kind in self._kinds}
        self._originals = [own.originals for own in methods.values()]
        self._reads = [(own.read, kind) for kind, own in methods.items()]
        self._as_defined = self._are_as_defined()
        watched = [part for s in self._settings for name in (*_OWNERS, *_HOOKS) if (part := s[name]) is not None]
        self._watched = [*watched, *tables(), *GLOBAL_HOOKS]
        self._watch = self._start_watch()

    def _start_watch(self) -> Watch | None:
        return None if has_global_hooks() else Watch.on(self._modules, self._watched)

    def _are_as_defined(self) -> bool:
        return [read(kind) for read, kind in self._reads] == self._originals and tables_hold()

    def holds(self) -> bool:
        """Return whether nothing in it has changed."""
        if self._watch is not None and self._watch.holds():
            return True
        if not self._is_equal():
            return False
        self._watch = self._start_watch()  # the present differences do not matter
        return True

    def _is_equal(self) -> bool:
        try:
            return (
                [*map(len, self._growing)] == self._sizes
                and all(map(is_, [owner[name] for owner, name in self._places], self._parts))
                and [*map(type, self._modules)] == self._kinds
                and [module.__dict__ for module in self._modules] == self._settings
                and any(self._hooks) is self._hooked
                and self._are_as_defined() is self._as_defined
                and not has_global_hooks()
            )
        except Exception:  # a part was removed, or a setting cannot be compared
            return False


class _Plan:
    """The cells of a layer in the form that kernels take, valid as long as a snapshot holds; it never changes."""

    def __init__(self, layer: Any) -> None:
        cells = layer.cells
        modules = list(cells.modules())
        check_module_stored(layer)  # before weights are computed from them
        self.layer, self.snapshot = layer, Snapshot([layer, layer.dropout, *modules])
        self.tensors = [*cells.parameters(), *cells.buffers()]
        self.scans = scans_of(layer)
        self.own_scan: Fused | None = None  # for a single cell whose weights are its parameters themselves
        if self.scans:
            first = self.scans[0]
            known = {id(tensor) for tensor in self.tensors}
            if len(self.scans) == 1 and all(id(w) in known for w in first.weights):
                self.own_scan = first
            self.dtype, self.remembers, self.H = first.weights[0].dtype, first.form.remembers, cells[0].hidden_size


def scans_of(layer: Any) -> list[Fused]:
    """Return the cells of a layer as scans of one form, or an empty list if that is not possible."""
    cells, dropout, modules = layer.cells, layer.dropout, layer.cells.modules()
    if type(cells) is not nn.ModuleList or len(cells) != layer.num_layers or type(dropout) is not nn.Dropout:
        return []
    if not is_as_defined(type(layer)):
        return []
    if layer.bidirectional or layer.projection is not None or (len(cells) > 1 and dropout.training and dropout.p):
        return []
    if not is_plain(dropout) or not all(isinstance(m, HeadedCell | MixedMemory) or type(m) in _KNOWN for m in modules):
        return []
    scans: list[Fused] = []
    for cell in cells:
        scan = cell.fused() if isinstance(cell, HeadedCell | MixedMemory) else None
        if scan is None or any(scan.form.masked) or (scans and scan.form != scans[0].form):
            return []
        scans.append(scan)
    return scans


class Quick:
    """Calls the kernels for a layer with little overhead. It checks with every call whether the layer has changed.

    Settings, parts and hooks are compared with those from which the plan was made. For single samples, which use a
    packed copy of the weights, the weights are also compared byte by byte, so that every change is noticed, however it
    was made. Copies of a layer start without a plan.
    """

    def __init__(self) -> None:
        self._plan: _Plan | None = None
        self._stepper: tuple[_Plan | None, Stepper | None] = None, None

    def __reduce__(self) -> tuple[type[Quick], tuple[()]]:
        return Quick, ()

    def _plan_of(self, layer: Any) -> _Plan | None:
        plan = self._plan
        if plan is None or plan.layer is not layer or not plan.snapshot.holds():
            for cell in layer.cells:
                if not isinstance(cell, HeadedCell | MixedMemory):
                    return None
            plan = self._plan = _Plan(layer)
        return plan if plan.scans else None

    def scan(self, layer: nn.Module, x: object, h0: object, dt: object) -> tuple[Tensor, HiddenState] | None:
        """Run over whole sequences, or return None if this needs the full checks.

        Args:
            layer: a `Recurrent`.
            x: (B, T, D).
            h0: argument of `Recurrent.forward`.
            dt: (B, T).

        """
        if type(x) is not Tensor or type(dt) is not Tensor or x.dim() != 3 or dt.dtype is not x.dtype:
            return None
        if torch.compiler.is_compiling():
            return None
        plan = self._plan_of(layer)
        if plan is None or plan.own_scan is None or x.shape[2] != layer.input_size or dt.shape != x.shape[:2]:
            return None
        if h0 is None:
            start = x.new_zeros(x.shape[0], plan.H)
        elif type(h0) is Tensor and h0.shape == (1, x.shape[0], plan.H) and h0.dtype is x.dtype:
            start = h0[0]
        else:
            return None
        done = plan.own_scan.scan(x, (start,), dt, None)
        return None if done is None else (done[0], done[1][0].unsqueeze(0))

    def step(self, layer: nn.Module, x: object, h: HiddenState | None, dt: object) -> tuple[Tensor, HiddenState] | None:
        """Process one sample without gradients, or return None if this needs the full checks.

        Args:
            layer: a `Recurrent`.
            x: (B, D).
            h: argument of `Recurrent.step`.
            dt: argument of `Recurrent.step`.

        """
        if not runs_unwatched() or type(x) is not Tensor or x.dim() != 2:
            return None
        plan = self._plan_of(layer)
        if plan is None:
            return None
        known, stepper = self._stepper
        if stepper is not None and known is plan:
            done = _step(plan, stepper, x, h, dt)
            if done is not None:
                return done
            plan = self._plan = _Plan(layer)  # the numbers changed, and the plan may hold values computed from them
        made = (
            cfc_stepper(plan.scans[0].form, [scan.weights for scan in plan.scans], plan.tensors) if plan.scans else None
        )
        if made is None:
            return None
        self._stepper = (plan, made)
        return _step(plan, made, x, h, dt)


def _step(plan: _Plan, stepper: Stepper, x: Tensor, h: Any, dt: Any) -> tuple[Tensor, HiddenState] | None:
    m = None
    if h is not None:
        if plan.remembers:
            if type(h) is not tuple or len(h) != 2:
                return None
            h, m = h
            if type(m) is not Tensor:
                return None
        if type(h) is not Tensor:
            return None
    if dt is None:
        dt = 1.0
    elif type(dt) is Tensor:
        if dt.dtype is not plan.dtype:
            dt = _interval(dt, plan.dtype)
    elif type(dt) is not float:
        if isinstance(dt, bool) or not isinstance(dt, Real):  # excludes tensors of other classes
            return None
        dt = float(dt)
    done = stepper.step(x, h, m, dt)
    if done is None:
        return None
    y, hn, mn = done
    return y, hn if mn is None else (hn, mn)


def _interval(dt: Tensor, dtype: torch.dtype) -> Tensor:
    """Return dt in another type, unless `Recurrent.step` would not accept it."""
    check_stored("dt", dt)
    return dt if dt.is_complex() or dt.dtype is torch.bool else dt.to(dtype)
