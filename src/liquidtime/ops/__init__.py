"""Operations over whole sequences: one entry point for each, and a folder for each kind of device."""

from liquidtime.ops.backend import backend, live_backend, set_backend, using_backend
from liquidtime.ops.cfc_scan import cfc_frozen_stepper, cfc_scan, cfc_stepper
from liquidtime.ops.ltc_scan import ltc_scan

__all__ = [
    "backend",
    "cfc_frozen_stepper",
    "cfc_scan",
    "cfc_stepper",
    "live_backend",
    "ltc_scan",
    "set_backend",
    "using_backend",
]
