"""Where the real data sets and the paper's text are, on a machine that has them.

A test says what it needs, `@pytest.mark.data("imdb/train.parquet")`, and is skipped with that reason without it.
"""

import os
from pathlib import Path

REAL = Path(os.environ.get("LIQUIDTIME_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
PAPER = "../paper"
"""Folder with the paper's source, beside that of the data."""


def missing(marks):
    """Return why a test with these marks cannot run; empty where it can."""
    needed = [file for mark in marks for file in mark.args]
    absent = [file for file in needed if not (REAL / file).exists()]
    return f"not in the folder LIQUIDTIME_DATA: {', '.join(absent)}" if absent else ""
