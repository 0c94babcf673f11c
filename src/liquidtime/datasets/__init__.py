"""The paper's data, one file a set."""

from liquidtime.datasets.xor import Sequences, xor

__all__ = ["Sequences", "xor"]
