"""Collect and check the inputs of a job: targets, weights, groups and order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesSet
from liquidtime.evaluation.training_job import JobInputs
from liquidtime.tasks.per_sample import by_series

Given = tuple[SeriesSet, JobInputs, "npt.NDArray[np.bool_] | None", Any, Any]


def gathered(data: Any, target: Any, auxiliary: Any, weights: Any, groups: Any, order: Any, test: Any) -> Given:
    """Return the series, their inputs, which of them are from the test set `test`, their groups, and their order.

    Series of `test` come last, have no auxiliary targets and the mean weight, and each is a group of its own.

    Args:
        data: S series.
        target: targets, as in `train_and_test`.
        auxiliary: auxiliary targets, or None.
        weights: weights of series, or None.
        groups: groups of series, or None.
        order: date or order of each series, or None.
        test: series to test on, with their targets, or None.

    Raises:
        TypeError: the series are not a `SeriesSet`.
        ValueError: an array does not match the series, or a series is in both sets.

    """
    _check_set("data", data)
    S = len(data)
    y, extra, each = _plain(target), _rows("auxiliary", auxiliary, S), _rows("sample_weight", weights, S)
    if each is not None:
        each = _weights(each)
    if test is None:
        return data, JobInputs(y, extra, each), None, groups, order
    others, truth = test if isinstance(test, tuple) else (test, None)
    _check_set("test", others)
    both = np.intersect1d(data.ids.astype(str), others.ids.astype(str))
    if len(both):
        raise ValueError(
            f"`test` must have other series than `data`; {len(both):,} ids occur in both, the first is {both[0]}. "
            "Leave them out of one, or rename them."
        )
    if (y is None) != (truth is None):
        raise ValueError("`test` must be the series and their targets, (data, target); for forecasts the series alone")
    T = len(others)
    if others.time_unit != data.time_unit and None not in (others.time_unit, data.time_unit):
        others = others.in_unit(data.time_unit)
    if y is not None:
        y = np.concatenate([np.asarray(by_series(y, data)), np.asarray(by_series(_plain(truth), others))])
    if extra is not None:
        extra = np.concatenate([extra, np.full((T, *extra.shape[1:]), np.nan)])
    if each is not None:
        each = np.concatenate([each, np.full(T, each.mean())])
    if groups is not None:
        known = _rows("groups", groups, S)
        assert known is not None
        groups = np.array([*(f"{group}" for group in known.tolist()), *(f"test series {i}" for i in range(T))])
    if order is not None:
        known = _rows("order", order, S)
        assert known is not None
        order = np.concatenate([known, np.repeat(np.sort(known)[-1:], T)])
    held = np.arange(S + T) >= S
    return SeriesSet.concatenate([data, others]), JobInputs(y, extra, each), held, groups, order


def _check_set(name: str, data: Any) -> None:
    if not isinstance(data, SeriesSet):
        raise TypeError(f"`{name}` must be a SeriesSet, as SeriesSet.from_arrays makes it; got {type(data).__name__}")


def _rows(name: str, values: Any, S: int) -> npt.NDArray[Any] | None:
    if values is None:
        return None
    array = np.asarray(_plain(values))
    if array.ndim == 0 or len(array) != S:
        raise ValueError(f"`{name}` must have one row per series, {S}; got shape {array.shape}")
    return array


def _weights(weights: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    from liquidtime.estimators.network.weights import check_weights

    return check_weights(weights, len(weights))


def _plain(values: Any) -> Any:
    return values.to_numpy() if hasattr(values, "to_numpy") else values
