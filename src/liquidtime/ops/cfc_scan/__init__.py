"""The recurrence of the CfC family over whole sequences. README.md has the equations."""

from liquidtime.ops.cfc_scan.backend import BACKENDS, Backend, FrozenStepper, Stepper
from liquidtime.ops.cfc_scan.cpu import CpuBackend
from liquidtime.ops.cfc_scan.form import MAX_LAYERS, Form
from liquidtime.ops.cfc_scan.operator import cfc_frozen_stepper, cfc_scan, cfc_stepper
from liquidtime.ops.cfc_scan.triton import TritonBackend

__all__ = [
    "BACKENDS",
    "MAX_LAYERS",
    "Backend",
    "Form",
    "FrozenStepper",
    "Stepper",
    "cfc_frozen_stepper",
    "cfc_scan",
    "cfc_stepper",
]

BACKENDS.register(CpuBackend())
BACKENDS.register(TritonBackend())
