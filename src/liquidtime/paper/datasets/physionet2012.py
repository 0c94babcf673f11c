"""PhysioNet Challenge 2012: 48 hours in intensive care, irregularly measured; does the patient die in hospital?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor

from liquidtime._checks import check_choice
from liquidtime.datasets.physionet2012_sample import STATIC
from liquidtime.paper.datasets.files import locate
from liquidtime.paper.datasets.prepare.physionet2012 import ORIGIN
from liquidtime.paper.datasets.sequences import Sequences, Split, check_protocol, draw_validation, rows_of

Array: TypeAlias = npt.NDArray[Any]

WARDS = ("1", "2", "3", "4")
"""Meaning of the last of `STATIC`: coronary, cardiac surgery recovery, medical, surgical."""
CHANNELS = (
    *STATIC,
    *("Weight", "ALP", "ALT", "AST", "Albumin", "BUN", "Bilirubin"),
    *("Cholesterol", "Creatinine", "DiasABP", "FiO2", "GCS", "Glucose", "HCO3", "HCT", "HR", "K", "Lactate", "MAP"),
    *("MechVent", "Mg", "NIDiasABP", "NIMAP", "NISysABP", "Na", "PaCO2", "PaO2", "Platelets", "RespRate", "SaO2"),
    *("SysABP", "Temp", "TroponinI", "TroponinT", "Urine", "WBC", "pH"),
)
TEST_SETS = ("a", "b")
INTERVALS = ("true", "published")
SCALINGS = ("range", "deviation", "none")
PUBLISHED_HOURS, PUBLISHED_SEED, TEST_SHARE, VALIDATION = 0.016, 42, 0.2, 0.2
UNKNOWN = -1.0
TIME_UNIT = "h"
FURTHER = ("saps_i", "sofa", "log length of stay", "log survival")
ALIVE = 1500.0
"""Number of days for stays whose death is not recorded."""


def physionet2012(
    data_dir: str | Path | None = None,
    *,
    protocol: str = "honest",
    seed: int = 0,
    test_set: str = "a",
    intervals: str = "true",
    scaling: str = "range",
    hours: float | None = None,
) -> Split:
    """Return stays in intensive care with their outcome.

    A sample has everything that was measured within one time bin, with several values of a channel averaged. The input
    is the scaled last observation of each of 41 channels (0 before the first) followed by its mask: 82 numbers.

    |            | honest                                        | published                                |
    |------------|-----------------------------------------------|------------------------------------------|
    | bins       | one minute                                    | 0.016 h                                  |
    | scaling    | statistics of the training part               | of training and test part together       |
    | value -1   | not observed                                  | a value                                  |
    | validation | a fifth of what is not test, by outcome       | none                                     |

    The test part is the fifth of set a that the reference draws with seed 42, from the stays in ascending order (the
    reference uses the order of the file system). With `test_set="b"`, it is all of set b, and training uses all of set
    a.

    `further` has the other outcomes of a stay, in the order of `FURTHER`: the scores SAPS-I and SOFA, and
    log(1 + days) in hospital and until death, with 1,500 days if no death is recorded.

    Args:
        data_dir: folder with `physionet2012/`; see `locate`.
        protocol: "honest" or "published".
        seed: random seed of the validation part.
        test_set: "a" or "b".
        intervals: "true" for the time since the previous sample, in hours. "published" for what the reference's code
            uses by mistake, the negative interval one sample late; only with the published protocol.
        scaling: "range" for (v - min) / max, as published; "deviation" for (v - mean) / standard deviation; "none" for
            v as measured.
        hours: width of a bin; None for that of the protocol.

    Raises:
        DataNotFound: the files cannot be found or downloaded.

    """
    check_protocol(protocol)
    check_choice("test_set", test_set, TEST_SETS)
    check_choice("intervals", intervals, INTERVALS)
    check_choice("scaling", scaling, SCALINGS)
    if hours is not None and not hours > 0:
        raise ValueError(f"`hours` must be more than 0; got {hours!r}")
    if intervals == "published" and protocol == "honest":
        raise ValueError('`intervals` "published" are negative and late; they belong to protocol="published" only.')
    folder = locate(ORIGIN, data_dir)
    width = hours if hours is not None else PUBLISHED_HOURS if protocol == "published" else 1 / 60
    unknown = UNKNOWN if protocol == "honest" else None
    stays = _read(folder, "a", width, unknown)
    known, test = _fifth(len(stays.ids)) if test_set == "a" else (np.arange(len(stays.ids)), np.arange(0))
    other = stays if test_set == "a" else _read(folder, "b", width, unknown)
    tested = test if test_set == "a" else np.arange(len(other.ids))
    if protocol == "honest":
        kept, held = draw_validation(len(known), VALIDATION, seed, stays.died[known])
        train, validation = known[kept], known[held]
        statistics = _statistics(scaling, stays.values[stays.rows(train)])
    else:
        train, validation = known, None
        statistics = _statistics(scaling, np.concatenate([stays.values, other.values]))
    own = stays.sequences(*statistics, late=intervals == "published")
    others = own if other is stays else other.sequences(*statistics, late=intervals == "published")
    return Split(
        own.take(rows_of(train)),
        None if validation is None else own.take(rows_of(validation)),
        others.take(rows_of(tested)),
    )


@dataclass(frozen=True)
class _Stays:
    """All samples of N stays, stay after stay.

    Attributes:
        ids: (N,) ids in ascending order.
        died: (N,) 0 or 1.
        further: (N, 4) the outcomes of `FURTHER`, NaN where not known.
        counts: (N,) number of samples of each stay.
        times: (R,) time of each sample, hours since admission.
        values: (R, C) values, NaN where not observed.

    """

    ids: Array
    died: Array
    further: Array
    counts: Array
    times: Array
    values: Array

    def rows(self, stays: Array) -> Array:
        """Return the samples (r,) of the stays with these numbers."""
        wanted: Array = np.repeat(np.isin(np.arange(len(self.ids)), stays), self.counts)
        return np.flatnonzero(wanted)

    def sequences(self, shift: Array, unit: Array, late: bool) -> Sequences:
        """Return the stays as inputs [carried value ; mask], padded to the longest."""
        seen = ~np.isnan(self.values)
        starts = np.cumsum(self.counts) - self.counts
        first = np.repeat(starts, self.counts)
        carried = np.zeros(self.values.shape, np.float32)
        position = np.arange(len(first))
        for c in range(self.values.shape[1]):
            last = np.maximum.accumulate(np.where(seen[:, c], position, -1))
            there = last >= first
            carried[there, c] = ((self.values[:, c] - shift[c]) / unit[c])[last[there]]
        dt = np.diff(self.times, prepend=0.0)
        dt[starts[self.counts > 0]] = 0.0
        if late:
            dt = np.where(position == first, 0.0, -np.roll(dt, 1))
        inside = np.arange(self.counts.max(initial=0)) < self.counts[:, None]
        return Sequences(
            _padded(np.concatenate([carried, seen], axis=1, dtype=np.float32), inside),
            _padded(dt.astype(np.float32), inside),
            torch.from_numpy(self.counts.astype(np.int64)),
            torch.from_numpy(self.died.astype(np.int64)),
            torch.from_numpy(self.ids.astype(np.int64)),
            _padded(seen, inside),
            torch.from_numpy(self.further),
        )


def _read(folder: Path, name: str, hours: float, unknown: float | None) -> _Stays:
    outcomes = pl.read_parquet(folder / "outcomes.parquet").filter(pl.col("set") == name).sort("record_id")
    table = pl.read_parquet(folder / f"records-{name}.parquet").with_columns(pl.col("parameter").cast(pl.String))
    table = table.with_columns(bin=(pl.col("minutes") / 60 / hours).round().cast(pl.Int64))
    samples = table.select("record_id", "bin").unique().sort("record_id", "bin").with_row_index("row")
    if unknown is not None:
        table = table.filter(pl.col("value") != unknown)
    means = table.group_by("record_id", "bin", "parameter").agg(pl.col("value").mean())
    means = means.join(samples, on=("record_id", "bin")).join(
        pl.DataFrame({"parameter": CHANNELS, "column": range(len(CHANNELS))}), on="parameter"
    )
    values = np.full((len(samples), len(CHANNELS)), np.nan)
    values[means["row"].to_numpy(), means["column"].to_numpy()] = means["value"].to_numpy()
    ids = outcomes["record_id"].to_numpy()
    return _Stays(
        ids,
        outcomes["in_hospital_death"].to_numpy(),
        _further(outcomes),
        np.bincount(np.searchsorted(ids, samples["record_id"].to_numpy()), minlength=len(ids)),
        samples["bin"].to_numpy() * hours,
        values,
    )


def _further(outcomes: pl.DataFrame) -> Array:
    """Return (N, 4) the outcomes of `FURTHER`; in the tables, -1 means unknown, or no death."""
    scores = [pl.when(pl.col(name) >= 0).then(pl.col(name)) for name in ("saps_i", "sofa")]
    days = pl.when(pl.col("length_of_stay") >= 0).then(pl.col("length_of_stay"))
    until = pl.when(pl.col("survival") >= 0).then(pl.col("survival")).otherwise(ALIVE)
    table = outcomes.select(*scores, days.log1p(), until.log1p()).cast(pl.Float32)
    found: Array = table.fill_null(float("nan")).to_numpy()
    return np.ascontiguousarray(found)


def _fifth(count: int) -> tuple[Array, Array]:
    """Return (other rows, test rows) as scikit-learn's shuffled split with seed 42 gives them."""
    order = np.random.RandomState(PUBLISHED_SEED).permutation(count)
    test = int(np.ceil(TEST_SHARE * count))
    return order[test:], order[:test]


def _statistics(scaling: str, values: Array) -> tuple[Array, Array]:
    """Return the shift and the scale of the values (r, C); 0 and 1 for channels that were never observed."""
    if scaling == "none":
        return np.zeros(values.shape[1]), np.ones(values.shape[1])
    seen = ~np.isnan(values)
    if scaling == "range":
        shift, unit = np.where(seen, values, np.inf).min(axis=0), np.where(seen, values, -np.inf).max(axis=0)
    else:
        count = np.maximum(seen.sum(axis=0), 1)
        shift = np.where(seen, values, 0.0).sum(axis=0) / count
        unit = np.sqrt((np.where(seen, values - shift, 0.0) ** 2).sum(axis=0) / count)
    usable = np.isfinite(unit) & (unit != 0)
    return np.where(np.isfinite(shift), shift, 0.0), np.where(usable, unit, 1.0)


def _padded(flat: Array, inside: npt.NDArray[np.bool_]) -> Tensor:
    """Return the samples (R, ...) of all stays as (N, T, ...), 0 where `inside` (N, T) is False."""
    full = np.zeros((*inside.shape, *flat.shape[1:]), flat.dtype)
    full[inside] = flat
    return torch.from_numpy(full)
