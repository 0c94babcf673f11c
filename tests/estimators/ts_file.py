"""A reader of .ts files: dimensions parted by colons, samples by commas, the class last."""

import numpy as np

from liquidtime.data import SeriesSet


def read_ts(path):
    """Return the series of a file, without the NaN that pads some to one length, and their classes."""
    body = path.read_text(encoding="utf-8").split("@data", 1)[1].strip().splitlines()
    rows, labels = [], []
    for line in body:
        *dimensions, label = line.strip().split(":")
        values = np.array([[float(item.replace("?", "nan")) for item in part.split(",")] for part in dimensions]).T
        kept = np.flatnonzero(~np.isnan(values).all(axis=1))
        values = values[: kept[-1] + 1 if len(kept) else 0]
        rows.append((np.arange(len(values)), values))
        labels.append(label)
    return SeriesSet.from_arrays(rows), np.array(labels)
