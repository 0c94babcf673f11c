"""The command line: reads arguments, calls the library, prints. No mathematics."""

from liquidtime.cli.app import main

__all__ = ["main"]
