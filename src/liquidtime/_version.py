"""The version, in one place for the whole package."""

__version__ = "0.2.0"
