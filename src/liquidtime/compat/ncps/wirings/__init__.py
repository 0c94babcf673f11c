"""The wirings of `ncps`, which change when they are built, implemented with the immutable ones of this library."""

from liquidtime.compat.ncps.wirings.wirings import NCP, AutoNCP, FullyConnected, Random, Wiring

__all__ = ["NCP", "AutoNCP", "FullyConnected", "Random", "Wiring"]
