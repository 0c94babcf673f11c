"""The parts of a fitted forecaster besides encoder and weights, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from liquidtime.estimators.forecast.blend import LEVELS, Blend
from liquidtime.estimators.forecast.lesson import Scene, Standard
from liquidtime.estimators.forecast.local_clock import LocalClock
from liquidtime.estimators.forecast.network import PARTS
from liquidtime.estimators.forecast.season import Seasons

_FORM = 4
"""Form 1 had no mixture and no `form`; form 2 had no known channels and one size of errors for all; networks of form 3
did not get straight-line forecasts as inputs."""
LINES = 4
"""First form in which they do."""
_MOST_CYCLES = 16


def stored_learned(channels: Sequence[str], horizon: float, scene: Scene, blend: Blend) -> dict[str, Any]:
    """Return everything for JSON; `read_learned` reads it."""
    return {
        "channels": list(channels),
        "form": _FORM,
        "horizon": horizon,
        "standard": scene.standard.to_dict(),
        "known": scene.known.to_dict(),
        "seasons": _stored_seasons(scene.seasons),
        "blend": stored_blend(blend),
    }


def _stored_seasons(seasons: Seasons) -> dict[str, Any]:
    stored = {"period": seasons.period, "cycles": list(seasons.cycles), "calendar": seasons.calendar}
    if seasons.clock is None:
        return stored
    return stored | {"clock": seasons.clock.to_dict(), "second": seasons.second}


def stored_blend(blend: Blend) -> dict[str, Any]:
    """Return a mixture for JSON; `read_blend` reads it."""
    return {name: getattr(blend, name).tolist() for name in ("knots", "weights", "sizes", "errors")}


def read_learned(facts: Mapping[str, Any], time_scale: float, known: int) -> tuple[float, Scene, Blend]:
    """Return horizon, scene and mixture from the result of `stored_learned`, after checking it.

    Args:
        facts: as stored.
        time_scale: of the encoder.
        known: how many channels there are whose future is known.

    Raises:
        ValueError: of another form, or what does not fit together.

    """
    if facts["form"] not in range(2, _FORM + 1):
        raise ValueError(f"`form` of a forecaster must be up to {_FORM}; got {facts['form']!r}. Update liquidtime.")
    C = len(facts["channels"])
    horizon = float(facts["horizon"])
    stored = facts["seasons"]
    cycles, period = tuple(float(cycle) for cycle in stored["cycles"]), stored["period"]
    lengths = [*cycles, *([] if period is None else [float(period)])]
    if not horizon > 0 or not all(length > 0 for length in lengths) or len(cycles) > _MOST_CYCLES:
        raise ValueError("`horizon`, `period` and `cycles` of a forecaster must be over 0")
    clock = LocalClock.from_dict(stored["clock"]) if "clock" in stored else None
    second = float(stored.get("second", 1.0))
    if not 0 < second < np.inf or (clock is not None and not (stored["calendar"] and cycles)):
        raise ValueError("`second` of a forecaster must be over 0, and a clock must have the cycles of a calendar")
    seasons = Seasons(None if period is None else float(period), cycles, bool(stored["calendar"]), clock, second)
    blend = read_blend(facts["blend"], C, PARTS)
    nothing: dict[str, list[float]] = {"centre": [], "scale": [], "positive": []}
    given = Standard.from_dict(facts.get("known", nothing), known)
    return horizon, Scene(Standard.from_dict(facts["standard"], C), seasons, time_scale, given), blend


def read_blend(stored: Mapping[str, Any], C: int, names: Sequence[str]) -> Blend:
    """Return a mixture from its arrays as lists, after checking them.

    Args:
        stored: by name.
        C: channels.
        names: the parts.

    Raises:
        ValueError: what does not fit together.

    """
    knots, weights, errors = (np.asarray(stored[name], dtype=np.float64) for name in ("knots", "weights", "errors"))
    K = len(knots)
    if K < 2 or knots.ndim != 1 or knots[0] != 0 or not (np.diff(knots) > 0).all():
        raise ValueError("`knots` of a forecaster must be increasing gaps from 0")
    if weights.shape != (C, K, len(names)) or (weights < 0).any() or not np.allclose(weights.sum(axis=2), 1.0):
        raise ValueError("`weights` of a forecaster must be at least 0, and 1 in all at each knot of each channel")
    if errors.shape != (C, K, len(LEVELS)) or not np.isfinite(errors).all():
        raise ValueError(f"`errors` of a forecaster must be ({C}, {K}, {len(LEVELS)}); got {errors.shape}")
    one = np.concatenate([np.ones((C, K)), np.zeros((C, 3))], axis=1)
    sizes = np.asarray(stored.get("sizes", one), dtype=np.float64)
    if sizes.shape != (C, K + 3) or not np.isfinite(sizes).all() or (sizes < 0).any():
        raise ValueError(f"`sizes` of a forecaster must be ({C}, {K + 3}), at least 0; got {sizes.shape}")
    return Blend(knots, weights, sizes, errors)
