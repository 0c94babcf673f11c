"""Classical models on the portfolio by cross-validation: boosting, extra trees, convolutions, and their blend.

    LIQUIDTIME_DATA=folder python -m benchmarks.portfolio_classical --out folder [--sets ASAS PLAID] [--folds 5]

For each outer fold every model is fitted to the training rows, with inner folds of its own for whatever it chooses,
and judged on the held-out rows; the blend's weights come from the inner held-out predictions. Resumable: predictions
are kept per set, model, seed and fold, and one JSON per set, model and seed has the figures. `--judge test` fits to
all rows and judges on the set's own test part instead, where it has one. `--judge inner` fits to all rows and judges by
the inner held-out predictions: a fifth of the work, and a little flattering, since penalties, rounds, temperatures and
weights were chosen on them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks.portfolio_data import CLASSIFY, FORECAST, SETS, PortfolioSet, load
from liquidtime.baselines.classical import SummaryBoosting
from liquidtime.baselines.features import ConvolutionFeatures, RichFeatures, Ridge, Trees, blend_weights, blended
from liquidtime.data import SeriesSet

MEMBERS = ("boosting", "extra trees", "convolutions")
MODELS = ("summary boosting", *MEMBERS, "blend")
INNER = 5


class Part:
    """The training and the held-out series of one outer fold, and their features, computed once when first needed."""

    def __init__(self, train: PortfolioSet, test: SeriesSet | None, seed: int) -> None:
        self.train, self.test, self.seed = train, test, seed
        self.inner = list(train.folds(INNER, seed))

    @cached_property
    def rich(self) -> tuple[Any, Any, float]:
        return self._table(RichFeatures())

    @cached_property
    def convolutions(self) -> tuple[Any, Any, float]:
        return self._table(ConvolutionFeatures(random_state=self.seed))

    def _table(self, features: Any) -> tuple[Any, Any, float]:
        begun = time.process_time()
        table = features.fit_transform(self.train.data)
        test = None if self.test is None else features.transform(self.test)
        return table, test, time.process_time() - begun


def answers(model: Any, task: str, X: Any) -> Any:
    """Return probabilities or values; nothing where there is nothing to predict."""
    if X is None:
        return np.empty(0)
    return model.predict_proba(X) if task == CLASSIFY else model.predict(X)


def summary_boosting(part: Part) -> tuple[Any, Any]:
    """Return held-out predictions of the training rows if there are no test rows, else those of the test rows."""
    task, data, y = part.train.task, part.train.data, part.train.target
    if part.test is not None:
        return np.empty(0), answers(SummaryBoosting(task, part.seed).fit(data, y), task, part.test)
    predictions = [
        answers(SummaryBoosting(task, part.seed).fit(data[train], y[train]), task, data[held])
        for train, held in part.inner
    ]
    held_out = np.empty((len(y), *predictions[0].shape[1:]))
    for (_, held), prediction in zip(part.inner, predictions, strict=True):
        held_out[held] = prediction
    return held_out, np.empty(0)


def fitted(model: str, part: Part) -> dict[str, Any]:
    """Return held-out predictions of the training rows, those of the test rows, and the seconds of one core."""
    task, y, features, begun = part.train.task, part.train.target, 0.0, time.process_time()
    oof = test = np.empty(0)
    if model == "summary boosting":
        oof, test = summary_boosting(part)
    else:
        X, X_test, features = part.convolutions if model == "convolutions" else part.rich
        begun = time.process_time()
        if X.shape[1]:
            learner = Ridge(task) if model == "convolutions" else Trees(model, task, part.seed)
            learner.fit(X, y, part.inner)
            oof, test = learner.out_of_fold_, answers(learner, task, X_test)
    return {"oof": oof, "test": test, "features": features, "seconds": time.process_time() - begun}


def blend(parts: dict[str, Any], y: Any, task: str) -> dict[str, Any]:
    """Return the weighted mean of the members that there are."""
    members = {name: part for name, part in parts.items() if part["oof"].size}
    target = np.unique(y, return_inverse=True)[1] if task == CLASSIFY else y
    loss = "log_loss" if task == CLASSIFY else "mse"
    weights = blend_weights([part["oof"] for part in members.values()], target, loss)
    return {
        "oof": blended([part["oof"] for part in members.values()], weights),
        "test": blended([part["test"] for part in members.values()], weights),
        "features": 0.0,
        "seconds": 0.0,
        "weights": np.array([weights[list(members).index(name)] if name in members else 0.0 for name in MEMBERS]),
    }


def scores(task: str, y: Any, classes: Any, prediction: Any) -> dict[str, float]:
    """Return the figures of one fold."""
    if task != CLASSIFY:
        return {"rmse": float(np.sqrt(np.mean((prediction - y) ** 2))), "mae": float(np.abs(prediction - y).mean())}
    codes = np.searchsorted(classes, y)
    figures = {
        "accuracy": float((prediction.argmax(axis=1) == codes).mean()),
        "log_loss": float(log_loss(codes, prediction, labels=np.arange(len(classes)))),
    }
    if len(classes) == 2:
        figures["auc"] = float(roc_auc_score(codes, prediction[:, 1]))
    return figures


def kept(path: Path, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what the file holds, or compute and keep it."""
    if not path.exists():
        result = compute()
        temporary = path.with_suffix(".part.npz")
        np.savez(temporary, **result)
        temporary.rename(path)
    with np.load(path) as file:
        return dict(file)


