"""Export of trained models: one step from sample to sample, from which ONNX, C and a web page are generated.

lt.export.onnx(model, "folder");   lt.export.c(model, "folder");   lt.export.web(model, "folder")
"""

from liquidtime.export.folder import Exported
from liquidtime.export.of_model import step_of
from liquidtime.export.step import FlatState, Step
from liquidtime.export.to_c import c
from liquidtime.export.to_onnx import onnx
from liquidtime.export.to_web import web
from liquidtime.export.vectors import CheckFailed

__all__ = ["CheckFailed", "Exported", "FlatState", "Step", "c", "onnx", "step_of", "web"]
