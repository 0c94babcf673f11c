"""The operations that a traced function may use: those of torch, each converted to one of a few simple kinds.

Elementwise kinds, which broadcast as in torch (one, two or three inputs):

    add sub mul div max min neg abs exp log tanh sigmoid softplus relu erf sqrt floor sin cos
    eq ne lt le gt ge and or not where (condition, then, else) cast same

and others:

    linear       (x, weight (n, m)[, bias]): weight·x + bias, where the weight is constant
    linears      (x (lanes, m), weight (lanes, n, m)[, bias (lanes, n)]): one product per lane; see `lanes`
    sum          over `axis`, which is kept if `keep`
    softmax      over the last axis
    concat       along `axis`
    slice        `start` to `stop` of `axis`
    take         the positions `index` of the last axis
    reshape      to the shape of the output
    fill         `number` in the shape of the output, for as many series as the input has
    interpolate  (columns, knots, pieces, low, width, corners, rows): see `liquidtime.estimators.network.table`
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor

Recorder: TypeAlias = Any
"""`trace._Recorder`, which imports this table."""
Normal: TypeAlias = Callable[[Recorder, tuple[Any, ...], dict[str, Any], Any], None]

NORMAL: dict[str, Normal] = {}
"""Functions that record operations, by the name of the operation in torch."""

ELEMENTWISE = frozenset(
    [
        "add",
        "sub",
        "mul",
        "div",
        "max",
        "min",
        "neg",
        "abs",
        "exp",
        "log",
        "tanh",
        "sigmoid",
        "softplus",
        "relu",
        "erf",
        "sqrt",
        "floor",
        "sin",
        "cos",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "and",
        "or",
        "not",
        "where",
        "cast",
        "same",
    ]
)


def _normal(*names: str) -> Callable[[Normal], Normal]:
    def register(function: Normal) -> Normal:
        NORMAL.update({f"aten.{name}": function for name in names})
        return function

    return register


def _value(recorder: Recorder, value: Any, like: Tensor) -> Any:
    """Return the value for a tensor or number, in the type of `like`."""
    tensor = value if isinstance(value, Tensor) else torch.tensor(value, dtype=like.dtype)
    value = recorder.value_of(tensor)
    if value.dtype == like.dtype:
        return value
    if not value.batched:
        return recorder.value_of(tensor.to(like.dtype))
    return recorder.add("cast", [value], tensor.to(like.dtype))


def _binary(kind: str) -> Normal:
    def record(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
        if kwargs.get("alpha", 1) != 1 or kwargs.get("rounding_mode") is not None:
            raise ValueError(f"the operation {kind!r} with {kwargs} cannot be exported")
        tensors = [arg for arg in args[:2] if isinstance(arg, Tensor)]
        like = result
        if result.dtype == torch.bool and kind not in ("and", "or"):  # a comparison, in the wider type of its operands
            wider = torch.result_type(tensors[0], args[1] if tensors[0] is args[0] else args[0])
            like = torch.empty(0, dtype=wider)
        recorder.add(kind, [_value(recorder, arg, like) for arg in args[:2]], result)

    return record


def _unary(kind: str) -> Normal:
    def record(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
        recorder.add(kind, [recorder.value_of(args[0])], result)

    return record


for _name, _kind in {
    "add": "add", "sub": "sub", "mul": "mul", "div": "div", "maximum": "max", "minimum": "min", "eq": "eq", "ne": "ne",
    "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "logical_and": "and", "bitwise_and": "and", "__and__": "and",
    "logical_or": "or", "bitwise_or": "or", "__or__": "or",
}.items():  # fmt: skip
    NORMAL[f"aten.{_name}"] = _binary(_kind)
for _name, _kind in {
    "neg": "neg", "abs": "abs", "exp": "exp", "log": "log", "tanh": "tanh", "sigmoid": "sigmoid", "relu": "relu",
    "erf": "erf", "sqrt": "sqrt", "floor": "floor", "sin": "sin", "cos": "cos", "logical_not": "not",
    "bitwise_not": "not",
}.items():  # fmt: skip
    NORMAL[f"aten.{_name}"] = _unary(_kind)


def _decomposed(function: Callable[[Tensor], Tensor]) -> Normal:
    """Return the recorder of an operation that is computed by other operations."""

    def record(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
        with recorder:
            made = function(args[0])
        recorder.same(result, recorder.value_of(made))

    return record


def log1p(v: Tensor) -> Tensor:
    """Return log(1 + v) of float64 v >= 0, to 2e-16, far below the precision of float32."""
    return torch.log(1.0 + v)


def _asinh(x: Tensor) -> Tensor:
    a = x.double().abs()
    y = log1p(a + a * a / (1.0 + torch.sqrt(a * a + 1.0)))
    return torch.where(x < 0, -y, y).to(x.dtype)


def _expm1(x: Tensor) -> Tensor:
    return torch.tanh(x * 0.5) * (torch.exp(x) + 1.0)


NORMAL["aten.log1p"] = _decomposed(lambda x: log1p(x.double()).to(x.dtype))
NORMAL["aten.asinh"] = _decomposed(_asinh)
NORMAL["aten.expm1"] = _decomposed(_expm1)


@_normal("rsub")
def _rsub(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    recorder.add("sub", [_value(recorder, args[1], result), _value(recorder, args[0], result)], result)


@_normal("reciprocal")
def _reciprocal(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    recorder.add("div", [_value(recorder, 1.0, result), recorder.value_of(args[0])], result)


@_normal("pow")
def _power(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    if args[1] != 2:
        raise ValueError(f"the power {args[1]!r} cannot be exported")
    recorder.add("mul", [recorder.value_of(args[0])] * 2, result)


@_normal("square")
def _square(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    recorder.add("mul", [recorder.value_of(args[0])] * 2, result)


@_normal("silu")
def _silu(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    x = recorder.value_of(args[0])
    recorder.add("mul", [x, recorder.add("sigmoid", [x], torch.sigmoid(args[0]))], result)


@_normal("gelu")
def _gelu(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    if kwargs.get("approximate", "none") != "none":
        raise ValueError("an approximate gelu cannot be exported")
    x, like = recorder.value_of(args[0]), args[0]
    part = recorder.add("mul", [x, _value(recorder, math.sqrt(0.5), like)], like * math.sqrt(0.5))
    part = recorder.add("erf", [part], torch.erf(like * math.sqrt(0.5)))
    part = recorder.add("add", [part, _value(recorder, 1.0, like)], torch.erf(like) + 1)
    half = recorder.add("mul", [x, _value(recorder, 0.5, like)], like * 0.5)
    recorder.add("mul", [half, part], result)


@_normal("softplus")
def _softplus(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    if tuple(args[1:]) not in ((), (1,), (1, 20)):
        raise ValueError("a softplus with its own beta or threshold cannot be exported")
    recorder.add("softplus", [recorder.value_of(args[0])], result)


@_normal("clamp", "clamp_min", "clamp_max")
def _clamp(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    low = kwargs.get("min", args[1] if len(args) > 1 else None)
    high = kwargs.get("max", args[2] if len(args) > 2 else None)
    value = recorder.value_of(args[0])
    if low is not None and high is not None:
        value = recorder.add("max", [value, _value(recorder, low, result)], args[0].clamp(min=low))
        recorder.add("min", [value, _value(recorder, high, result)], result)
    elif low is not None:
        recorder.add("max", [value, _value(recorder, low, result)], result)
    else:
        recorder.add("min", [value, _value(recorder, high, result)], result)


@_normal("where")
def _where(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    condition, *sides = args
    recorder.add("where", [recorder.value_of(condition), *(_value(recorder, side, result) for side in sides)], result)


@_normal("_to_copy", "to")
def _cast(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    recorder.add("cast", [recorder.value_of(args[0])], result)


@_normal("clone", "detach", "alias", "lift_fresh", "lift_fresh_copy", "contiguous")
def _same(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    recorder.same(result, recorder.value_of(args[0]))


@_normal("zeros_like", "ones_like", "new_zeros", "new_ones", "new_empty", "empty_like", "full_like", "new_full")
def _fill(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    """Record a value that has the series of an input, but none of its numbers."""
    if result.numel() and not bool((result == result.flatten()[0]).all()):
        raise ValueError("uninitialised memory cannot be exported")
    number = result.flatten()[0].item() if result.numel() else 0.0
    recorder.add("fill", [recorder.value_of(args[0])], result, number=number)


@_normal("isnan")
def _isnan(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    """Record that nothing is NaN, since a step has flags instead."""
    recorder.add("fill", [recorder.value_of(args[0])], result, number=False)


@_normal("addmm")
def _affine(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    bias, x, weight = args
    _linear(recorder, x, weight, bias, result)


@_normal("mm", "matmul")
def _product(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    x, weight = args
    _linear(recorder, x, weight, None, result)


@_normal("linear")
def _whole_linear(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    _linear(recorder, args[0], args[1].t(), args[2] if len(args) > 2 else None, result)


def _linear(recorder: Recorder, x: Tensor, weight: Tensor, bias: Tensor | None, result: Tensor) -> None:
    value, turned = recorder.value_of(x), recorder.value_of(weight.t().contiguous())
    if not value.batched or turned.batched or x.dim() != 2 or recorder.value_of(weight).batched:
        raise ValueError("a product of two values that depend on the series cannot be exported")
    recorder.add("linear", [value, turned] + ([] if bias is None else [recorder.value_of(bias)]), result)


@_normal("sum")
def _sum(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    _reduce(recorder, args, result)


@_normal("mean")
def _mean(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    axes = args[1] if len(args) > 1 else None
    if axes is None or len(axes) != 1:
        raise ValueError("a mean over all series cannot be exported")
    total = args[0].sum(axes, keepdim=bool(args[2]) if len(args) > 2 else False)
    value = _reduce(recorder, args, total)
    recorder.add("mul", [value, _value(recorder, 1.0 / args[0].shape[axes[0]], result)], result)


def _reduce(recorder: Recorder, args: Any, result: Tensor) -> Any:
    x, axes, keep = args[0], args[1] if len(args) > 1 else None, bool(args[2]) if len(args) > 2 else False
    if axes is None or len(axes) != 1 or axes[0] % x.dim() == 0:
        raise ValueError("a sum over series cannot be exported")
    value = recorder.value_of(x)
    if value.dtype == torch.bool:
        value = recorder.add("cast", [value], x.to(result.dtype))
    return recorder.add("sum", [value], result, axis=axes[0] % x.dim() - 1, keep=keep)


@_normal("_softmax")
def _softmax(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    if args[1] % args[0].dim() != args[0].dim() - 1:
        raise ValueError("a softmax over an axis other than the last cannot be exported")
    recorder.add("softmax", [recorder.value_of(args[0])], result)


@_normal("cat")
def _concat(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    axis = kwargs.get("dim", args[1] if len(args) > 1 else 0) % result.dim()
    parts = [part for part in args[0] if part.numel()]
    if axis == 0:
        raise ValueError("joining series cannot be exported")
    recorder.add("concat", [_whole(recorder, part) for part in parts], result, axis=axis - 1)


def _whole(recorder: Recorder, tensor: Tensor) -> Any:
    """Return a part of a concatenation in its full shape for each series, which a constant does not have."""
    value = recorder.value_of(tensor)
    if value.batched and value.shape == tuple(tensor.shape[1:]):
        return value
    if not bool((tensor == tensor[:1]).all()):
        raise ValueError("numbers that differ between series cannot be exported")
    return recorder.value_of(tensor[0].clone())


@_normal("stack")
def _stack(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    axis = kwargs.get("dim", args[1] if len(args) > 1 else 0) % result.dim()
    if axis == 0:
        raise ValueError("joining series cannot be exported")
    parts = []
    for tensor in args[0]:
        wide = tensor.unsqueeze(axis)
        value = _whole(recorder, tensor)
        parts.append(recorder.add("reshape", [value], wide) if value.batched else recorder.value_of(wide[0].clone()))
    recorder.add("concat", parts, result, axis=axis - 1)


def _cut(recorder: Recorder, x: Tensor, axis: int, start: int, stop: int, result: Tensor) -> Any:
    axis %= x.dim()
    if axis == 0:
        if (start, stop) == (0, x.shape[0]):
            recorder.same(result, recorder.value_of(x))
            return recorder.value_of(x)
        raise ValueError("selecting series cannot be exported")
    return recorder.add("slice", [recorder.value_of(x)], result, axis=axis - 1, start=start, stop=stop)


@_normal("slice")
def _slice(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    x: Tensor = args[0]
    axis, start, stop, step = (list(args[1:]) + [None] * 4)[:4]
    axis = axis or 0
    size = x.shape[axis]
    if step not in (None, 1):
        raise ValueError("a slice with steps cannot be exported")
    low, high, _ = slice(start, stop).indices(size)
    _cut(recorder, x, axis, low, high, result)


@_normal("select")
def _select(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    x, axis, index = args
    index %= x.shape[axis]
    kept = x.narrow(axis, index, 1)
    value = _cut(recorder, x, axis, index, index + 1, kept)
    recorder.add("reshape", [value], result)


@_normal("split", "split_with_sizes", "unsafe_split", "chunk")
def _split(recorder: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    axis = kwargs.get("dim", args[2] if len(args) > 2 else 0)
    start = 0
    for part in result:
        size = part.shape[axis]
        _cut(recorder, args[0], axis, start, start + size, part)
        start += size


@_normal("unbind")
def _unbind(recorder: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    axis = args[1] if len(args) > 1 else 0
    for index, part in enumerate(result):
        value = _cut(recorder, args[0], axis, index, index + 1, args[0].narrow(axis, index, 1))
        recorder.add("reshape", [value], part)


@_normal("unsqueeze", "squeeze", "view", "_unsafe_view", "reshape")
def _reshape(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    recorder.add("reshape", [recorder.value_of(args[0])], result)


@_normal("expand")
def _expand(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    one = torch.zeros(result.shape[1:], dtype=result.dtype)
    kind = "or" if result.dtype == torch.bool else "add"
    recorder.add(kind, [recorder.value_of(args[0]), recorder.value_of(one)], result)


@_normal("index")
def _index(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    x, places = args
    if len(places) != x.dim() or any(place is not None for place in places[:-1]) or places[-1] is None:
        raise ValueError("selecting series cannot be exported")
    _take(recorder, x, places[-1], result)


@_normal("index_select")
def _index_select(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    x, axis, places = args
    if axis % x.dim() != x.dim() - 1:
        raise ValueError("selecting along an axis other than the last cannot be exported")
    _take(recorder, x, places, result)


def _take(recorder: Recorder, x: Tensor, places: Tensor, result: Tensor) -> None:
    if recorder.value_of(places).batched:
        raise ValueError("a selection that depends on data cannot be exported")
    index = [int(place) % x.shape[-1] for place in places]
    recorder.add("take", [recorder.value_of(x)], result, index=index)


def _interpolate(recorder: Recorder, args: Any, kwargs: Any, result: Tensor) -> None:
    recorder.add("interpolate", [recorder.value_of(arg) for arg in args], result)


NORMAL["liquidtime.interpolate"] = _interpolate
