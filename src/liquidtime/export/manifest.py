"""The description in an exported folder: channels, classes, scaling and state, for people and for programs."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from liquidtime._version import __version__
from liquidtime.data.encoding.scaling import Scaling
from liquidtime.estimators.live import fingerprint_of
from liquidtime.export.forecast_step import ForecastStep
from liquidtime.export.layout import FORMAT
from liquidtime.export.step import Step
from liquidtime.export.vectors import BOUND
from liquidtime.times import SECONDS

NAME = "model.json"


def manifest(step: Step, target: str, real_vectors: bool) -> dict[str, Any]:
    """Return the description of an exported model, ready for JSON.

    Args:
        step: the model.
        target: "onnx", "c" or "web".
        real_vectors: whether the test vectors come from real data.
    """
    encoder, layout = step.encoder, step.layout
    unit = encoder.time_unit_
    further = _of_forecasts(step) if isinstance(step, ForecastStep) else {}
    return further | {
        "format": FORMAT,
        "made_by": f"liquidtime {__version__}",
        "target": target,
        "model": fingerprint_of(step.encoders, step.networks),
        "task": step.task,
        "classes": step.classes,
        "threshold": step.threshold,
        "outputs": step.outputs,
        "output_names": step.output_names,
        "per_step": step.per_step,
        "time_unit": unit,
        "nanoseconds_per_time_unit": None if unit is None else SECONDS[unit] / SECONDS["ns"],
        "times": "numbers in the time unit, never before the newest one of the series; a time stamp counts from the "
        "first sample of its series",
        "channels": _described(encoder.channels_, encoder.scaling_, encoder.categories_),
        "static": _described(encoder.static_names_, encoder.static_scaling_, encoder.categories_),
        "scales": [{"bin_width": each.bin_width, "median_interval": each.time_scale_} for each in step.encoders],
        "networks": len(step.networks),
        "state": {
            "format": FORMAT,
            "doubles": layout.doubles,
            "floats": layout.floats,
            "bytes": layout.nbytes,
            "before_the_first_sample": "all zeros",
            "fields": [dataclasses.asdict(field) for field in layout.fields],
        },
        "bound": {
            "largest_difference": BOUND,
            "unit": step.spread.tolist(),
            "in": "probabilities" if step.has_chances else "standard deviations of the training targets",
        },
        "test_vectors": {"file": "vectors.json", "of": "real data" if real_vectors else "made-up series"},
    }


def _of_forecasts(step: ForecastStep) -> dict[str, Any]:
    return {
        "targets": step.targets,
        "known_channels": step.known_channels,
        "horizon": step.horizon,
        "calendar": step.calendar,
        "coverage": "fraction of values that intervals contain, greater than 0 and at most 0.99",
        "memory": f"the {step.recent.capacity} newest values of each target; `recent: lost` in the state counts those "
        f"that were forgotten within {step.recent.reach:g} of the newest",
    }


def _described(
    names: tuple[str, ...], scaling: Scaling, categories: dict[str, tuple[str, ...]]
) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "unit": "as in training",
            "categories": list(categories[name]) if name in categories else None,
            "scaling": "one input per category" if name in categories else _in_words(scaling, c),
        }
        for c, name in enumerate(names)
    ]


def _in_words(scaling: Scaling, c: int) -> str:
    parts = []
    if scaling.unit[c] > 0:
        parts.append(f"log(1 + v / {scaling.unit[c]:.6g}), of v at least 0")
    if np.isfinite(scaling.low[c]) or np.isfinite(scaling.high[c]):
        parts.append(f"clipped to {scaling.low[c]:.6g} … {scaling.high[c]:.6g}")
    parts.append(f"minus {scaling.mean[c]:.6g}")
    parts.append(f"divided by {scaling.scale[c]:.6g}")
    return ", then ".join(parts)
