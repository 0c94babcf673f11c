"""Predict measurements with Dask: each file is a partition, and becomes a file of predictions.

    python examples/score_with_dask.py MODEL measurements/ predictions/ --scheduler tcp://head:8786

A file must hold whole series. Without a scheduler two processes of this machine do the work. Model and files lie where
all workers see them. Needs `dask[dataframe,distributed]`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
from dask import dataframe
from dask.distributed import Client, LocalCluster

import liquidtime as lt


def main(model: str, shards: str, out: str, scheduler: str | None = None) -> None:
    files = sorted(Path(shards).absolute().glob("*.parquet"))
    measurements = dataframe.from_map(pd.read_parquet, files)  # no file is cut: a series stays whole
    columns = lt.predict_frame(pd.read_parquet(files[0]).iloc[:0], model)  # names and types, without rows
    predictions = measurements.map_partitions(lt.predict_frame, str(Path(model).absolute()), meta=columns)
    place = scheduler or LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None)
    with Client(place):
        predictions.to_parquet(out, write_index=False)
    if not isinstance(place, str):
        place.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "shards", "out"):
        parser.add_argument(name)
    parser.add_argument("--scheduler")
    main(**vars(parser.parse_args()))
