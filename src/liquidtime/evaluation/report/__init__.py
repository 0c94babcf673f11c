"""One HTML page about one trained model: what it was given, how it learned, how good it is."""

from liquidtime.evaluation.report.contents import Curve, Figure, ModelResult, ReportData, SeriesView
from liquidtime.evaluation.report.page import render, write_report

__all__ = ["Curve", "Figure", "ModelResult", "ReportData", "SeriesView", "render", "write_report"]
