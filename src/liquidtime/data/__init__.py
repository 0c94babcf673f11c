"""Irregular data in: sets of series, readers, encoding and batches."""

from liquidtime.data.container.concatenate import concatenate
from liquidtime.data.container.describe import Description
from liquidtime.data.container.notes import Note
from liquidtime.data.container.series_set import Series, SeriesSet
from liquidtime.data.encoding.batches import Batch, Batches, pad
from liquidtime.data.encoding.encoder import Encoded, SeriesEncoder
from liquidtime.data.encoding.history import History
from liquidtime.data.encoding.open_bins import OpenSteps, open_steps
from liquidtime.data.encoding.stream import SeriesStream
from liquidtime.data.reading.files import read_frame
from liquidtime.data.reading.from_arrays import from_arrays
from liquidtime.data.reading.from_long import from_long
from liquidtime.data.reading.from_wide import from_wide
from liquidtime.data.reading.targets import align_labels, align_outcomes, check_target

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
