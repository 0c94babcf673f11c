"""Operations over whole sequences, each with its definition in plain PyTorch and a kernel that equals it."""

from liquidtime.ops.backend import backend, live_backend, set_backend, using_backend
from liquidtime.ops.cfc_scan import cfc_scan
from liquidtime.ops.ltc_scan import ltc_scan

__all__ = ["backend", "cfc_scan", "live_backend", "ltc_scan", "set_backend", "using_backend"]
