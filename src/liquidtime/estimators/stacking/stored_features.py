"""Fitted features as JSON and arrays, and back; untrusted contents are bounded before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.features import ConvolutionFeatures, RunningFeatures
from liquidtime.baselines.features.contests import SIZE, Contest
from liquidtime.baselines.features.convolutions import Kernel, names_of
from liquidtime.baselines.features.resampling import MOST_POINTS, RegularGrid
from liquidtime.baselines.features.responses import TAPS, VIEWS
from liquidtime.data import SeriesEncoder
from liquidtime.estimators.files.rich_features import describe, positive_number, whole_number

Arrays = Mapping[str, npt.NDArray[Any]]
_MOST_KERNELS = 100_000
_KINDS = {
    "view": np.int64, "dilation": np.int64, "triple": np.int64, "count": np.int64, "channel": np.int64,
    "thresholds": np.float32,
}  # fmt: skip
_CONTESTS = ("contest_view", "contest_dilation", "contest_triples", "contest_count", "contest_channel")


def restored_running(encoder: SeriesEncoder) -> RunningFeatures:
    """Return the running features of the channels that networks read."""
    features = RunningFeatures()
    describe(features, encoder)
    features.take_names()
    return features


def stored_convolutions(features: ConvolutionFeatures) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return fitted features with at least one kernel: what JSON holds of them, and their arrays by name."""
    grid, kernels = features.grid_, features.kernels_
    assert grid is not None
    facts = {
        "step": grid.step,
        "channels": list(grid.channels),
        "most": grid.most,
        "mean": grid.mean.tolist(),
        "scale": grid.scale.tolist(),
    }
    arrays: dict[str, list[Any]] = {
        "view": [VIEWS.index(kernel.view) for kernel in kernels],
        "dilation": [kernel.dilation for kernel in kernels],
        "triple": [kernel.triple for kernel in kernels],
        "count": [len(kernel.channels) for kernel in kernels],
        "channel": [channel for kernel in kernels for channel in kernel.channels],
        "thresholds": [kernel.thresholds for kernel in kernels],
    }
    contests = features.contests_
    columns: tuple[list[Any], ...] = (
        [VIEWS.index(contest.view) for contest in contests],
        [contest.dilation for contest in contests],
        [contest.triples for contest in contests],
        [len(contest.channels) for contest in contests],
        [channel for contest in contests for channel in contest.channels],
    )
    groups = {name: np.array(own, dtype=np.int64) for name, own in zip(_CONTESTS, columns, strict=True)}
    return facts, {name: np.array(arrays[name], dtype=kind) for name, kind in _KINDS.items()} | (
        groups if contests else {}
    )


def restored_convolutions(stored: Any, arrays: Arrays, encoder: SeriesEncoder) -> ConvolutionFeatures:
    """Return the features of what `stored_convolutions` returned.

    Args:
        stored: of JSON.
        arrays: by name.
        encoder: of the networks.

    Raises:
        ValueError: settings out of bounds, or arrays that do not fit together.

    """
    features, places = ConvolutionFeatures(), stored["channels"]
    describe(features, encoder)
    if not isinstance(places, list) or not places or len(set(places)) != len(places):
        raise ValueError("`channels` of convolutions must be different ones")
    for place in places:
        whole_number("channels", place, len(encoder.channels_) - 1, 0)
    C = len(places)
    mean, scale = (np.array(stored[name], dtype=np.float64) for name in ("mean", "scale"))
    if mean.shape != (C,) or scale.shape != (C,) or not np.isfinite(mean).all() or not (scale > 0).all():
        raise ValueError("`mean` and `scale` of convolutions must be numbers, one per channel, scales over 0")
    most = whole_number("most", stored["most"], 16 * MOST_POINTS)
    features.grid_ = RegularGrid(positive_number("step", stored["step"]), tuple(places), most, mean, scale)
    groups = {name: array for name, array in arrays.items() if name in _CONTESTS}
    features.kernels_ = _kernels({name: array for name, array in arrays.items() if name not in groups}, C, most)
    features.contests_ = _contests(groups, C, most) if groups else []  # models of before had none
    features.names_ = names_of(features.kernels_, features.contests_)
    return features


def _kernels(arrays: Arrays, C: int, most: int) -> list[Kernel]:
    if set(arrays) != set(_KINDS) or any(arrays[name].dtype != kind for name, kind in _KINDS.items()):
        raise ValueError(f"kernels must have the arrays {', '.join(_KINDS)}, each of its type")
    view, dilation, triple, count, channel, thresholds = (arrays[name] for name in _KINDS)
    M = len(view)
    shapes = [array.shape for array in (view, dilation, triple, count, thresholds)]
    wanted = [(M,), (M,), (M, 3), (M,), (M, thresholds.shape[-1] if thresholds.ndim == 2 else -1)]
    if shapes != wanted or not 0 < thresholds.size <= _MOST_KERNELS or not np.isfinite(thresholds).all():
        raise ValueError("kernels must have a view, a dilation, three taps, channels and thresholds each")
    bounds = ((view, 0, len(VIEWS) - 1), (dilation, 1, most), (triple, 0, TAPS - 1), (count, 1, C), (channel, 0, C - 1))
    for array, low, high in bounds:
        if array.size and (array.min() < low or array.max() > high):
            raise ValueError(f"kernels must have numbers from {low} to {high} where they have others")
    if channel.shape != (int(count.sum()),):
        raise ValueError("kernels must have as many channels as they say")
    ends = np.cumsum(count)
    return [
        Kernel(
            VIEWS[view[place]],
            int(dilation[place]),
            (int(triple[place, 0]), int(triple[place, 1]), int(triple[place, 2])),
            tuple(channel[ends[place] - count[place] : ends[place]].tolist()),
            thresholds[place],
        )
        for place in range(M)
    ]


def _contests(arrays: Arrays, C: int, most: int) -> list[Contest]:
    if set(arrays) != set(_CONTESTS) or any(array.dtype != np.int64 for array in arrays.values()):
        raise ValueError(f"contests must have the arrays {', '.join(_CONTESTS)}, of whole numbers")
    view, dilation, triples, count, channel = (arrays[name] for name in _CONTESTS)
    M = len(view)
    if [array.shape for array in (view, dilation, triples, count)] != [(M,), (M,), (M, SIZE, 3), (M,)]:
        raise ValueError(f"contests must have a view, a dilation, {SIZE} times three taps and channels each")
    if not 0 < M * SIZE <= _MOST_KERNELS or channel.shape != (int(np.clip(count, 0, C).sum()),):
        raise ValueError("contests must have as many channels as they say")
    bounds = (
        (view, 0, len(VIEWS) - 1), (dilation, 1, most), (triples, 0, TAPS - 1), (count, 1, C), (channel, 0, C - 1),
    )  # fmt: skip
    for array, low, high in bounds:
        if array.min() < low or array.max() > high:
            raise ValueError(f"contests must have numbers from {low} to {high} where they have others")
    owned = np.split(channel, np.cumsum(count)[:-1])
    return [
        Contest(VIEWS[own[0]], int(own[1]), tuple((a, b, c) for a, b, c in own[2].tolist()), tuple(own[3].tolist()))
        for own in zip(view, dilation, triples, owned, strict=True)
    ]
