"""Convert fitted rich features to JSON and back; contents of unknown origin are bounded before they are used."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from liquidtime.baselines.features import RichFeatures
from liquidtime.baselines.features.periods import MOST_FREQUENCIES, FrequencyGrid
from liquidtime.baselines.features.rich import Plan
from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.estimators.network.summary import Summary

_MOST_LAGS = 64


def stored_rich(features: RichFeatures) -> dict[str, Any]:
    """Return fitted features, ready for JSON; channels and categories are those of the networks' encoder."""
    plans = [
        {
            "trends": plan.trends,
            "shapes": plan.shapes,
            "lags": plan.lags.tolist(),
            "grid": None if plan.grid is None else [plan.grid.step, plan.grid.count],
        }
        for plan in features.plans_
    ]
    return {"span": features.span_, "plans": plans, "names": list(features.names_)}


def restored_rich(stored: Any, encoder: SeriesEncoder) -> RichFeatures:
    """Return the features from the result of `stored_rich`.

    Args:
        stored: of JSON.
        encoder: of the networks.

    Raises:
        ValueError: settings out of bounds, or names of columns that these settings do not make.

    """
    features, plans = RichFeatures(), stored["plans"]
    describe(features, encoder)
    features.span_ = positive_number("span", stored["span"])
    if not isinstance(plans, list) or len(plans) != len(encoder.channels_):
        raise ValueError("`plans` of features must be one per channel")
    features.plans_ = [_plan(plan) for plan in plans]
    names = stored["names"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("`names` of features must be texts")
    wanted = set(names)
    nothing = SeriesSet(
        np.array([0, 1]),
        np.zeros(1),
        np.full((1, len(encoder.channels_)), np.nan),
        encoder.channels_,
        static=np.full((1, len(encoder.static_names_)), np.nan),
        static_names=encoder.static_names_,
        time_unit=encoder.time_unit_,
        categories=encoder.categories_,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # means of nothing
        made = [name for name, _ in features._columns(nothing) if name in wanted]
    if made != names:
        raise ValueError("`names` of features must be columns that the plans make, in their order")
    features.names_ = tuple(names)
    return features


def _plan(stored: Any) -> Plan:
    lags, grid = stored["lags"], stored["grid"]
    if not isinstance(stored["trends"], bool) or not isinstance(stored["shapes"], bool):
        raise ValueError("`trends` and `shapes` of a plan must be truth values")
    if not isinstance(lags, list) or len(lags) > _MOST_LAGS:
        raise ValueError(f"`lags` of a plan must be at most {_MOST_LAGS} numbers")
    frequencies = None
    if grid is not None:
        step, count = grid
        frequencies = FrequencyGrid(positive_number("grid", step), whole_number("grid", count, MOST_FREQUENCIES))
    return Plan(
        stored["trends"],
        stored["shapes"],
        np.array([positive_number("lags", lag) for lag in lags], dtype=np.float64),
        frequencies,
    )


def stored_summary(summary: Summary) -> dict[str, Any]:
    """Return the summary of whole series, ready for JSON."""
    return {**stored_rich(summary.features), "centre": summary.centre.tolist()}


def restored_summary(stored: Any, encoder: SeriesEncoder) -> Summary:
    """Return the summary from the result of `stored_summary`.

    Raises:
        ValueError: as `restored_rich`, or another number of medians than of features.

    """
    features, centre = restored_rich(stored, encoder), stored["centre"]
    if not isinstance(centre, list) or not all(type(number) in (int, float) for number in centre):
        raise ValueError("`centre` of features must be numbers")
    if len(centre) != len(features.names_):
        raise ValueError(f"`centre` must have one number per feature, {len(features.names_)}; got {len(centre)}")
    return Summary(features, np.array(centre, dtype=np.float64))


def describe(features: Any, encoder: SeriesEncoder) -> None:
    """Set the channels of the features to those that networks read."""
    features.channels_, features.static_names_ = encoder.channels_, encoder.static_names_
    features.categories_, features.time_unit_ = dict(encoder.categories_), encoder.time_unit_


def positive_number(name: str, number: Any) -> float:
    """Return a stored number that is finite and over 0, or refuse it."""
    if not isinstance(number, int | float) or isinstance(number, bool) or not (number > 0 and math.isfinite(number)):
        raise ValueError(f"`{name}` of features must be finite and over 0; got {number!r}")
    return float(number)


def whole_number(name: str, number: Any, most: int, least: int = 1) -> int:
    """Return a stored whole number within bounds, or refuse it."""
    if type(number) is not int or not least <= number <= most:
        raise ValueError(f"`{name}` of features must be a whole number from {least} to {most:,}; got {number!r}")
    return number
