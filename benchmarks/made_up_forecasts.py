"""Are the defaults good on forecasts of made-up sets that nothing was tuned to?

    make bench CASE=made_up_forecasts ARGS='--kinds walks seasons'

Each set is parted as `liquidtime train` parts it, the default is trained and asked for the end of each series of the
test part, and compared with its networks alone, with LightGBM on the same features of the past and with the naive
forecasts: mean squared errors in standard deviations of training, each channel's own, over the series.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.made_up_series import KINDS
from benchmarks.portfolio_forecast import LightGBMOnLags
from liquidtime.estimators import StackedForecaster
from liquidtime.estimators.faces.forecast_test import forecast_test
from liquidtime.evaluation.split import SplitRequest, split_series


def run(kind: str, seed: int = 0, rival: bool = True) -> dict[str, Any]:
    """Return the errors of all models on one kind of series.

    Args:
        kind: one of `KINDS`.
        seed: of the series and of the models.
        rival: whether to train LightGBM too.
    """
    made = KINDS[kind](np.random.default_rng(seed))
    split = split_series(made.data, SplitRequest(), seed, None, in_time=True)
    ((train, test),) = split.folds
    part = split.data[train]
    begun = time.process_time()
    model = StackedForecaster(random_state=seed, **made.settings).fit(part)
    seconds = time.process_time() - begun
    found = forecast_test(model, split.data[test])
    errors = {name: float(each.mean()) for name, each in found.squared.items()}
    if rival:
        lightgbm = LightGBMOnLags(model.horizon_, seed, made.settings.get("known"))
        lightgbm.fit(part)
        said = model._standardised(np.concatenate(lightgbm.predict(found.past, found.times)))
        truth = model._standardised(np.concatenate(found.truth))
        series = np.repeat(np.arange(len(found.rows)), [len(own) for own in found.truth])
        off = (said - truth) ** 2
        errors["lightgbm"] = float(np.mean([np.nanmean(off[series == row]) for row in range(len(found.rows))]))
    gaps = [
        {"channel": skill.channel, "to": skill.high, "coverage": skill.coverage, "rmse": skill.rmse}
        for skill in found.by_channel()
    ]
    weights = {part.name: round(part.weight, 3) for part in model.parts_}
    best = min(value for name, value in errors.items() if name != "model")
    return {
        "kind": kind, "seed": seed, "mse": errors, "ratio_to_best": errors["model"] / best if best > 0 else None,
        "period": model.period_, "horizon": model.horizon_, "coverage": float(found.covered.mean()), "weights": weights,
        "seconds": round(seconds, 1), "by_gap": gaps,
        "out_of_fold": {part.name: part.figures.get("mse") for part in model.parts_}, "trials": [
            (trial.choice.epochs, trial.loss) for trial in model.trials_],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--no-rival", action="store_true", help="without LightGBM")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    for kind in arguments.kinds:
        for seed in arguments.seeds:
            record = run(kind, seed, not arguments.no_rival)
            told = " ".join(f"{name} {value:.4g}" for name, value in record["mse"].items())
            print(f"{kind:10} {record['ratio_to_best'] or float('nan'):.3f} | {told} | {record['coverage']:.3f} | "
                  f"{record['seconds']} s | {record['weights']}", flush=True)  # fmt: skip
            if arguments.out:
                arguments.out.mkdir(parents=True, exist_ok=True)
                (arguments.out / f"{kind}-seed{seed}.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
