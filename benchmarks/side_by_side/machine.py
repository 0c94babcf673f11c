"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import torch

from liquidtime._provenance import processor
from liquidtime.ops import live_backend
from liquidtime.ops.native import library

PACKAGES = ("torch", "numpy", "ncps", "jax", "torchdiffeq", "matplotlib")
"""What takes part."""
FOLDER = Path(__file__).resolve().parents[1]
"""Of the benchmarks."""


def machine_facts() -> dict[str, Any]:
    """Return processor, memory, system and how busy it is."""
    return {
        "processor": processor(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "load_average": [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "system": platform.system(),
        "vector_instructions": torch.backends.cpu.get_cpu_capability(),
        "kernel_instructions": library.target() if library.is_built() else None,
        "backend": live_backend(),
    }
