"""How good a model is: a held-out part, figures with intervals, baselines from the same run, a report of it all."""

from liquidtime.evaluation.comparison import Comparison, compare, scores
from liquidtime.evaluation.forecasting import ForecastTest, forecast_test
from liquidtime.evaluation.hold_out import hold_out
from liquidtime.evaluation.report_data import report_data

__all__ = ["Comparison", "ForecastTest", "compare", "forecast_test", "hold_out", "report_data", "scores"]
