"""One HTML page about one trained model: what it was given, how it learned, how good it is."""

from liquidtime.evaluation.report.contents import Curve, ReportData
from liquidtime.evaluation.report.page import render

__all__ = ["Curve", "ReportData", "render"]
