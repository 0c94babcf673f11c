"""The one place where it is decided whether a backend runs a scan, and which one."""

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
    """What the backends of every operation have."""

    @property
    def devices(self) -> tuple[str, ...]:
        """The types of device whose tensors it takes, such as ("cpu",)."""


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
        """Let a backend take the scans on its devices, in place of one that took them before."""
        for device in backend.devices:
            self._by_device[device] = backend

    @contextlib.contextmanager
    def registered(self, backend: B) -> Iterator[None]:
        """Register a backend for the lines inside a `with`."""
        before = dict(self._by_device)
        self.register(backend)
        try:
            yield
        finally:
            self._by_device = before

    def of(self, tensor: Tensor, refusal: Callable[[B], str | None]) -> B:
        """Return the backend of a tensor's device, for an operator that has been called already.

        Raises:
            NotImplementedError: there is none, or it refuses.

        """
        backend = self._by_device.get(tensor.device.type)
        if backend is None:
            raise NotImplementedError(f"no backend runs this operation on a tensor of the device {tensor.device}")
        reason = refusal(backend)
        if reason is not None:
            raise NotImplementedError(f"the backend for {tensor.device} does not take this scan: {reason}")
        return backend

    def unwatched(self, tensors: Sequence[Tensor]) -> B | None:
        """Return the backend of the first tensor's device where a call may go straight to it, if it takes the tensors.

        None says nothing: `choose` then decides. What is left to the backend to see is whether all tensors have one
        type and device and lie in strides.
        """
        backend = self._by_device.get(tensors[0].device.type)
        return backend if runs_unwatched() and _PLAIN.issuperset(map(type, tensors)) else None

    def choose(self, tensors: Sequence[Tensor], refusal: Callable[[B], str | None]) -> Choice[B] | None:
        """Return who runs a scan, or None where the plain loop must.

        That is where kernels are switched off; where the tensors differ in type or device or lie otherwise than in
        strides; under `torch.jit.trace`, `vmap` and the other transforms of `torch.func`, and in forward-mode
        differentiation, all of which see into a loop of PyTorch's own operations only; and where the backend of the
        device refuses. Autocast changes nothing: a kernel computes in the type of its tensors, which is at least what
        autocast asks for.

        Args:
            tensors: all that the scan computes with.
            refusal: asks a backend why it does not take the scan; None is that it does.

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
    """Return whether kernels are allowed and nothing traces, maps or watches what is computed."""
    return (
        not torch.compiler.is_compiling()
        and backend() != "reference"
        and not _needs_the_loop()
        and not torch._C._len_torch_dispatch_stack()
    )
