"""Closed-form continuous-time and liquid neural networks for irregularly sampled time series."""

__version__ = "0.1.0"
