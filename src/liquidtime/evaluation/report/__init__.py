"""One HTML page about a trained model: its data, its training, and its test."""

from liquidtime.evaluation.report.contents import Curve, ReportData
from liquidtime.evaluation.report.page import render

__all__ = ["Curve", "ReportData", "render"]
