"""How good is the quick budget? `CfCClassifier(budget="quick")` on PhysioNet 2012 beside gradient boosting, in one run.

Trains on set a (or the share of it that the estimator leaves to training), tests on set b, and writes JSON: single
networks for several seeds, one ensemble, gradient boosting on summary features and the guess, each with a bootstrap
interval; and which share of an epoch goes into encoding and batching. With `--folds` it cross-validates one network,
the ensemble and gradient boosting inside set a instead, without a look at set b. Each of the two is written beside what
the file has of the other.

    LIQUIDTIME_DATA=folder python -m benchmarks.physionet_defaults --out results/physionet_defaults.json
    LIQUIDTIME_DATA=folder python -m benchmarks.physionet_defaults --out results/physionet_defaults.json --folds 5
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

import liquidtime as lt
from liquidtime.baselines.classical import Guess, SummaryBoosting
from liquidtime.data import align_labels
from liquidtime.estimators.network.inputs import Prepared, SeriesBatches
from liquidtime.training import bootstrap_interval

STATIC = ("Age", "Gender", "Height", "ICUType")


def stays(folder: Path, which: str) -> tuple[Any, Any]:
    """Return the stays of one set and whether each died in hospital."""
    records = pl.read_parquet(folder / f"records-{which}.parquet").with_columns(pl.col("parameter").cast(pl.String))
    outcomes = pl.read_parquet(folder / "outcomes.parquet").filter(pl.col("set").cast(pl.String) == which)
    data = lt.SeriesSet.from_long(
        records,
        id="record_id",
        time="minutes",
        channel="parameter",
        value="value",
        time_unit="min",
        static=STATIC,
        categorical=("ICUType",),
        missing=(-1,),
    )
    return align_labels(data, outcomes, id="record_id", target="in_hospital_death", keep_empty=True)


def figures(y: Any, p: Any, seconds: float) -> dict[str, Any]:
    found = {}
    for metric in ("auc", "average_precision", "log_loss"):
        interval = bootstrap_interval(metric, y, p)
        found[metric] = {"value": interval.value, "low": interval.low, "high": interval.high}
    return {**found, "train_seconds": round(seconds, 1)}


def shares(data: Any, model: Any) -> dict[str, float]:
    """Return the seconds of encoding the set once, and of batching it and of a whole training epoch."""
    begun = time.process_time()
    prepared = Prepared.of(model.encoder_, data)
    encoding = time.process_time() - begun
    begun = time.process_time()
    for _ in SeriesBatches(prepared, 128, None, torch.Generator().manual_seed(0)):
        pass
    batching = time.process_time() - begun
    begun = time.process_time()
    network = model.networks_[0].train()
    for sample in SeriesBatches(prepared, 128, None, torch.Generator().manual_seed(0)):
        network(*sample[:5]).sum().backward()
    network.eval()
    epoch = time.process_time() - begun
    epochs = model.results_[0].epochs
    return {
        "encoding_seconds": round(encoding, 3),
        "batching_seconds": round(batching, 3),
        "epoch_seconds": round(epoch, 3),
        "epochs": epochs,
        "share_of_epoch": round((encoding / epochs + batching) / (encoding / epochs + epoch), 4),
    }


def cross_validated(make: Any, data: Any, y: Any, folds: int) -> dict[str, Any]:
    """Return the AUC of each fold, their mean and deviation, and the interval of all held-out stays together."""
    begun = time.perf_counter()
    held_out, values = np.empty((len(y), 2)), []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(np.zeros(len(y)), y):
        held_out[test] = make().fit(data[train], y[train]).predict_proba(data[test])
        values.append(float(roc_auc_score(y[test], held_out[test, 1])))
    together = figures(y, held_out, time.perf_counter() - begun)
    return {"folds": values, "mean": float(np.mean(values)), "sd": float(np.std(values, ddof=1)), "pooled": together}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", default=os.environ.get("LIQUIDTIME_DATA"), help="folder with physionet2012/")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--folds", type=int, help="cross-validate inside set a instead")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    if given.data_dir is None:
        parser.error("give --data-dir, or set LIQUIDTIME_DATA")
    folder = Path(given.data_dir) / "physionet2012"
    train, y_train = stays(folder, "a")
    kept = json.loads(given.out.read_text()) if given.out.exists() else {}
    if given.folds:
        makers = {
            "network": lambda: lt.CfCClassifier(budget="quick", random_state=0),
            "ensemble": lambda: lt.CfCClassifier(n_estimators=given.members, budget="quick", random_state=0),
            "boosting": lambda: SummaryBoosting(random_state=0),
        }
        kept["cross_validation"] = {
            name: cross_validated(make, train, y_train, given.folds) for name, make in makers.items()
        }
        given.out.write_text(json.dumps(kept, indent=1) + "\n")
        for name, entry in kept["cross_validation"].items():
            auc = entry["pooled"]["auc"]
            print(f"{name:10s} AUC {entry['mean']:.4f} ± {entry['sd']:.4f} over {given.folds} folds, "
                  f"all held-out stays {auc['value']:.4f} [{auc['low']:.4f}, {auc['high']:.4f}]")  # fmt: skip
        return
    test, y_test = stays(folder, "b")
    result: dict[str, Any] = {"train": len(train), "test": len(test), "torch": torch.__version__, "singles": []}
    if "cross_validation" in kept:
        result["cross_validation"] = kept["cross_validation"]

    def note(name: str, entry: dict[str, Any]) -> None:
        print(f"{name:28s} AUC {entry['auc']['value']:.4f} [{entry['auc']['low']:.4f}, {entry['auc']['high']:.4f}]"
              f"  {entry['train_seconds']} s", flush=True)  # fmt: skip
        given.out.write_text(json.dumps(result, indent=1) + "\n")

    for seed in range(given.seeds):
        begun = time.perf_counter()
        model = lt.CfCClassifier(budget="quick", random_state=seed).fit(train, y_train)
        seconds = time.perf_counter() - begun
        entry = {"seed": seed, **figures(y_test, model.predict_proba(test), seconds)}
        result["singles"].append(entry)
        note(f"single, seed {seed}", entry)
    result["settings"] = {name: str(value) for name, value in model.get_params().items()}
    result["shares"] = shares(train, model)
    values = [entry["auc"]["value"] for entry in result["singles"]]
    result["single_auc"] = {"mean": float(np.mean(values)), "sd": float(np.std(values, ddof=1))}
    print(f"singles: mean {np.mean(values):.4f}, sd {np.std(values, ddof=1):.4f}; {result['shares']}", flush=True)

    begun = time.perf_counter()
    ensemble = lt.CfCClassifier(n_estimators=given.members, budget="quick", random_state=0).fit(train, y_train)
    result["ensemble"] = figures(y_test, ensemble.predict_proba(test), time.perf_counter() - begun)
    note(f"ensemble of {given.members}", result["ensemble"])

    begun = time.perf_counter()
    boosting = SummaryBoosting(random_state=0).fit(train, y_train)
    result["boosting"] = figures(y_test, boosting.predict_proba(test), time.perf_counter() - begun)
    note("gradient boosting", result["boosting"])
    result["guess"] = figures(y_test, Guess().fit(train, y_train).predict_proba(test), 0.0)
    note("guess", result["guess"])


if __name__ == "__main__":
    main()
