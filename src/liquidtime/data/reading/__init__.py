"""Read tables, frames, arrays and files as sets of series."""

from liquidtime.data.reading.columns import check_column, label_of
from liquidtime.data.reading.files import Table, read_frame, read_table, sources_of
from liquidtime.data.reading.from_arrays import from_arrays
from liquidtime.data.reading.from_long import from_long
from liquidtime.data.reading.from_wide import from_wide
from liquidtime.data.reading.options import Reading
from liquidtime.data.reading.targets import align_labels, align_outcomes, check_classes, check_target, check_values
from liquidtime.data.reading.times import ZONE

__all__ = [
    "ZONE",
    "Reading",
    "Table",
    "align_labels",
    "align_outcomes",
    "check_classes",
    "check_column",
    "check_target",
    "check_values",
    "from_arrays",
    "from_long",
    "from_wide",
    "label_of",
    "read_frame",
    "read_table",
    "sources_of",
]
