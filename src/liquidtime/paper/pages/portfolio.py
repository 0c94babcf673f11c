"""The table of the library's defaults and other models on various data sets, measured by `benchmarks/portfolio.py`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.paper.pages.markdown import cells, head
from liquidtime.training.metrics import METRICS

Floats = npt.NDArray[np.float64]
DEFAULT = "default"
TITLES = {
    DEFAULT: "**default** (stack)",
    "ensemble": "five CfC networks alone",
    "networks": "CfC networks alone",
    "quick": "one CfC network, quick budget",
    "boosting": "HistGradientBoosting",
    "lightgbm": "LightGBM",
    "multirocket-hydra": "MultiRocket-Hydra",
    "guess": "guess",
}
"""Models in the order of the table; others follow under their own names."""
LOWER = ("rmse", "mse", "mse_e3")
"""Metrics for which lower is better."""
RESAMPLES, LEVEL = 1000, 0.95
LEGEND = """\
Only the training series of each set are used: seed s is tested on fold s of five and trained on the others, and groups
are never split. PhysioNet 2012 is trained on set a and tested on set b. Forecasts are trained on the training part and
tested on the validation part, which is later; their errors are in squared standard deviations, those of PhysioNet in
the thousandths that t-PatchGNN uses. Figures are means over the seeds. *Difference*: the model's figure minus the
default's on the same series and seeds, with the 95 % bootstrap interval over series, or over groups; it is bold if the
interval excludes 0. *Seconds*: time to fit, on one core. Boosting reads the library's rich features of each series. For
P19-hours, which has a class per hour, it reads the running features of each hour, and there is no difference because
the results of single hours are not stored. MultiRocket-Hydra reads complete channels at equal steps of time, resampled
to one length, and gives no probabilities. *Best part*: the figure of the best single part of the stack on the test
series, which is known only after the test."""


MODEL = "model"
SHOWN = {
    "network": "CfC networks alone",
    "last value": "last value",
    "straight line": "straight line",
    "mean so far": "mean so far",
    "seasonal naive": "seasonal naive",
}
"""Parts of the default that the table by gap includes."""
GAPS = """\
Mean squared errors of the same forecasts, by the gap since the last sample in the set's unit of time (hours; for
PhysioNet, minutes): of the default, of its networks alone, and of the naive forecasts, which the default should not be
worse than. If series have no season, the seasonal naive forecast is the last value. For PhysioNet, the errors are means
over all values, not over channels."""


def portfolio_rows(out: Path) -> list[dict[str, Any]]:
    """Return one entry per set and model, in the order of the table; empty if nothing was measured.

    Raises:
        ValueError: a file is not a result; the message names it.

    """
    records = [_read(path) for path in sorted((out / "portfolio").glob("*.json"))]
    names = list(dict.fromkeys(record["key"]["set"] for record in records))
    rows = []
    for name in names:
        of_set = [record for record in records if record["key"]["set"] == name]
        models = {record["key"]["model"] for record in of_set}
        order = [model for model in TITLES if model in models] + sorted(models - set(TITLES))
        default = _by_seed(of_set, DEFAULT)
        rows += [_row(name, model, _by_seed(of_set, model), default) for model in order]
    return rows


def _read(path: Path) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        missing = [name for name in ("key", "metric", "figures") if name not in record]
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is not a result file ({error}). Remove it and run again.") from error
    if missing:
        raise ValueError(f"{path} is not a result file: it has no {missing[0]!r}. Remove it and run again.")
    return record


def _by_seed(records: list[dict[str, Any]], model: str) -> dict[int, dict[str, Any]]:
    return {record["key"]["seed"]: record for record in records if record["key"]["model"] == model}


def _row(
    name: str, model: str, own: Mapping[int, dict[str, Any]], default: Mapping[int, dict[str, Any]]
) -> dict[str, Any]:
    runs = list(own.values())
    metric = runs[0]["metric"]
    seconds = [run["seconds"]["fit_cpu"] for run in runs if "fit_cpu" in run.get("seconds", {})]
    losses = [run["figures"]["log_loss"] for run in runs if "log_loss" in run["figures"]]
    return {
        "set": name,
        "model": model,
        "metric": metric,
        "seeds": sorted(own),
        "value": fmean(run["figures"][metric] for run in runs),
        "log_loss": fmean(losses) if len(losses) == len(runs) else None,
        "seconds": fmean(seconds) if seconds else None,
        "best_part": _best_part(metric, runs),
        "default": _mean_of_default(metric, own, default),
        "difference": None if model == DEFAULT else difference(metric, own, default),
    }


def _mean_of_default(
    metric: str, own: Mapping[int, dict[str, Any]], default: Mapping[int, dict[str, Any]]
) -> float | None:
    """Return the default's mean figure over the seeds that it has in common with a model; None if there are none."""
    shared = own.keys() & default.keys()
    return fmean(default[seed]["figures"][metric] for seed in shared) if shared else None


