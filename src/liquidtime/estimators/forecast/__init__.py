"""The parts of forecasters: the network, its training examples, seasons, and the mixture with naive forecasts."""

from liquidtime.estimators.forecast.blend import LEVELS, Blend, fit_blend
from liquidtime.estimators.forecast.carried import CarriedForecast
from liquidtime.estimators.forecast.channels import find_channels
from liquidtime.estimators.forecast.folds import Fold, forecast_folds
from liquidtime.estimators.forecast.lesson import TREND, Draw, Scene, Standard, answers_of, lesson_of
from liquidtime.estimators.forecast.network import (
    BEYOND,
    PARTS,
    Anchors,
    ForecastNetwork,
    Questions,
    parts_of,
    said_of_cuts,
)
from liquidtime.estimators.forecast.recent import Recent
from liquidtime.estimators.forecast.season import Seasons, find_seasons
from liquidtime.estimators.forecast.seen import Seen, known_from, known_in, observed_until

__all__ = [
    "BEYOND",
    "LEVELS",
    "PARTS",
    "TREND",
    "Anchors",
    "Blend",
    "CarriedForecast",
    "Draw",
    "Fold",
    "ForecastNetwork",
    "Questions",
    "Recent",
    "Scene",
    "Seasons",
    "Seen",
    "Standard",
    "answers_of",
    "find_channels",
    "find_seasons",
    "fit_blend",
    "forecast_folds",
    "known_from",
    "known_in",
    "lesson_of",
    "observed_until",
    "parts_of",
    "said_of_cuts",
]
