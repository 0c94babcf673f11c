"""Random streams of one series, and the set that holds the same samples."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
from hypothesis import strategies as st

from liquidtime.data import SeriesSet

CATEGORIES = ("low", "mid", "top", "strange")  # the last is unknown in training
_GAPS = st.sampled_from([0.0, 0.0, 1e-3, 0.4, 1.0, 7.5, 300.0])  # several values at one time, in one bin, far apart
_VALUE = st.one_of(st.none(), st.just(math.nan), st.floats(-1e4, 1e4, width=32), st.sampled_from([0.0, -1.0, 3.5]))


@st.composite
def streams(draw: Any, channels: tuple[str, ...] = ("a", "b", "c0"), longest: int = 12) -> list[tuple[float, dict]]:
    """Samples (t, values) of one series: irregular, with gaps, repeated times and samples without any value."""
    t = draw(st.floats(-50, 50))
    samples = []
    for _ in range(draw(st.integers(1, longest))):
        t += draw(_GAPS)
        names = draw(st.lists(st.sampled_from([*channels, "k"]), unique=True, max_size=len(channels) + 1))
        values = {name: draw(st.sampled_from([None, *CATEGORIES]) if name == "k" else _VALUE) for name in names}
        samples.append((t, values))
    return samples


def as_set(samples: list[tuple[float, dict]], channels: tuple[str, ...], static: dict[str, Any]) -> SeriesSet:
    """The samples as a set of one series, read as a frame with one row per sample."""
    columns = {"id": [1] * len(samples), "t": [t for t, _ in samples]}
    columns |= {name: [values.get(name) for _, values in samples] for name in channels}
    columns |= {name: [value] * len(samples) for name, value in static.items()}
    schema = {"id": pl.Int64, "t": pl.Float64, "age": pl.Float64, "ward": pl.String}
    schema |= {name: pl.String if name == "k" else pl.Float64 for name in channels}
    frame = pl.DataFrame(columns, schema={name: schema[name] for name in columns})
    categorical = [name for name in ("k", "ward") if name in columns]
    return SeriesSet.from_wide(frame, id="id", time="t", time_unit="h", static=list(static), categorical=categorical)
