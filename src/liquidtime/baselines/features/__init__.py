"""Whole series as tables of features, learners for these tables, and weights for averaging several models."""

from liquidtime.baselines.features.blending import blend_weights, blended
from liquidtime.baselines.features.convolutions import ConvolutionFeatures
from liquidtime.baselines.features.rich import RichFeatures
from liquidtime.baselines.features.ridge import Ridge
from liquidtime.baselines.features.running import RunningFeatures
from liquidtime.baselines.features.trees import Trees

__all__ = ["ConvolutionFeatures", "RichFeatures", "Ridge", "RunningFeatures", "Trees", "blend_weights", "blended"]
