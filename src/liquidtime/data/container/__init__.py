"""The set of series: its samples, its time unit, and notes about repairs during reading."""

from liquidtime.data.container.clock import absolute_times, sample_times
from liquidtime.data.container.concatenate import arranged, concatenate
from liquidtime.data.container.describe import Description, Spread
from liquidtime.data.container.notes import Findings, Note, first_places, first_words
from liquidtime.data.container.series_set import Series, SeriesSet, flat_rows, neighbours
from liquidtime.data.container.shared_time import common_clock, moving_together
from liquidtime.data.container.time_units import (
    EXACT,
    Ticks,
    as_nanoseconds,
    as_ticks,
    check_unit,
    conversion,
    to_times,
    unknown,
)

__all__ = [
    "EXACT",
    "Description",
    "Findings",
    "Note",
    "Series",
    "SeriesSet",
    "Spread",
    "Ticks",
    "absolute_times",
    "arranged",
    "as_nanoseconds",
    "as_ticks",
    "check_unit",
    "common_clock",
    "concatenate",
    "conversion",
    "first_places",
    "first_words",
    "flat_rows",
    "moving_together",
    "neighbours",
    "sample_times",
    "to_times",
    "unknown",
]
