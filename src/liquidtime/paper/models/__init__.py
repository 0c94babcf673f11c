"""What the experiments train: every model of the tables by name, and the parts of the lane-keeping networks."""

from liquidtime.paper.models.table import MODELS

__all__ = ["MODELS"]
