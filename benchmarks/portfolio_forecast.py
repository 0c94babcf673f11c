"""How good are forecasts by default? Three sets, beside networks alone, LightGBM and naive forecasts.

    LIQUIDTIME_DATA=folder make bench CASE=portfolio_forecast ARGS='--sets beijing storms --models default --seeds 0'

`beijing` and `storms` are trained on their training part and tested on their validation part, which is later; errors
are in standard deviations of the training part. Models are told the horizon and nothing else: no order, no groups.
`beijing` is asked for hours 168 to 239 from the hours before, `storms` from every sample for 6 to 48 hours ahead, with
great-circle errors of the positions.

`physionet2012-forecast` follows the public code of t-PatchGNN: a random fifth of the stays for the test and a fifth
for validation (scikit-learn's split of seed 42), values from 0 to 1 between the least and the largest of training and
validation part, what is measured from hour 24 on forecast from the hours before, and as metric the mean squared error
of each channel over all its values, then the mean over the channels that are measured, times 1000. What differs:
there are 8,000 stays here (sets a and b) and 12,000 there, so that figures are not of the same stays; they come in
the order of their ids, there in that of the file system; age, gender, height and unit are static features, which are
never measured later; -1 is not a value; and a stay without a measurement in the first day, 1 of 7,982, is left out.
It is trained on 60 % and measured on the validation part; `--test` trains on 80 % and measures on the test part, once
everything is chosen. `lightgbm` reads the same features of the past as the library's own boosting.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.model_selection import train_test_split

from benchmarks.portfolio_data import data_folder, load
from liquidtime.data import SeriesSet
from liquidtime.estimators import CfCForecaster, StackedForecaster
from liquidtime.estimators.faces.encoded_series import EncodedSeries
from liquidtime.estimators.faces.forecast_series import ForecastSeries

BEIJING, STORMS, PHYSIONET = SETS = ("beijing", "storms", "physionet2012-forecast")
MODELS = ("default", "networks", "lightgbm")
RIVAL = MODELS[-1]
HISTORY, EARTH = 24 * 60.0, 6371.0
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Exam:
    """What a model is trained on and asked.

    Args:
        train: the training series.
        past: the series up to the cuts.
        times: for each of them (Q,) later times.
        truth: for each (Q, C) what was measured, NaN = nothing.
        horizon: how far ahead is asked.
        scale: (C,) what errors are divided by.
        units: what each of them belongs to, and is not independent of: a storm, the days that all stations share.
        targets: channels that are forecast; None for all.
    """

    train: SeriesSet
    past: SeriesSet
    times: list[Floats]
    truth: list[Floats]
    horizon: float
    scale: Floats
    units: list[str]
    targets: tuple[str, ...] | None = None


def exam_of(name: str, data_dir: str | Path | None = None, test: bool = False) -> Exam:
    """Return the exam of a set.

    Args:
        name: one of `SETS`.
        data_dir: as `portfolio_data.load` takes it.
        test: of PhysioNet, the test part in place of the validation part.
    """
    if name == PHYSIONET:
        return _stays(data_dir, test)
    one = load(name, data_dir)
    labels = pl.read_parquet(data_folder(data_dir) / "portfolio" / name / "labels.parquet")
    parts = dict(zip(labels["id"].cast(pl.String), labels["split"], strict=True))
    part = np.array([parts[str(id)] for id in one.data.ids])
    train, judged = one.data[np.flatnonzero(part == "train")], one.data[np.flatnonzero(part == "val")]
    scale = np.nanstd(train.values, axis=0, dtype=np.float64)
    rows, counts, times, truth = [], [], [], []
    for row, series in enumerate(judged):
        cuts = [int((series.times < 168).sum())] if name == BEIJING else range(1, len(series.times))
        for cut in cuts:
            gap = series.times - series.times[cut - 1]
            asked = (gap > 0) if name == BEIJING else (gap >= 6) & (gap <= 48)
            if asked.any():
                rows.append(row)
                counts.append(cut)
                times.append(series.times[asked])
                truth.append(series.values[asked].astype(np.float64))
    owners = np.array(rows)
    shared = dict(zip(labels["id"].cast(pl.String), labels["start" if name == BEIJING else "id"], strict=True))
    units = [str(shared[str(id)]) for id in judged.ids[owners]]
    past = judged.replace_unchecked(ids=np.arange(len(judged)))[owners].head(np.array(counts))
    past = past.replace_unchecked(ids=np.arange(len(owners)))
    return Exam(train, past, times, truth, 72.0 if name == BEIJING else 48.0, scale, units)


def _stays(data_dir: str | Path | None, test: bool) -> Exam:
    one = load("physionet2012", data_dir)
    assert one.test is not None
    data = SeriesSet.concatenate([one.data, one.test[0]])
    order = np.argsort([int(id) for id in data.ids])
    seen, final = train_test_split(order, train_size=0.8, random_state=42, shuffle=True)
    first, second = train_test_split(seen, train_size=0.75, random_state=42, shuffle=False)
    trained, judged = (seen, final) if test else (first, second)
    known = data[np.sort(seen)].values
    span = np.nanmax(known, axis=0) - np.nanmin(known, axis=0)
    cuts = data[judged]
    counts = np.array([int((series.times < HISTORY).sum()) for series in cuts])
    times = [series.times[count:] for series, count in zip(cuts, counts, strict=True)]
    truth = [series.values[count:].astype(np.float64) for series, count in zip(cuts, counts, strict=True)]
    some = np.array([row for row, own in enumerate(truth) if len(own) and counts[row] > 0])
    scale = np.where(span > 0, span, 1.0).astype(np.float64)
    past = cuts.head(counts)[some]
    units = [str(id) for id in cuts.ids[some]]
    times, truth = [times[k] for k in some], [truth[k] for k in some]
    return Exam(data[np.sort(trained)], past, times, truth, 24 * 60.0, scale, units)


def figures(name: str, exam: Exam, said: Sequence[Floats]) -> dict[str, float]:
    """Return the figures of forecasts, shaped as the truth."""
    forecast, truth = np.concatenate(said), np.concatenate(exam.truth)
    off = (forecast - truth) / exam.scale
    known = ~np.isnan(off)
    if name == PHYSIONET:
        means = [float((off[known[:, c], c] ** 2).mean()) for c in range(off.shape[1]) if known[:, c].any()]
        return {"mse_e3": 1e3 * float(np.mean(means))}
    found = {"mse": float((off[known] ** 2).mean()), "mae": float(np.abs(off[known]).mean())}
    if name == STORMS:
        gaps, away = _gaps(exam), _kilometres(exam.past.channels, forecast, truth)
        found |= {f"km_{hours}h": float(np.nanmean(away[gaps == hours])) for hours in (6, 12, 24, 48)}
    return found


def by_unit(name: str, exam: Exam, said: Sequence[Floats]) -> dict[str, list[Any]]:
    """Return what each unit contributes to the figure that forecasts are judged by; the mean of these is the figure."""
    off = (np.concatenate(said) - np.concatenate(exam.truth)) / exam.scale
    known = ~np.isnan(off)
    counts = known.sum(axis=0)
    weight = np.full(len(counts), 1.0 / known.sum())
    if name == PHYSIONET:
        weight = 1e3 / np.maximum(counts, 1) / (counts > 0).sum()
    shares = (np.where(known, off, 0.0) ** 2) @ weight
    owners = np.repeat(np.array(exam.units), [len(own) for own in exam.truth])
    units, codes = np.unique(owners, return_inverse=True)
    each = np.bincount(codes, shares) * len(units)
    return {"unit": units.tolist(), "squared_error": [float(f"{value:.5g}") for value in each]}


def _kilometres(channels: Sequence[str], forecast: Floats, truth: Floats) -> Floats:
    """Return (n,) the great-circle distances of forecast positions from true ones."""
    place = [channels.index("lat"), channels.index("long")]
    (a, b), (c, d) = np.radians(forecast[:, place].T), np.radians(truth[:, place].T)
    half = np.sin((a - c) / 2) ** 2 + np.cos(a) * np.cos(c) * np.sin((b - d) / 2) ** 2
    distance: Floats = 2 * EARTH * np.arcsin(np.sqrt(half))
    return distance


def run(
    model: str, seed: int, names: Sequence[str] = SETS, data_dir: str | Path | None = None, test: bool = False
) -> dict[str, dict[str, Any]]:
    """Return the records of sets by name; none for a model that does not forecast.

    Args:
        model: "default", the stacked forecaster; "networks", CfC networks with the naive forecasts; "lightgbm".
        seed: random seed.
        names: of the sets.
        data_dir: as `portfolio_data.load` takes it.
        test: of PhysioNet, the test part.
    """
    if model not in MODELS:
        return {}
    return {name: _record(name, model, seed, data_dir, test) for name in names if name in SETS}


def _record(name: str, model: str, seed: int, data_dir: str | Path | None, test: bool) -> dict[str, Any]:
    exam = exam_of(name, data_dir, test)
    begun, cpu = time.perf_counter(), time.process_time()
    if model == RIVAL:
        forecaster: Any = LightGBMOnLags(exam.horizon, seed)
    else:
        kind = StackedForecaster if model == "default" else CfCForecaster
        forecaster = kind(horizon=exam.horizon, targets=exam.targets, random_state=seed)
    forecaster.fit(exam.train)
    seconds = {"fit": round(time.perf_counter() - begun, 1), "fit_cpu": round(time.process_time() - cpu, 1)}
    begun = time.perf_counter()
    record: dict[str, Any] = {"metric": "mse_e3" if name == PHYSIONET else "mse"}
    if model == RIVAL:
        value = forecaster.predict(exam.past, exam.times)
        record["figures"] = figures(name, exam, value)
        seconds["predict"] = round(time.perf_counter() - begun, 1)
    else:
        series = forecaster.encode(exam.past)
        value, low, high = forecaster.predict(series, exam.times, intervals=0.9)
        seconds["predict"] = round(time.perf_counter() - begun, 1)
        record["figures"] = figures(name, exam, value) | {"coverage_90": _coverage(exam, low, high)[0]}
        record["coverage_by_gap"] = _coverage(exam, low, high)[1]
        parts = forecaster.parts(series, exam.times)
        record["parts"] = {
            part: {"weight": round(float(np.mean(np.concatenate(weights))), 4), **figures(name, exam, said)}
            for part, (said, weights) in parts.items()
        }
        answers = {"model": value} | {part: said for part, (said, _) in parts.items()}
        record["mse_by_gap"] = {part: _by_gap(exam, said) for part, said in answers.items()}
        record["mse_by_channel"] = {part: _by_channel(exam, said) for part, said in answers.items()}
    sizes = {"train": len(exam.train), "test": len(exam.past)}
    return record | {"seconds": seconds, "sizes": sizes, "series": by_unit(name, exam, value)}


def _coverage(exam: Exam, low: Sequence[Floats], high: Sequence[Floats]) -> tuple[float, dict[str, float]]:
    """Return the share of the values that intervals hold, over all, and by quarters of the horizon."""
    truth, gaps = np.concatenate(exam.truth), _gaps(exam)
    inside = (np.concatenate(low) <= truth) & (truth <= np.concatenate(high))
    known = ~np.isnan(truth)
    edges = np.linspace(0.0, exam.horizon, 5)
    by_gap = {}
    for begin, end in itertools.pairwise(edges.tolist()):
        rows = known & ((gaps > begin) & (gaps <= end))[:, None]
        if rows.any():
            by_gap[f"{begin:g} to {end:g}"] = round(float(inside[rows].mean()), 4)
    return float(inside[known].mean()), by_gap


def _by_gap(exam: Exam, said: Sequence[Floats]) -> dict[str, float]:
    """Return the mean squared errors by spans of the horizon, short ones first."""
    off, gaps = (np.concatenate(said) - np.concatenate(exam.truth)) / exam.scale, _gaps(exam)
    found = {}
    for begin, end in itertools.pairwise(
        [0.0, *(exam.horizon * part for part in (1 / 24, 1 / 12, 1 / 8, 1 / 4, 1 / 2, 1))]
    ):
        rows = (gaps > begin) & (gaps <= end)
        if rows.any():
            found[f"{begin:g} to {end:g}"] = round(float(np.nanmean(off[rows] ** 2)), 5)
    return found


def _by_channel(exam: Exam, said: Sequence[Floats]) -> dict[str, float]:
    """Return the mean squared errors of channels that were measured."""
    off = (np.concatenate(said) - np.concatenate(exam.truth)) / exam.scale
    some = np.flatnonzero(~np.isnan(off).all(axis=0))
    return {exam.past.channels[c]: float(f"{np.nanmean(off[:, c] ** 2):.4g}") for c in some.tolist()}


def _gaps(exam: Exam) -> Floats:
    starts = exam.past.times[exam.past.offsets[1:] - 1]
    return np.concatenate([times - start for times, start in zip(exam.times, starts, strict=True)])


class LightGBMOnLags:
    """LightGBM for each channel, on the features of the past that the library's own boosting reads.

    It learns how far a channel goes from its last value to a later time, from the same cuts of the training series.

    Args:
        horizon: how far ahead is asked.
        seed: random seed.
        known: channels whose future is known.
    """

    def __init__(self, horizon: float, seed: int, known: Sequence[str] | None = None) -> None:
        self.horizon, self.seed, self.known = horizon, seed, known

    def fit(self, train: SeriesSet) -> None:
        from lightgbm import LGBMRegressor

        stack = StackedForecaster(horizon=self.horizon, known=self.known, random_state=self.seed)
        cfc = self.cfc = stack._networks()
        cfc._hold_back(len(train), None, None, None, own=True)
        cfc._prepare(train)
        stack.seed_ = cfc.seed_
        self.features, pairs, _ = stack._taught(cfc, train)
        cfc._watch(self.features.places, self.features.reach)
        self.models = []
        for c in range(len(pairs.rows)):
            table, _ = pairs.cuts.table(c, pairs.rows[c], pairs.times[c], pairs.known[c])
            learner = LGBMRegressor(
                n_estimators=300, learning_rate=0.05, num_leaves=31, min_child_samples=10, colsample_bytree=0.5,
                subsample=0.8, subsample_freq=1, random_state=self.seed, n_jobs=1, verbose=-1,
            )  # fmt: skip
            off = pairs.truth[c] - pairs.cuts.last(c)[pairs.rows[c]]
            self.models.append(learner.fit(table, off) if len(off) >= 40 else None)

    def predict(self, past: SeriesSet | EncodedSeries, times: Sequence[Floats]) -> list[Floats]:
        data = past.data if isinstance(past, EncodedSeries) else past
        series = past if isinstance(past, ForecastSeries) else ForecastSeries(self.cfc.encoders_, data)
        seen = self.cfc._seen(series)
        cuts = self.features.at_ends(seen)
        sizes = [len(own) for own in times]
        rows, asked = np.repeat(np.arange(len(past)), sizes), np.concatenate(times)
        each = np.full((len(past), max(sizes)), 0.0)
        inside = np.arange(max(sizes)) < np.array(sizes)[:, None]
        each[inside] = asked
        known = self.cfc._scene.known.to(seen.known_at(each))[inside]
        said = np.empty((len(rows), len(self.models)))
        for c, model in enumerate(self.models):
            table, _ = cuts.table(c, rows, asked, known)
            said[:, c] = cuts.last(c)[rows] + (0.0 if model is None else model.predict(table, validate_features=False))
        own = self.cfc._scene.standard.back(said)
        return np.split(own, np.cumsum(sizes)[:-1])


def main() -> None:
    from benchmarks.portfolio import OUT, write

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--test", action="store_true", help="of PhysioNet, the test part")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.sets:
        for seed in arguments.seeds:
            for model in arguments.models:
                record = run(model, seed, (name,), arguments.data_dir, arguments.test)[name]
                write(arguments.out, name, model, seed, record)
                print(name, model, seed, record["figures"], record["seconds"], flush=True)
                for part, own in record.get("parts", {}).items():
                    print("   ", part, own, flush=True)


if __name__ == "__main__":
    main()
