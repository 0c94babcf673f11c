"""The recurrence of the CfC family over whole sequences. README.md says what it equals."""

from liquidtime.ops.cfc_scan.backend import BACKENDS, Backend, Stepper
from liquidtime.ops.cfc_scan.cpu import CpuBackend
from liquidtime.ops.cfc_scan.form import MAX_LAYERS, Form
from liquidtime.ops.cfc_scan.operator import cfc_scan, cfc_stepper

__all__ = ["BACKENDS", "MAX_LAYERS", "Backend", "Form", "Stepper", "cfc_scan", "cfc_stepper"]

BACKENDS.register(CpuBackend())
