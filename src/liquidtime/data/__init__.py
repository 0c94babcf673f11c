"""Irregular data in: sets of series, readers, encoding and batches."""

from liquidtime.data.batches import Batch, Batches, pad
from liquidtime.data.concatenate import concatenate
from liquidtime.data.describe import Description
from liquidtime.data.encoder import Encoded, SeriesEncoder
from liquidtime.data.files import read_frame
from liquidtime.data.from_arrays import from_arrays
from liquidtime.data.from_long import from_long
from liquidtime.data.from_wide import from_wide
from liquidtime.data.history import History
from liquidtime.data.notes import Note
from liquidtime.data.open_bins import OpenSteps, open_steps
from liquidtime.data.series_set import Series, SeriesSet
from liquidtime.data.stream import SeriesStream
from liquidtime.data.targets import align_labels, align_outcomes, check_target

__all__ = [
    "Batch",
    "Batches",
    "Description",
    "Encoded",
    "History",
    "Note",
    "OpenSteps",
    "Series",
    "SeriesEncoder",
    "SeriesSet",
    "SeriesStream",
    "align_labels",
    "align_outcomes",
    "check_target",
    "concatenate",
    "from_arrays",
    "from_long",
    "from_wide",
    "open_steps",
    "pad",
    "read_frame",
]