def run(one: PortfolioSet, models: list[str], out: Path, folds: int, seed: int, judge: str) -> None:
    rows = np.arange(len(one.data))
    splits = list(one.folds(folds, seed)) if judge == "folds" else [(rows, rows)]
    figures: dict[str, list[dict[str, float]]] = {model: [] for model in models}
    for number, (train_rows, test_rows) in enumerate(splits):
        groups = None if one.groups is None else one.groups[train_rows]
        train = replace(
            one, data=one.data[train_rows], y=one.target[train_rows], groups=groups, step_labels=None, test=None
        )
        test, y_test = one.data[test_rows], one.target[test_rows]
        if judge == "test" and one.test is not None:
            test, y_test = one.test
        part, results = Part(train, None if judge == "inner" else test, seed), dict[str, dict[str, Any]]()
        for model in models:
            label = f"fold{number}of{folds}" if judge == "folds" else judge
            path = out / f"{one.name}-{model.replace(' ', '_')}-{seed}-{label}.npz"
            if model == "blend":
                members = {name: results[name] for name in MEMBERS if name in results}
                result = blend(members, train.target, one.task)
            else:
                result = kept(path, partial(fitted, model, part))
            results[model] = result
            predictions = result["oof" if judge == "inner" else "test"]
            if predictions.size == 0:
                continue
            extra = {"feature_seconds": float(result["features"]), "fit_seconds": float(result["seconds"])}
            extra |= {f"weight of {n}": float(w) for n, w in zip(MEMBERS, result.get("weights", ()), strict=False)}
            judged = [held for _, held in part.inner] if judge == "inner" else [np.arange(len(y_test))]
            for held in judged:
                row = scores(one.task, y_test[held], np.unique(train.target), predictions[held]) | extra
                figures[model].append(row)
                print(one.name, number, model, {name: round(value, 4) for name, value in row.items()}, flush=True)
    for model, table in figures.items():
        if table:
            mean = {name: float(np.mean([row[name] for row in table])) for name in table[0]}
            spread = {name: float(np.std([row[name] for row in table])) for name in table[0]}
            content = {"set": one.name, "model": model, "seed": seed, "mean": mean, "spread": spread, "folds": table}
            suffix = "" if judge == "folds" else f"-{judge}"
            path = out / f"{one.name}-{model.replace(' ', '_')}-{seed}{suffix}.json"
            path.write_text(json.dumps(content, indent=1) + "\n")
            print(
                f"{one.name:24} {model:18} {one.metric} {mean[one.metric]:.4f} ± {spread[one.metric]:.4f}", flush=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--judge", choices=("folds", "test", "inner"), default="folds")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.sets:
        one = load(name, arguments.data_dir)
        if one.task == FORECAST or (arguments.judge == "test" and one.test is None):
            continue
        models = [model for model in MODELS if model in arguments.models]
        run(one, models, arguments.out, arguments.folds, arguments.seed, arguments.judge)


if __name__ == "__main__":
    main()
