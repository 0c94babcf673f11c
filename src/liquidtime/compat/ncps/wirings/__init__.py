"""The wirings of `ncps`: objects that change when they are built, over the immutable ones of this library."""

from liquidtime.compat.ncps.wirings.wirings import NCP, AutoNCP, FullyConnected, Random, Wiring

__all__ = ["NCP", "AutoNCP", "FullyConnected", "Random", "Wiring"]
