"""Models without networks: a constant guess, gradient boosting on summary features, naive forecasts."""

from liquidtime.baselines.classical.boosting import RATE, SummaryBoosting
from liquidtime.baselines.classical.forecasts import LINE, LastValue, MeanSoFar, SeasonalNaive, StraightLine
from liquidtime.baselines.classical.guess import Guess
from liquidtime.baselines.classical.summary import SUMMARY, summary_features

__all__ = [
    "LINE",
    "RATE",
    "SUMMARY",
    "Guess",
    "LastValue",
    "MeanSoFar",
    "SeasonalNaive",
    "StraightLine",
    "SummaryBoosting",
    "summary_features",
]
