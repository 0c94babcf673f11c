"""The models of the experiments by name, and the parts of the lane-keeping and driving networks."""

from liquidtime.paper.models.table import MODELS

__all__ = ["MODELS"]
