"""What ranks train in tests: each estimator with what makes a loss or a draw depend on the whole batch."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch

import liquidtime as lt
from estimators.small import TINY, series
from liquidtime.distributed import ranks

SMALL = {**TINY, "epochs": 2, "dropout": 0.5, "channel_dropout": 0.3}


def cases():
    """Return by name what is fitted; each takes `folder` and `resume`."""
    data, labels, level = series(S=37)  # the last batch of 16 has 5 rows
    rng = np.random.default_rng(0)  # no statistic is the same for all: its scaled value is rounding errors alone
    long = [(np.sort(rng.uniform(0, 48, n)), rng.normal(size=(n, 2))) for n in rng.integers(50, 70, 20)]
    cases.long, marks = long, np.arange(20) % 3
    level_long = [(np.arange(60.0), values[np.arange(60) % len(values)]) for _, values in long]
    samples = [np.array(["x", "y"])[np.arange(n) % 2] for n in data.lengths]
    several = np.stack([level, -2 * level], axis=1)
    half = np.where(np.arange(37) % 2, level, np.nan)
    few = {**SMALL, "batch_size": 12}
    return {
        "classes": lambda **run: lt.CfCClassifier(**SMALL, n_estimators=2).fit(data, labels, **run),
        "weighted": lambda **run: lt.CfCClassifier(**SMALL, class_weight="balanced").fit(
            data, labels, sample_weight=1 + np.arange(37) % 3, **run
        ),
        "auxiliary": lambda **run: lt.CfCClassifier(**SMALL).fit(data, labels, auxiliary=half, **run),
        "each sample": lambda **run: lt.CfCClassifier(**SMALL, per_step=True).fit(data, samples, **run),
        "values": lambda **run: lt.CfCRegressor(**few, validation_fraction=0.3, patience=5).fit(data, several, **run),
        "forecasts": lambda **run: lt.CfCForecaster(**SMALL).fit(data, **run),
        "front end": lambda **run: lt.CfCClassifier(**{**SMALL, "batch_size": 7}, front_end="convolution").fit(
            long, marks, **run
        ),
        "equal lengths": lambda **run: lt.CfCClassifier(**{**SMALL, "batch_size": 7}, front_end="convolution").fit(
            level_long, marks, **run
        ),
        "transformer": lambda **run: lt.CfCClassifier(**SMALL, network="transformer").fit(data, labels, **run),
        "one row": lambda **run: lt.CfCRegressor(**{**SMALL, "batch_size": 12}).fit(data[:13], level[:13], **run),
    }


def weights(model) -> np.ndarray:
    """Return all weights, and of a front end what it predicts.

    Weights without a gradient only spread rounding errors by Adam: batch normalisation takes away the bias before it,
    and leaves nothing of a statistic that all series share; attention does not see what all keys have.
    """
    if model.front_end_ is not None:
        return model.predict_proba(cases.long)
    return np.concatenate(
        [
            value.detach().numpy().ravel()
            for network in model.networks_
            for name, value in network.state_dict().items()
            if not name.endswith("project.bias")
        ]
    )


def main(out: str, *names: str) -> None:
    torch.set_num_threads(1)
    with ranks() as own:
        torch.set_num_threads(1)
        for name, fit in cases().items():
            if not names or name in names:
                np.save(Path(out) / f"{name} {own.rank} of {own.world}.npy", weights(fit()))


if __name__ == "__main__":
    main(*sys.argv[1:])
