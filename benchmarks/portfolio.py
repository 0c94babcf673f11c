"""How good are the defaults on various data sets? The portfolio next to other models, in the same folds.

    LIQUIDTIME_DATA=folder make bench CASE=portfolio ARGS='--sets ASAS PLAID --models default lightgbm --seeds 0 1 2'

Seed s trains on four of five folds and is tested on fold s, so that all seeds together are a cross-validation; folds
keep groups whole, go by time where a set has an order, and share the classes evenly. A set with a test part of its own
(PhysioNet 2012, a to b) is tested on that. One JSON file per set, model and seed goes to `results/portfolio`, with what
every test series contributed, and a file that is there is not made again. `liquidtime paper table --all` writes the
table of RESULTS.md from these files. Forecasts are in `benchmarks/portfolio_forecast.py`, whose `run` returns the same
kind of record for each of its sets.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from benchmarks import portfolio_forecast
from benchmarks.portfolio_data import FORECAST, REGRESS, SAMPLES, SETS, PortfolioSet, load
from benchmarks.portfolio_models import MODELS, LeftOut, make
from liquidtime._provenance import PACKAGES, commit, machine, versions
from liquidtime.data import SeriesSet
from liquidtime.training.metrics import METRICS

OUT = Path("results/portfolio")
FOLDS, RESAMPLES = 5, 300
Floats = npt.NDArray[np.float64]


def split(one: PortfolioSet, seed: int) -> tuple[PortfolioSet, SeriesSet, npt.NDArray[Any], list[str]]:
    """Return the training part, the test series, their targets, and what a resample draws: groups, else series.

    Args:
        one: the set.
        seed: which fold is tested on.
    """
    if one.test is not None:
        return replace(one, test=None), *one.test, [str(name) for name in one.test[0].ids]
    train, test = list(one.folds(FOLDS))[seed % FOLDS]
    groups = None if one.groups is None else one.groups[train]
    part = replace(one, data=one.data[train], y=one.target_of(train), groups=groups, step_labels=None)
    units = one.data.ids[test] if one.groups is None else one.groups[test]
    if one.task == SAMPLES:
        units = np.repeat(units, one.data.lengths[test])
    return part, one.data[test], one.target_of(test), [str(unit) for unit in units]


def scores(classes: npt.NDArray[Any] | None, y: npt.NDArray[Any], prediction: Floats) -> dict[str, list[Any]]:
    """Return what each series contributes to the figures, by name; of two classes the probability of the second.

    Args:
        classes: (C,) sorted, of the columns of the prediction; None for values.
        y: (n,) targets.
        prediction: (n, C) probabilities, or (n,) values.
    """
    if classes is None:
        return {"squared_error": _short((prediction - y) ** 2)}
    codes = np.searchsorted(classes, y)
    own = np.maximum(prediction[np.arange(len(y)), codes], 1e-12)
    table = {"correct": (prediction.argmax(axis=1) == codes).astype(int).tolist(), "log_loss": _short(-np.log(own))}
    if len(classes) == 2:
        table |= {"truth": codes.tolist(), "probability": _short(prediction[:, 1])}
    return table


def _short(values: Floats) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


def figures(table: dict[str, list[Any]]) -> dict[str, float]:
    """Return the figures of the columns that there are."""
    found = {}
    if "squared_error" in table:
        found["rmse"] = float(np.sqrt(np.mean(table["squared_error"])))
    means = {"accuracy": "correct", "log_loss": "log_loss"}
    found |= {name: float(np.mean(table[column])) for name, column in means.items() if column in table}
    if "probability" in table:
        found["auc"] = METRICS["auc"](np.array(table["truth"]), np.array(table["probability"]))
    return found


def run(one: PortfolioSet, model: str, seed: int) -> dict[str, Any]:
    """Return the record of one model, fitted to the training part of a seed and tested on its test part."""
    train, test, y, units = split(one, seed)
    classes = None if one.task == REGRESS else np.unique(train.target)
    begun, cpu = time.perf_counter(), time.process_time()
    fitted = make(model, one.task, seed).fit(train)
    seconds = {"fit": round(time.perf_counter() - begun, 1), "fit_cpu": round(time.process_time() - cpu, 1)}
    begun = time.perf_counter()
    table = scores(classes, y, fitted.predict(test))
    seconds["predict"] = round(time.perf_counter() - begun, 1)
    if model == "multirocket-hydra":
        table.pop("log_loss", None)  # its probabilities are 0 or 1
    parts = {
        name: {"weight": round(weight, 4), **figures(scores(classes, y, answer))}
        for name, (weight, answer) in fitted.parts(test).items()
    }
    record = {
        "metric": one.metric,
        "figures": figures(table),
        "parts": parts,
        "seconds": seconds,
        "sizes": {"train": len(train.data), "test": len(test)},
    }
    if one.task == SAMPLES:  # too many to keep
        return record | {"interval": interval(units, table)}
    return record | {"series": {"unit": units, **table}}


def interval(units: list[str], table: dict[str, list[Any]]) -> list[float]:
    """Return the ends of the 95 % bootstrap interval of the area under the curve, over units of several samples."""
    names, codes = np.unique(units, return_inverse=True)
    draws = np.random.default_rng(0).multinomial(len(names), np.full(len(names), 1 / len(names)), RESAMPLES)
    y, p = METRICS["auc"].prepare(np.array(table["truth"]), np.array(table["probability"]))
    found = [float(METRICS["auc"].weighted(y, p, draw[None, codes].astype(np.float64))[0]) for draw in draws]
    return [float(end) for end in np.quantile(found, [0.025, 0.975])]


def write(out: Path, name: str, model: str, seed: int, record: dict[str, Any]) -> None:
    """Write one result whole."""
    content = {
        "key": {"set": name, "model": model, "seed": seed},
        **record,
        "threads": torch.get_num_threads(),
        **machine(),
        "versions": versions((*PACKAGES, "lightgbm", "aeon")),
        "commit": commit(Path(__file__).parent),
    }
    series = content.pop("series", None)
    text = json.dumps(content, indent=1)
    if series is not None:  # one line per column keeps the file readable
        rows = ",\n".join(f"  {json.dumps(key)}: {json.dumps(column)}" for key, column in series.items())
        text = f'{text[:-2]},\n "series": {{\n{rows}\n }}\n}}'
    temporary = _path(out, name, model, seed).with_suffix(".part")
    temporary.write_text(text + "\n", encoding="utf-8")
    temporary.rename(_path(out, name, model, seed))


def _path(out: Path, name: str, model: str, seed: int) -> Path:
    return out / f"{name}-{model}-seed{seed}.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.sets:
        one = load(name, arguments.data_dir)
        for seed in arguments.seeds:
            for model in arguments.models:
                if _path(arguments.out, name, model, seed).exists():
                    continue
                if one.task == FORECAST:
                    record = portfolio_forecast.run(model, seed, (name,), arguments.data_dir).get(name)
                else:
                    try:
                        record = run(one, model, seed)
                    except LeftOut as reason:
                        print(f"{name} {model}: left out, {reason}", flush=True)
                        continue
                if record is not None:
                    write(arguments.out, name, model, seed, record)
                    rounded = {key: round(value, 4) for key, value in record["figures"].items()}
                    print(name, model, seed, rounded, record.get("seconds", ""), flush=True)


if __name__ == "__main__":
    main()
