"""Small tables to train on: the heart rate of the sick is higher, and so is their score."""

import numpy as np
import polars as pl
from typer.testing import CliRunner

from liquidtime.cli.app import app


def write_tables(folder, S=60, seed=0):
    """Write long.csv, wide.csv, wide.parquet and labels.csv."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for place in range(S):
        T, sick = int(rng.integers(3, 12)), place % 2
        times = np.round(np.cumsum(rng.exponential(20.0, T)) + 0.01 * np.arange(T), 2)
        for t in times:
            rows.append((f"p{place}", float(t), "hr", float(rng.normal(70 + 15 * sick, 5))))
            if rng.random() < 0.5:
                rows.append((f"p{place}", float(t), "temp", float(rng.normal(37, 1))))
        labels.append((f"p{place}", "sick" if sick else "well", float(3 * sick + rng.normal(0, 0.3))))
    long = pl.DataFrame(rows, schema=["patient", "minutes", "name", "value"], orient="row")
    truth = pl.DataFrame(labels, schema=["patient", "state", "score"], orient="row")
    wide = long.pivot("name", index=["patient", "minutes"], values="value", aggregate_function="mean")
    long.write_csv(folder / "long.csv")
    truth.write_csv(folder / "labels.csv")
    wide.join(truth, on="patient").write_csv(folder / "wide.csv")
    wide.join(truth, on="patient").write_parquet(folder / "wide.parquet")
    return long, truth


def write_shards(folder, each, drop=()):
    """Write the series of wide.parquet into shards/part-0.parquet and so on.

    Args:
        folder: where `write_tables` wrote.
        each: series per shard.
        drop: columns to leave out.
    """
    table = pl.read_parquet(folder / "wide.parquet").drop(drop)
    ids = table["patient"].unique(maintain_order=True).to_list()
    (folder / "shards").mkdir()
    for number, first in enumerate(range(0, len(ids), each)):
        part = table.filter(pl.col("patient").is_in(ids[first : first + each]))
        part.write_parquet(folder / "shards" / f"part-{number}.parquet")


LONG = ["--id", "patient", "--time", "minutes", "--channel", "name", "--value", "value", "--time-unit", "min"]
WIDE = ["--id", "patient", "--time", "minutes"]


def lt(*words):
    """Run the command line in this process; return exit code, standard output and standard error."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.stdout, result.stderr
