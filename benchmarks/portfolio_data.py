"""Load the portfolio: various data sets, as series, targets and rules for splitting them.

    LIQUIDTIME_DATA=folder python -m benchmarks.portfolio_data

The folder holds `portfolio/` (one sub-folder per set) and `physionet2012/`; nothing of it is ever copied here.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, TimeSeriesSplit

from liquidtime.data import SeriesSet, align_labels
from liquidtime.data.container import flat_rows

CLASSIFY, REGRESS, FORECAST, SAMPLES = "classify", "regress", "forecast", "classify-samples"
SETS = ("P19", "P19-hours", "CharacterTrajectories50", "PLAID", "ASAS", "cmapss", "beijing", "storms", "physionet2012")
PHYSIONET_STATIC = ("Age", "Gender", "Height", "ICUType")
Fold = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class PortfolioSet:
    """One data set of the portfolio.

    Args:
        name: one of `SETS`.
        task: "classify", "regress", "forecast", or "classify-samples" for a class per sample.
        metric: what the set is judged by: "auc", "accuracy", "rmse" or "mse".
        data: S series.
        y: (S,) classes or values; None for a forecast, whose targets are later values of the series.
        groups: (S,) series of one group must not be split; None if there are none.
        order: (S,) when each series was taken, where folds must respect it; None elsewhere.
        step_labels: (N,) the classes of a task per sample, whose folds go by `y`; None for other tasks.
        test: further series and their targets that are judged only once, after everything is chosen.
    """

    name: str
    task: str
    metric: str
    data: SeriesSet
    y: npt.NDArray[Any] | None = None
    groups: npt.NDArray[Any] | None = None
    order: npt.NDArray[Any] | None = None
    step_labels: npt.NDArray[np.float64] | None = None
    test: tuple[SeriesSet, npt.NDArray[Any]] | None = None

    @property
    def target(self) -> npt.NDArray[Any]:
        """(S,) `y` of a set that has one; (N,) of a task per sample."""
        if self.step_labels is not None:
            return self.step_labels
        if self.y is None:
            raise ValueError(f"{self.name} is a forecast: its targets are later values of the series")
        return self.y

    def target_of(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the targets of some series."""
        chosen: npt.NDArray[Any] = self.target[flat_rows(self.data.offsets, rows) if self.task == SAMPLES else rows]
        return chosen

    def folds(self, count: int = 5, seed: int = 0) -> Iterator[Fold]:
        """Yield (training rows, test rows): by time, by group, by class, or at random, in this order of preference."""
        rows = np.arange(len(self.data))
        if self.order is not None:
            moments, codes = np.unique(self.order, return_inverse=True)
            for past, future in TimeSeriesSplit(count).split(moments):
                yield rows[np.isin(codes, past)], rows[np.isin(codes, future)]
        elif self.groups is not None:
            yield from GroupKFold(count, shuffle=True, random_state=seed).split(rows, groups=self.groups)
        elif self.task in (CLASSIFY, SAMPLES):
            yield from StratifiedKFold(count, shuffle=True, random_state=seed).split(rows, self.y)
        else:
            yield from KFold(count, shuffle=True, random_state=seed).split(rows)


def data_folder(data_dir: str | Path | None = None) -> Path:
    """Return the folder of the data: `data_dir`, else what the variable LIQUIDTIME_DATA names."""
    folder = Path(data_dir or os.environ.get("LIQUIDTIME_DATA", ""))
    if not (data_dir or os.environ.get("LIQUIDTIME_DATA")) or not folder.is_dir():
        raise SystemExit(f"no data at {str(folder)!r}: pass --data-dir FOLDER or set LIQUIDTIME_DATA")
    return folder


def load(name: str, data_dir: str | Path | None = None) -> PortfolioSet:
    """Return one data set.

    Args:
        name: one of `SETS`.
        data_dir: the folder that holds `portfolio/` and `physionet2012/`; LIQUIDTIME_DATA if None.
    """
    if name not in SETS:
        raise SystemExit(f"unknown set {name!r}; the sets are {', '.join(SETS)}")
    root = data_folder(data_dir)
    if name == "physionet2012":
        data, y = _stays(root / name, "a")
        return PortfolioSet(name, CLASSIFY, "auc", data, y, test=_stays(root / name, "b"))
    name, _, hours = name.partition("-")
    folder = root / "portfolio" / name
    if name == "cmapss":
        return _engines(folder)
    labels = pl.read_parquet(folder / "labels.parquet")
    table = folder / "static.parquet"
    static = {"static": pl.read_parquet(table)} if table.exists() else {}
    data = SeriesSet.from_long(
        pl.read_parquet(folder / "series.parquet"), id="id", time="time", channel="channel", value="value", **static
    )
    if name in ("beijing", "storms"):
        order = "start" if name == "beijing" else "year"
        data, moments = align_labels(data, labels, id="id", target=order)
        return PortfolioSet(name, FORECAST, "mse", data, order=np.asarray(moments))
    data, y = align_labels(data, labels, id="id", target="y")
    if hours:
        labels_of_hours = _labels_of_steps(data, pl.read_parquet(folder / "steps.parquet"))
        return PortfolioSet(f"{name}-{hours}", SAMPLES, "auc", data, np.asarray(y), step_labels=labels_of_hours)
    return PortfolioSet(name, CLASSIFY, "auc" if name == "P19" else "accuracy", data, np.asarray(y))


def _engines(folder: Path) -> PortfolioSet:
    labels = pl.read_csv(folder / "rul_train.csv").sort("engine")
    data = SeriesSet.from_wide(pl.read_csv(folder / "telemetry_train.csv.gz"), id="engine", time="cycle")
    data, y = align_labels(data, labels, id="engine", target="rul")
    unit = dict(zip(labels["engine"], labels["unit"], strict=True))
    groups = np.array([unit[str(name)] for name in data.ids])
    return PortfolioSet("cmapss", REGRESS, "rmse", data, np.asarray(y, dtype=np.float64), groups=groups)


def _stays(folder: Path, part: str) -> tuple[SeriesSet, npt.NDArray[Any]]:
    records = pl.read_parquet(folder / f"records-{part}.parquet").with_columns(pl.col("parameter").cast(pl.String))
    outcomes = pl.read_parquet(folder / "outcomes.parquet").filter(pl.col("set").cast(pl.String) == part)
    data = SeriesSet.from_long(
        records,
        id="record_id",
        time="minutes",
        channel="parameter",
        value="value",
        time_unit="min",
        static=PHYSIONET_STATIC,
        categorical=("ICUType",),
        missing=(-1,),
    )
    data, y = align_labels(data, outcomes, id="record_id", target="in_hospital_death", keep_empty=True)
    return data, np.asarray(y)


def _labels_of_steps(data: SeriesSet, steps: pl.DataFrame) -> npt.NDArray[np.float64]:
    """Return (N,) the label of each sample, by id and time."""
    samples = pl.DataFrame({"id": np.repeat(data.ids, data.lengths), "time": data.times})
    labels = steps.select(pl.col("id").cast(samples["id"].dtype), pl.col("time").cast(pl.Float64), "y")
    column: npt.NDArray[np.float64] = (
        samples.join(labels, on=("id", "time"), how="left", maintain_order="left")["y"].cast(pl.Float64).to_numpy()
    )
    return column


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir")
    arguments = parser.parse_args()
    for name in SETS:
        one = load(name, arguments.data_dir)
        sizes = [f"{len(train)}/{len(test)}" for train, test in one.folds()]
        print(f"{name}: {one.task} by {one.metric}; {one.data!r}; folds {', '.join(sizes)}")


if __name__ == "__main__":
    main()
