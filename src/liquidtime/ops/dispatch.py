"""The one place that decides whether a backend runs a scan, and which one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import Parameter

from liquidtime.ops.backend import backend, kernels_are_allowed


class AnyBackend(Protocol):
    """Methods and attributes that the backends of every operation have."""

    @property
    def devices(self) -> tuple[str, ...]:
        """The types of device that it runs scans on, such as ("cpu",)."""


_PLAIN = frozenset({Tensor, Parameter})
B = TypeVar("B", bound=AnyBackend)


class Choice(NamedTuple, Generic[B]):
    """The backend of a scan, and whether something records or watches operators, so that it must be called as one."""

    backend: B
    traced: bool


class Backends(Generic[B]):
    """The backends of one operation, by the type of device."""

    def __init__(self) -> None:
        self._by_device: dict[str, B] = {}

    def register(self, backend: B) -> None:
        """Let a backend run the scans on its devices, replacing any earlier backend."""
        for device in backend.devices:
            self._by_device[device] = backend

    @contextlib.contextmanager
    def registered(self, backend: B) -> Iterator[None]:
        """Register a backend for the lines inside a `with` block."""
        before = dict(self._by_device)
        self.register(backend)
        try:
            yield
        finally:
            self._by_device = before

    def of(self, tensor: Tensor, refusal: Callable[[B], str | None]) -> B:
        """Return the backend for the device of a tensor, for an operator that has already been called.

        Raises:
            NotImplementedError: there is no backend, or it refuses.

        """
        backend = self._by_device.get(tensor.device.type)
        if backend is None:
            raise NotImplementedError(f"no backend runs this operation on a tensor of the device {tensor.device}")
        reason = refusal(backend)
        if reason is not None:
            raise NotImplementedError(f"the backend for {tensor.device} refuses this scan: {reason}")
        return backend

    def unwatched(self, tensors: Sequence[Tensor]) -> B | None:
        """Return the backend for the device of the first tensor if it may be called directly and accepts the tensors.

        If this returns None, `choose` decides. The backend still has to check that all tensors have the same type and
        device and are strided.
        """
        backend = self._by_device.get(tensors[0].device.type)
        return backend if runs_unwatched() and _PLAIN.issuperset(map(type, tensors)) else None

    def choose(self, tensors: Sequence[Tensor], refusal: Callable[[B], str | None]) -> Choice[B] | None:
        """Return the backend that runs a scan, or None if the plain loop must.

        The plain loop must run if kernels are switched off; if the tensors differ in type or device or are not strided;
        under `torch.jit.trace`, `vmap` and the other transforms of `torch.func`, and in forward-mode differentiation,
        which all need a loop of PyTorch's own operations; and if the backend of the device refuses. Autocast changes
        nothing: a kernel computes in the type of its tensors, which is at least as precise as autocast requires.

        Args:
            tensors: all tensors that the scan computes with.
            refusal: function that returns why a backend refuses the scan, or None if it accepts it.

        """
        backend = self._by_device.get(tensors[0].device.type)
        if backend is None or not kernels_are_allowed():
            return None
        traced = torch.compiler.is_compiling()
        if not traced:
            if _needs_the_loop():
                return None
            traced = torch._C._len_torch_dispatch_stack() > 0
        layouts = [(tensor.layout, tensor.dtype, tensor.device) for tensor in tensors]
        if layouts.count(layouts[0]) != len(layouts) or layouts[0][0] is not torch.strided:
            return None
        traced = traced or not _PLAIN.issuperset(map(type, tensors))
        return None if refusal(backend) is not None else Choice(backend, traced)


def _needs_the_loop() -> bool:
    return (
        forward_ad._current_level >= 0
        or torch._C._functorch.maybe_current_level() is not None
        or torch._C._get_tracing_state() is not None
    )


def runs_unwatched() -> bool:
    """Return whether kernels are allowed and nothing traces, maps or watches the computation."""
    return (
        not torch.compiler.is_compiling()
        and backend() != "reference"
        and not _needs_the_loop()
        and not torch._C._len_torch_dispatch_stack()
    )
