"""Small made-up files with the schemas of the real data sets."""

import io

import numpy as np
import polars as pl
from PIL import Image

from liquidtime.paper.datasets.driving import read_run
from liquidtime.paper.datasets.physionet2012 import CHANNELS
from liquidtime.paper.datasets.prepare.walker2d import split_order


def driving_run(root, number, **options):
    """Return one whole drive of a data folder."""
    return read_run(root / "driving_udacity_sim" / "frames.parquet", number, **options)


def write_all(root, seed=0):
    """Write every data set, small, into a data folder and return it."""
    rng = np.random.default_rng(seed)
    for name, write in WRITERS.items():
        (root / name).mkdir(parents=True, exist_ok=True)
        write(root / name, rng)
    return root


def write_physionet2012(folder, rng, stays=40):
    outcomes = []
    for name, first in (("a", 100), ("b", 900)):
        rows = []
        for number in range(first, first + stays):
            died = int(rng.random() < 0.35)
            rows += [(number, 0, "Age", float(rng.integers(20, 90))), (number, 0, "Height", -1.0)]
            for minute in np.sort(rng.integers(0, 2880, rng.integers(2, 12))):
                for channel in rng.choice(len(CHANNELS), 4, replace=False):
                    value = float(rng.normal(5 + 2 * died))
                    ward = CHANNELS[channel] == "ICUType"
                    rows.append((number, int(minute), CHANNELS[channel], 1.0 + number % 4 if ward else value))
            outcomes.append(
                (name, number, number % 9 - 1, 3 + number % 4, 7 + number % 5, number % 30 if died else -1, died)
            )
        table = pl.DataFrame(
            rows,
            schema={"record_id": pl.Int32, "minutes": pl.Int16, "parameter": pl.String, "value": pl.Float64},
            orient="row",
        )
        table.cast({"parameter": pl.Categorical}).write_parquet(folder / f"records-{name}.parquet")
    columns = ("record_id", "saps_i", "sofa", "length_of_stay", "survival", "in_hospital_death")
    schema = {"set": pl.String} | dict.fromkeys(columns, pl.Int32)
    pl.DataFrame(outcomes, schema=schema, orient="row").write_parquet(folder / "outcomes.parquet")


def write_imdb(folder, rng, reviews=60):
    words = {0: ["dull", "bad", "boring"], 1: ["great", "good", "moving"]}
    for part in ("train", "test"):
        rows = []
        for number in range(reviews):
            label = number % 2
            middle = rng.choice(["It's", "a", "film,", "the", "plot<br />was", *words[label]], rng.integers(3, 30))
            rows.append(
                (number // 2, label, 9 if label else 2, f"{' '.join(middle)} {words[label][0]} {number}{part}!")
            )
        schema = {"id": pl.Int32, "label": pl.Int8, "rating": pl.Int8, "text": pl.String}
        pl.DataFrame(rows, schema=schema, orient="row").write_parquet(folder / f"{part}.parquet")


def write_walker2d(folder, rng, rollouts=20):
    lengths = rng.integers(90, 140, rollouts).astype(np.int32)
    walk = np.cumsum(rng.normal(size=(int(lengths.sum()), 17)), axis=0).astype(np.float32) / 10
    order, split = split_order(rollouts)
    np.savez(folder / "walker2d.npz", observations=walk, lengths=lengths, split=split, split_order=order)


def jpeg(rng, width=160, height=80):
    kept = io.BytesIO()
    Image.fromarray(rng.integers(0, 255, (height, width, 3), dtype=np.uint8)).save(kept, "JPEG")
    return kept.getvalue()


def write_driving(folder, rng, frames=9):
    rows = []
    for run in (0, 5, 7, 11):
        at = np.concatenate([[0], np.cumsum(rng.integers(80, 241, frames - 1))])
        for frame in range(frames):
            steering = float(rng.normal(0, 0.1))
            rows.append((run, frame, int(at[frame]), steering, 0.5, 0.0, 20.0, f"center_{run}_{frame}.jpg", jpeg(rng)))
    floats = dict.fromkeys(("steering", "throttle", "brake", "speed_mph"), pl.Float32)
    schema = {"run": pl.Int16, "frame": pl.Int32, "time_ms": pl.Int32} | floats
    schema |= {"source_name": pl.String, "jpeg": pl.Binary}
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(folder / "frames.parquet")


WRITERS = {
    "physionet2012": write_physionet2012,
    "imdb": write_imdb,
    "walker2d": write_walker2d,
    "driving_udacity_sim": write_driving,
}
