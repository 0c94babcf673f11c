"""Irregular data: sets of series, readers, encoding and batches."""

from liquidtime.data.container import Description, Note, Series, SeriesSet, concatenate
from liquidtime.data.encoding import Batch, Batches, Encoded, History, SeriesEncoder, SeriesStream, pad
from liquidtime.data.reading import (
    align_labels,
    align_outcomes,
    check_classes,
    check_target,
    check_values,
    from_arrays,
    from_long,
    from_wide,
    read_frame,
)
from liquidtime.data.stored import StoredSet, open_set

__all__ = [
    "Batch",
    "Batches",
    "Description",
    "Encoded",
    "History",
    "Note",
    "Series",
    "SeriesEncoder",
    "SeriesSet",
    "SeriesStream",
    "StoredSet",
    "align_labels",
    "align_outcomes",
    "check_classes",
    "check_target",
    "check_values",
    "concatenate",
    "from_arrays",
    "from_long",
    "from_wide",
    "open_set",
    "pad",
    "read_frame",
]
