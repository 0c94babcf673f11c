"""Trained models outside Python: one step from sample to sample, from which every target is made."""

from liquidtime.export.step import FlatState, Step, step_of

__all__ = ["FlatState", "Step", "step_of"]
