"""How long do 5.3 million long rows take to become a SeriesSet, and how much memory beside the frame?

    python -m benchmarks.series_set [--rows 5300000] [--out FILE.json]

The rows are PhysioNet 2012 stays if they are in the folder LIQUIDTIME_DATA, repeated
under new ids until there are enough; otherwise made up in the same shape. In the same run polars groups the frame by
series (lists of times, channels and values) and pivots it to one column a channel, which is what a set holds. Memory
is the peak of the resident set over what it was with the frame loaded, each reader in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import multiprocessing.connection
import os
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl

READ = {"id": "record_id", "time": "minutes", "channel": "parameter", "value": "value"}


def load(rows: int, shuffled: bool) -> pl.DataFrame:
    files = sorted(Path(os.environ.get("LIQUIDTIME_DATA", ".")).glob("physionet2012/records-*.parquet"))
    stays = pl.concat([pl.read_parquet(file) for file in files]) if files else made_up()
    span = int(np.ptp(stays["record_id"].to_numpy())) + 1
    copies = -(-rows // stays.height)
    frame = pl.concat([stays.with_columns(record_id=pl.col("record_id") + copy * span) for copy in range(copies)])
    frame = frame.head(rows).with_columns(pl.col("record_id").cast(pl.Int32)).rechunk()
    return frame.sample(fraction=1.0, shuffle=True, seed=0).rechunk() if shuffled else frame


def made_up() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    stays, per_stay = 8000, 440
    ids = np.repeat(np.arange(stays, dtype=np.int32), per_stay)
    minutes = np.sort(rng.integers(0, 2881, (stays, 74)), axis=1)[:, np.sort(rng.integers(0, 74, per_stay))].ravel()
    names = pl.Series([f"channel {number:02}" for number in range(41)])[rng.integers(0, 41, len(ids))]
    columns = {
        "record_id": ids,
        "minutes": minutes.astype(np.int16),
        "parameter": names,
        "value": rng.normal(size=len(ids)),
    }
    return pl.DataFrame(columns).with_columns(pl.col("parameter").cast(pl.Categorical))


def series_set(frame: pl.DataFrame) -> int:
    from liquidtime.data import SeriesSet

    return SeriesSet.from_long(frame, **READ).nbytes


def group_by(frame: pl.DataFrame) -> int:
    return int(frame.sort("record_id", "minutes").group_by("record_id", maintain_order=True).all().estimated_size())


def pivot(frame: pl.DataFrame) -> int:
    cells = frame.pivot("parameter", index=["record_id", "minutes"], values="value", aggregate_function="mean")
    return int(cells.sort("record_id", "minutes").estimated_size())


READERS = {"series_set": series_set, "polars_group_by": group_by, "polars_pivot": pivot}


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measure(name: str, rows: int, shuffled: bool, pipe: multiprocessing.connection.Connection) -> None:
    frame = load(rows, shuffled)
    READERS[name](frame.head(1000))  # imports and thread pools are not the question
    before, peak, done = resident(), 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.002):
            peak = max(peak, resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    result_bytes = READERS[name](frame)
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    pipe.send(
        {
            "reader": name,
            "rows": frame.height,
            "shuffled": shuffled,
            "seconds": round(seconds, 3),
            "frame_mb": round(frame.estimated_size() / 1e6, 1),
            "result_mb": round(result_bytes / 1e6, 1),
            "peak_mb": round((peak - before) / 1e6, 1),
            "peak_over_frame": round((peak - before) / frame.estimated_size(), 2),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_300_000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    # polars' allocator keeps what was freed for a while, which would hide what a reader takes.
    os.environ["_RJEM_MALLOC_CONF"] = "dirty_decay_ms:0,muzzy_decay_ms:0"
    context = multiprocessing.get_context("spawn")
    results = []
    for shuffled in (False, True):
        for name in READERS:
            ours, theirs = context.Pipe()
            process = context.Process(target=measure, args=(name, options.rows, shuffled, theirs))
            process.start()
            results.append(ours.recv())
            process.join()
            print(json.dumps(results[-1]))
    if options.out:
        options.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