def _best_part(metric: str, runs: list[dict[str, Any]]) -> float | None:
    """Return the mean figure of the best part of a stack; None for models without parts."""
    names = {name for run in runs for name in run.get("parts") or {}}
    means = [
        fmean(run["parts"][name][metric] for run in runs) for name in names if all(name in run["parts"] for run in runs)
    ]
    if not means:
        return None
    return min(means) if metric in LOWER else max(means)


def difference(
    metric: str, own: Mapping[int, dict[str, Any]], default: Mapping[int, dict[str, Any]]
) -> tuple[float, float, float] | None:
    """Return a model's mean figure minus the default's over their common seeds, and the ends of its interval.

    The bootstrap draws series, or groups with all their series, in every seed that tests on them; both models have the
    same draws.

    Args:
        metric: metric of the set.
        own: results of the model, by seed.
        default: results of the default, by seed.

    Returns:
        None if there is no common seed, or if the results of single series are not stored.
    """
    seeds = sorted(own.keys() & default.keys())
    known = [seed for seed in seeds if "series" in own[seed] and "series" in default[seed]]
    pairs = [(own[seed]["series"], default[seed]["series"]) for seed in known]
    if not pairs:
        return None
    units, codes = np.unique(np.concatenate([one["unit"] for one, _ in pairs]), return_inverse=True)
    draws = np.random.default_rng(0).multinomial(len(units), np.full(len(units), 1 / len(units)), RESAMPLES)
    weights = np.concatenate([np.ones((1, len(units))), draws])
    totals, begin = np.zeros(len(weights)), 0
    for one, other in pairs:
        if one["unit"] != other["unit"]:
            raise ValueError("results of one set and seed must be for the same series; remove the older ones")
        W = weights[:, codes[begin : begin + len(one["unit"])]]
        begin += len(one["unit"])
        totals += (_figure(metric, one, W) - _figure(metric, other, W)) / len(pairs)
    low, high = np.nanquantile(totals[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(totals[0]), float(low), float(high)


def _figure(metric: str, series: Mapping[str, Any], W: Floats) -> Floats:
    """Return (R,) figures for weights (R, n) of the series."""
    column = "squared_error" if metric in LOWER else {"accuracy": "correct"}.get(metric)
    if column is None:
        y, p = METRICS[metric].prepare(np.array(series["truth"]), np.array(series["probability"]))
        return METRICS[metric].weighted(y, p, W)
    with np.errstate(invalid="ignore"):
        mean: Floats = W @ np.array(series[column], dtype=np.float64) / W.sum(axis=1)
    return np.sqrt(mean) if metric == "rmse" else mean


def portfolio_markdown(out: Path) -> str:
    """Return the table; empty if nothing was measured."""
    rows = portfolio_rows(out)
    if not rows:
        return ""
    text = head("set", "metric", "model", "figure", "log loss", "difference", "best part", "seconds", "seeds")
    for row in rows:
        digits = 1 if row["value"] >= 10 else 3
        text.append(
            cells(
                row["set"],
                row["metric"] + (" ↓" if row["metric"] in LOWER else ""),
                TITLES.get(row["model"], row["model"]),
                f"{row['value']:.{digits}f}",
                "–" if row["log_loss"] is None else f"{row['log_loss']:.3f}",
                _interval(row["difference"], digits),
                "–" if row["best_part"] is None else f"{row['best_part']:.{digits}f}",
                "–" if row["seconds"] is None else f"{row['seconds']:.0f}",
                ", ".join(map(str, row["seeds"])),
            )
        )
    return "\n".join([*text, "", LEGEND]) + "\n"


def forecasts_markdown(out: Path) -> str:
    """Return the errors of forecasts and of their parts by gap; empty if nothing was measured."""
    rows = forecasts_by_gap(out)
    if not rows:
        return ""
    names = [name for name in (MODEL, *SHOWN) if any(name in row["mse"] for row in rows)]
    text = head("set", "gap", *(SHOWN.get(name, "**default**") for name in names))
    for row in rows:
        figures = (row["mse"].get(name) for name in names)
        text.append(cells(row["set"], row["gap"], *("–" if figure is None else f"{figure:.3g}" for figure in figures)))
    return "\n".join([*text, "", GAPS]) + "\n"


def forecasts_by_gap(out: Path) -> list[dict[str, Any]]:
    """Return one entry per set and range of gaps, with the mean squared errors of the default and its parts by name."""
    records = [_read(path) for path in sorted((out / "portfolio").glob(f"*-{DEFAULT}-seed*.json"))]
    rows = []
    for name in dict.fromkeys(record["key"]["set"] for record in records if "mse_by_gap" in record):
        runs = [record["mse_by_gap"] for record in records if record["key"]["set"] == name]
        for gap in runs[0][MODEL]:
            parts = [part for part in runs[0] if all(part in run for run in runs)]
            rows.append(
                {"set": name, "gap": gap, "mse": {part: fmean(run[part][gap] for run in runs) for part in parts}}
            )
    return rows


def _interval(difference: tuple[float, float, float] | None, digits: int) -> str:
    if difference is None:
        return "–"
    value, low, high = (f"{number:+.{digits}f}".replace("-", "−") for number in difference)
    text = f"{value} [{low}, {high}]"
    return f"**{text}**" if difference[1] > 0 or difference[2] < 0 else text
