"""Checks that every layer shares, with one error message each."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Integral, Real
from typing import ParamSpec

import torch
from torch import Tensor

from liquidtime.errors import nearest, unknown_choice, wrong_shape

P = ParamSpec("P")


def named_arguments(init: Callable[P, None]) -> Callable[P, None]:
    """Make a constructor name the nearest known argument in the error for an unknown one."""
    known = [name for name in inspect.signature(init).parameters if name != "self"]

    @functools.wraps(init)
    def checked(*args: P.args, **kwargs: P.kwargs) -> None:
        for name in kwargs:
            if name not in known:
                owner = type(args[0]).__name__
                raise TypeError(f"`{name}` is not an argument of {owner}{nearest(name, known)}")
        init(*args, **kwargs)

    return checked


def check_choice(argument: str, value: object, choices: Iterable[object]) -> None:
    """Refuse a name that is not in the table."""
    choices = list(choices)
    if value not in choices:
        raise unknown_choice(argument, value, choices)


def check_size(argument: str, value: object, least: int = 1) -> int:
    """Return `value` as an int of at least `least`, or refuse it."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"`{argument}` must be a whole number; got {value!r}")
    if value < least:
        raise ValueError(f"`{argument}` must be at least {least}; got {value}")
    return int(value)


def check_rate(argument: str, value: object) -> float:
    """Return `value` as a probability in [0, 1), or refuse it."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 <= float(value) < 1.0:
        raise ValueError(f"`{argument}` must be at least 0 and less than 1; got {value!r}")
    return float(value)


def check_positive(argument: str, value: object) -> float:
    """Return `value` as a finite number greater than 0, or refuse it."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"`{argument}` must be a number; got {value!r}")
    if not 0.0 < float(value) < math.inf:
        raise ValueError(f"`{argument}` must be finite and greater than 0; got {value!r}")
    return float(value)


def check_width(argument: str, tensor: Tensor, width: int, axes: str) -> None:
    """Refuse a tensor whose last axis is not `width`."""
    if tensor.shape[-1] != width:
        needed = [*tensor.shape[:-1], width]
        raise wrong_shape(argument, axes, needed, tensor.shape, f"The last axis must have size {width}.")


def values_are_known(tensor: Tensor) -> bool:
    """Return whether the numbers of a tensor can be read: not if it is traced, mapped or on `meta`."""
    if tensor.is_meta or torch.compiler.is_compiling():
        return False
    return not torch._C._functorch.is_functorch_wrapped_tensor(tensor)


class DeferredChecks:
    """Checks of numbers on another device, deferred until the host reads something from it anyway."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Tensor, Callable[[], object]]] = []

    def add(self, good: Tensor, check: Callable[[], object]) -> None:
        """Keep `good`, a () truth value, and the function that raises the error if it is False."""
        self._waiting.append((good, check))

    @property
    def flags(self) -> list[Tensor]:
        """() truth values, one per check."""
        return [good for good, _ in self._waiting]

    def settle(self, flags: Sequence[float]) -> None:
        """Repeat the checks whose `flags`, read as numbers, are False, so that they raise their errors."""
        waiting, self._waiting = self._waiting, []
        for (_, check), good in zip(waiting, flags, strict=True):
            if not good:
                check()


_DEFERRED: ContextVar[DeferredChecks | None] = ContextVar("deferred checks", default=None)


@contextmanager
def deferred_checks(deferred: DeferredChecks | None) -> Iterator[None]:
    """Defer checks of numbers on devices other than the CPU inside the block; None runs them at once."""
    token = _DEFERRED.set(deferred)
    try:
        yield
    finally:
        _DEFERRED.reset(token)


def _waits(good: Tensor, check: Callable[[], object]) -> bool:
    """Return whether a check is deferred, and defer it."""
    deferred = _DEFERRED.get()
    if deferred is None or good.device.type == "cpu":
        return False
    deferred.add(good, check)
    return True


def check_dt(dt: Tensor, lengths: Tensor | None = None) -> None:
    """Refuse time intervals that are negative, NaN or infinite, with a single reduction if all are valid.

    Args:
        dt: (B, T) time since the previous sample.
        lengths: (B,) number of samples of each series; intervals past the end are not checked.

    """
    if not values_are_known(dt) or dt.numel() == 0:
        return
    least, most = torch.aminmax(dt.detach())
    if dt.device.type != "cpu":
        good = (least >= 0) & (most < math.inf)
        if _waits(good, lambda: _check_each_dt(dt, lengths)) or bool(good):
            return
    elif float(least) >= 0.0 and float(most) < math.inf:
        return
    _check_each_dt(dt, lengths)


def _check_each_dt(dt: Tensor, lengths: Tensor | None) -> None:
    good = (dt >= 0) & (dt < math.inf)
    if lengths is not None:
        good |= torch.arange(dt.shape[1], device=dt.device) >= lengths.unsqueeze(1)
    bad = (~good).nonzero()
    if len(bad) == 0:
        return
    row, step = (int(index) for index in bad[0])
    value = float(dt[row, step])
    kind = "NaN" if math.isnan(value) else "infinite" if math.isinf(value) else "negative"
    raise ValueError(
        f"`dt` must be finite and at least 0; {len(bad)} of {dt.numel()} intervals are not. The first is {kind} "
        f"({value:g}) in series {row} at position {step}. For absolute times pass lt.elapsed(times)."
    )


def check_lengths(lengths: object, B: int, T: int, device: torch.device) -> Tensor:
    """Return a copy of `lengths` as a (B,) int64 tensor, or refuse it.

    A copy, because the caller may reuse the same buffer before gradients are computed.

    Args:
        lengths: (B,) number of samples of each series, a tensor, array or list of whole numbers in 0…T.
    """
    tensor = torch.as_tensor(lengths, device=device)
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype is torch.bool:
        raise TypeError(f"`lengths` must be whole numbers; got {tensor.dtype}")
    if tensor.shape != (B,):
        raise wrong_shape("lengths", "(B,)", [B], tensor.shape, "One number of samples per series.")
    tensor = tensor.to(torch.int64, copy=True)
    if values_are_known(tensor) and B > 0:
        good = ((tensor >= 0) & (tensor <= T)).all()
        if not _waits(good, lambda: _check_each_length(tensor, T)) and not bool(good):
            _check_each_length(tensor, T)
    return tensor


def _check_each_length(lengths: Tensor, T: int) -> None:
    good = (lengths >= 0) & (lengths <= T)
    if not bool(good.all()):
        row = int((~good).nonzero()[0, 0])
        raise ValueError(f"`lengths` must be in 0…T = 0…{T}; series {row} has {int(lengths[row])}")
