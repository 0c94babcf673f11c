"""Encode series as inputs of a network: scaling, bins, history, batches; whole sets, or one sample at a time."""

from liquidtime.data.encoding.alignment import aligned
from liquidtime.data.encoding.batches import Batch, Batches, BatchPlan, pad, plan_batches
from liquidtime.data.encoding.encoder import Encoded, SeriesEncoder
from liquidtime.data.encoding.encoder_layout import Layout
from liquidtime.data.encoding.future_times import gaps_to, split_rows
from liquidtime.data.encoding.history import History
from liquidtime.data.encoding.sample import Clock, read_static, refuse_overflow
from liquidtime.data.encoding.step import SampleStep, Step, StepState
from liquidtime.data.encoding.stream import SeriesStream, read_sample

__all__ = [
    "Batch",
    "BatchPlan",
    "Batches",
    "Clock",
    "Encoded",
    "History",
    "Layout",
    "SampleStep",
    "SeriesEncoder",
    "SeriesStream",
    "Step",
    "StepState",
    "aligned",
    "gaps_to",
    "pad",
    "plan_batches",
    "read_sample",
    "read_static",
    "refuse_overflow",
    "split_rows",
]
