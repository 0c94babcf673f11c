"""What a forecaster has learned besides encoder and weights, as JSON can hold it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from liquidtime.estimators.forecast.blend import LEVELS, Blend
from liquidtime.estimators.forecast.lesson import Scene, Standard
from liquidtime.estimators.forecast.network import PARTS
from liquidtime.estimators.forecast.season import Seasons

_FORM = 2
"""Form 1 had no mixture, and no `form`."""
_MOST_CYCLES = 16


def stored_learned(channels: Sequence[str], horizon: float, scene: Scene, blend: Blend) -> dict[str, Any]:
    """Return all as JSON can hold it; `read_learned` reads it back."""
    return {
        "channels": list(channels),
        "form": _FORM,
        "horizon": horizon,
        "standard": scene.standard.to_dict(),
        "seasons": {
            "period": scene.seasons.period,
            "cycles": list(scene.seasons.cycles),
            "calendar": scene.seasons.calendar,
        },
        "blend": {
            "knots": blend.knots.tolist(),
            "weights": blend.weights.tolist(),
            "errors": blend.errors.tolist(),
        },
    }


def read_learned(learned: Mapping[str, Any], time_scale: float) -> tuple[float, Scene, Blend]:
    """Return horizon, scene and mixture from what `stored_learned` returned, checked.

    Args:
        learned: as stored.
        time_scale: of the encoder.

    Raises:
        ValueError: of another form, or what does not fit together.

    """
    if learned["form"] != _FORM:
        raise ValueError(f"`form` of a forecaster must be {_FORM}; got {learned['form']!r}. Update liquidtime.")
    C = len(learned["channels"])
    horizon = float(learned["horizon"])
    stored = learned["seasons"]
    cycles, period = tuple(float(cycle) for cycle in stored["cycles"]), stored["period"]
    lengths = [*cycles, *([] if period is None else [float(period)])]
    if not horizon > 0 or not all(length > 0 for length in lengths) or len(cycles) > _MOST_CYCLES:
        raise ValueError("`horizon`, `period` and `cycles` of a forecaster must be over 0")
    seasons = Seasons(None if period is None else float(period), cycles, bool(stored["calendar"]))
    knots, weights, errors = (
        np.asarray(learned["blend"][name], dtype=np.float64) for name in ("knots", "weights", "errors")
    )
    K = len(knots)
    if K < 2 or knots.ndim != 1 or knots[0] != 0 or not (np.diff(knots) > 0).all():
        raise ValueError("`knots` of a forecaster must be increasing gaps from 0")
    if weights.shape != (C, K, len(PARTS)) or (weights < 0).any() or not np.allclose(weights.sum(axis=2), 1.0):
        raise ValueError("`weights` of a forecaster must be at least 0, and 1 in all at each knot of each channel")
    if errors.shape != (C, K, len(LEVELS)):
        raise ValueError(f"`errors` of a forecaster must be ({C}, {K}, {len(LEVELS)}); got {errors.shape}")
    scene = Scene(Standard.from_dict(learned["standard"], C), seasons, time_scale)
    return horizon, scene, Blend(knots, weights, errors)
