"""The version, where everything in the package can read it."""

__version__ = "0.2.0"
