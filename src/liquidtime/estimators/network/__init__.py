"""The network around the recurrent layer, its inputs, and the training of ensemble members."""

from liquidtime.estimators.network.auxiliary import WithAuxiliary, beside, standardised
from liquidtime.estimators.network.inputs import Prepared, SeriesBatch, SeriesBatches, as_series
from liquidtime.estimators.network.members import (
    PREDICT_BATCH,
    LossOf,
    Part,
    PartsOf,
    folds,
    held_back,
    member_folder,
    train_member,
)
from liquidtime.estimators.network.network import NetworkState, SeriesNetwork
from liquidtime.estimators.network.piecewise import PiecewiseLinear
from liquidtime.estimators.network.scales import SCALES, check_width, encoders_of
from liquidtime.estimators.network.summary import Summary

__all__ = [
    "PREDICT_BATCH",
    "SCALES",
    "LossOf",
    "NetworkState",
    "Part",
    "PartsOf",
    "PiecewiseLinear",
    "Prepared",
    "SeriesBatch",
    "SeriesBatches",
    "SeriesNetwork",
    "Summary",
    "WithAuxiliary",
    "as_series",
    "beside",
    "check_width",
    "encoders_of",
    "folds",
    "held_back",
    "member_folder",
    "standardised",
    "train_member",
]
