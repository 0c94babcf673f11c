"""Checks that tensors have the memory that their shapes need; PyTorch itself crashes when it reads one that has not."""

from __future__ import annotations

import operator
from collections.abc import Iterable

import torch
from torch import Tensor, nn


def check_stored(name: str, tensor: Tensor) -> None:
    """Refuse a tensor whose memory does not hold all its numbers, for example after its storage was resized.

    Tensors without memory of their own, or that are not strided, are left to PyTorch.

    Raises:
        ValueError: the memory is too small.

    """
    if tensor.layout is not torch.strided or tensor.is_meta or tensor.is_nested:
        return
    try:
        size = tensor.untyped_storage().nbytes()
    except (NotImplementedError, RuntimeError):  # a wrapper, for example of `torch.func`
        return
    if tensor.nbytes <= size and tensor.storage_offset() == 0 and tensor.is_contiguous():
        return
    if tensor.numel() == 0 or tensor._is_zerotensor():
        return
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    needed = (tensor.storage_offset() + last + 1) * tensor.element_size()
    if size < needed:
        raise ValueError(
            f"`{name}` has {tensor.numel()} numbers, but its storage has only {size} of {needed} bytes. "
            "It was freed or resized; allocate it again."
        )


def check_inputs_stored(**inputs: object) -> None:
    """Check inputs by name, tensors or tuples of tensors, with `check_stored`; ignore others."""
    if torch.compiler.is_compiling():
        return
    tensors: list[Tensor] = []
    names: list[str] = []
    for name, value in inputs.items():
        for part in value if isinstance(value, tuple | list) else (value,):
            if isinstance(part, Tensor):
                tensors.append(part)
                names.append(name)
    if not _are_whole(tensors):
        for name, tensor in zip(names, tensors, strict=True):
            check_stored(name, tensor)


def check_module_stored(module: nn.Module) -> None:
    """Check all parameters and buffers of a module and its parts with `check_stored`."""
    if torch.compiler.is_compiling():
        return
    parts = _parts_of(module)
    if not _are_whole(_tensors_of(parts)):
        for part in parts:
            for name, tensor in (*part._parameters.items(), *part._buffers.items()):
                if tensor is not None:
                    check_stored(name, tensor)


def check_stored_before_gradients(outputs: Iterable[Tensor], module: nn.Module, inputs: Iterable[Tensor]) -> None:
    """Make the backward run check that all its memory, and that of its gradients, still exists; see `check_stored`.

    Args:
        outputs: outputs of a forward run.
        module: the module that made them; its current parameters and buffers are checked.
        inputs: inputs of the run.

    """
    if torch.compiler.is_compiling():
        return
    sources = [*inputs, *_tensors_of(_parts_of(module))]

    def check(gradients: Iterable[Tensor | None]) -> None:
        for gradient in gradients:
            if gradient is not None:
                check_stored("the gradient", gradient)
        if not _are_whole(sources):
            check_module_stored(module)
            for tensor in sources:
                check_stored("a tensor of the forward run", tensor)

    for output in outputs:
        if output.grad_fn is not None:
            output.grad_fn.register_prehook(check)


def _parts_of(module: nn.Module) -> list[nn.Module]:
    parts = [module]
    for part in parts:  # the list grows; `modules()` takes several times as long
        parts += [inner for inner in part._modules.values() if inner is not None]
    return parts


def _tensors_of(parts: list[nn.Module]) -> list[Tensor]:
    tensors: list[Tensor | None] = []
    for part in parts:
        tensors += part._parameters.values()
        tensors += part._buffers.values()
    return [tensor for tensor in tensors if tensor is not None]


_size, _offset, _is_dense = operator.attrgetter("nbytes"), Tensor.storage_offset, Tensor.is_contiguous
_storage, _stored = Tensor.untyped_storage, torch.UntypedStorage.nbytes


def _are_whole(tensors: list[Tensor]) -> bool:
    """Return whether tensors are dense and start at the beginning of memory that holds them; False is inconclusive."""
    try:
        stored = [*map(_stored, map(_storage, tensors))]
        return (
            all(map(operator.ge, stored, map(_size, tensors)))
            and all(map(_is_dense, tensors))
            and not any(map(_offset, tensors))
        )
    except (NotImplementedError, RuntimeError):
        return False
