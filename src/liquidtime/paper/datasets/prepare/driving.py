"""Lane-keeping frames from a recording in the Udacity simulator."""

from __future__ import annotations

import csv
import hashlib
import io
import zipfile
from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl

from liquidtime.paper.datasets.download import Download
from liquidtime.paper.datasets.files import Origin

COMMIT = "bb08a4d09dee3ad9ddf44e49de8a9d5cb4c37108"
REPOSITORY = "https://github.com/AloshkaD/CarND-BehavioralCloning-P3"
ARCHIVE = Download(f"{REPOSITORY}/archive/{COMMIT}.zip", "driving.zip", None)
CONTENT = "9020816ce9bf82a3c18fdc41e703baebd6d06ef39e5e893fb875e5b9ac8e6325"
"""SHA-256 of run, time and steering of every frame; see `digest`."""
PAUSE_MS, SHORTEST = 500, 128
LEFT_OUT = (10,)
"""The run that the prepared files leave out."""
WIDTH, HEIGHT, QUALITY = 160, 80, 80
COLUMNS = ("steering", "throttle", "brake", "speed_mph")


def prepare(raw: Path, into: Path, content: str = CONTENT) -> None:
    """Write frames.parquet: the frames of the centre camera in runs without gaps, scaled down to 160x80.

    Raises:
        ImportError: Pillow is not installed.
        ValueError: the log does not have the checksum `content`.

    """
    from PIL import Image

    with zipfile.ZipFile(raw / ARCHIVE.name) as files:
        log = next(name for name in files.namelist() if name.endswith("driving_log.csv"))
        frames = runs_of(files.read(log).decode())
        if (found := digest(frames)) != content:
            raise ValueError(f"the recording has sha256 {found}, not {content}")
        folder = log.rsplit("/", 1)[0]
        jpegs = []
        for name in frames["source_name"]:
            image = Image.open(io.BytesIO(files.read(f"{folder}/IMG/{name}"))).convert("RGB")
            halved, kept = image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS), io.BytesIO()
            halved.save(kept, "JPEG", quality=QUALITY)
            jpegs.append(kept.getvalue())
    frames.with_columns(pl.Series("jpeg", jpegs, pl.Binary)).write_parquet(into / "frames.parquet", row_group_size=1024)


def runs_of(log: str) -> pl.DataFrame:
    """Return the runs without gaps in a driving log (centre, left, right, steering, throttle, brake, speed)."""
    rows = []
    for line in csv.reader(io.StringIO(log)):
        if len(line) == 7 and "center_" in line[0]:
            name = line[0].strip().replace("\\", "/").rsplit("/", 1)[-1]
            rows.append((name, milliseconds(name), *map(float, line[3:])))
    schema = {"source_name": pl.String, "at": pl.Int64} | dict.fromkeys(COLUMNS, pl.Float32)
    table = pl.DataFrame(rows, schema=schema, orient="row")
    at = table["at"].to_numpy()
    steps = np.diff(at)
    piece = np.concatenate([[0], np.cumsum((steps > PAUSE_MS) | (steps < 0))]) if len(at) else at
    sizes = np.bincount(piece) if len(at) else at
    long = sizes >= SHORTEST
    number = np.cumsum(long) - 1  # of each piece among the long ones
    table = table.with_columns(run=pl.Series(number[piece], dtype=pl.Int16), long=pl.Series(long[piece]))
    table = table.filter(pl.col("long") & ~pl.col("run").is_in(LEFT_OUT))
    return table.select(
        "run",
        pl.int_range(pl.len(), dtype=pl.Int32).over("run").alias("frame"),
        (pl.col("at") - pl.col("at").first().over("run")).cast(pl.Int32).alias("time_ms"),
        *COLUMNS,
        "source_name",
    )


def milliseconds(name: str) -> int:
    """Return the time in the name of an image, such as center_2016_12_26_22_58_37_124.jpg, in milliseconds."""
    moment, rest = name.removeprefix("center_").removesuffix(".jpg").rsplit("_", 1)
    since = datetime.strptime(moment, "%Y_%m_%d_%H_%M_%S") - datetime(2000, 1, 1)
    return round(since.total_seconds()) * 1000 + int(rest)


def digest(frames: pl.DataFrame) -> str:
    """Return the SHA-256 of run (int64), time in ms (int64) and steering (float32) of every frame, little-endian."""
    total = hashlib.sha256()
    for column, kind in (("run", "<i8"), ("time_ms", "<i8"), ("steering", "<f4")):
        total.update(frames[column].to_numpy().astype(kind).tobytes())
    return total.hexdigest()


ORIGIN = Origin("driving_udacity_sim", ("frames.parquet",), (ARCHIVE,), prepare)
