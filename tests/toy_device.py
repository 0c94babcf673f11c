"""A device that is none: tensors of the type "toy", whose numbers are on the CPU, and a count of waits for it.

A real GPU computes while the host runs on; the host waits for it where it reads a number, where the shape of a result
depends on numbers, and where memory is copied from it, or to it without `non_blocking`. `install` renames a type of
device of torch's own for the whole process, so tests call it in a process of their own.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

aten = torch.ops.aten
READS = {aten._local_scalar_dense.default, aten.nonzero.default, aten.masked_select.default, aten.equal.default}
COPIES = {aten._to_copy.default, aten.copy_.default}
INDEXED = {aten.index.Tensor, aten.index_put.default, aten.index_put_.default, aten._index_put_impl_.default}
waits: list[str] = []
"""What the host has waited for."""
launches: list[str] = []
"""What would have been started on the device."""


class Toy(Tensor):
    """A tensor of the device; whatever is computed with it goes through `run`."""

    @staticmethod
    def __new__(cls, inner: Tensor) -> Toy:
        layout = {"strides": inner.stride(), "storage_offset": inner.storage_offset()}
        return Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device="toy:0", **layout)

    def __init__(self, inner: Tensor) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return run(function, args, kwargs or {})

    def __reduce_ex__(self, protocol):
        raise TypeError("a tensor of another device was pickled")

    def __deepcopy__(self, memo):
        return Toy(self.inner.clone())


class Device(TorchDispatchMode):
    """Sees what makes tensors on the device from nothing."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return run(function, args, kwargs or {})


def run(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute on the CPU what is asked of the device, and keep account."""
    leaves = tree_flatten((args, kwargs))[0]
    tensors = [each for each in leaves if isinstance(each, Tensor)]
    toys = [each for each in tensors if isinstance(each, Toy)]
    asked = next((each.type for each in leaves if isinstance(each, torch.device)), None)
    there = asked == "toy" or (asked is None and bool(toys))
    if not toys and not there:
        return function(*args, **kwargs)
    if function in COPIES:
        ends = {type(each) is Toy for each in tensors} | ({there} if asked else set())
        waiting = len(ends) > 1 and not (there and (kwargs.get("non_blocking") or args[-1] is True))
    else:
        waiting = function in READS or (function in INDEXED and _looks(args[1], args[0]))
        strange = [each for each in tensors if not isinstance(each, Toy) and each.dim()]
        if strange and function not in INDEXED:
            raise RuntimeError(f"{function} got tensors of the device and of the CPU")
    if waiting:
        waits.append(str(function))
    elif not function.is_view:
        launches.append(str(function))
    plain_args, plain = tree_map(_inner, (args, kwargs))
    result = function(*plain_args, **plain)
    if function._schema.is_mutable and isinstance(result, Tensor) and isinstance(args[0], Tensor):
        return args[0]
    return tree_map(lambda each: Toy(each) if isinstance(each, Tensor) and there else each, result)


def _inner(each: Any) -> Any:
    if isinstance(each, torch.device):
        return torch.device("cpu")
    return each.inner if isinstance(each, Toy) else each


def _looks(indices: Any, values: Tensor) -> bool:
    """Whether an index is by truth values of the device, or is of the CPU and has to be copied."""
    given = [each for each in indices if each is not None]
    on_device = isinstance(values, Toy)
    return any(each.dtype is torch.bool if isinstance(each, Toy) else on_device for each in given)


def install() -> Device:
    """Make torch know the device; what is made from nothing is so within a `with` of what this returns."""
    _setup_privateuseone_for_python_backend("toy")
    torch.inference_mode = torch.no_grad  # whose tensors a subclass cannot stand for
    return Device()
