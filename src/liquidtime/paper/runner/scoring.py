"""The test figures of a run: the metric, its confidence interval, and the metric on sequences absent from training."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.paper.datasets import Sequences, Split
from liquidtime.paper.fitting import Outcome, Task
from liquidtime.training import bootstrap_interval

LEVEL, RESAMPLES = 0.95, 1000


def reported(task: Task, split: Split, outcome: Outcome) -> dict[str, Any]:
    """Return the figures of the test part and, if there is one, of the validation part.

    Sequences of one id, such as windows of one rollout, are resampled together. If some test sequences occur in the
    training part, `test_unseen` is the metric on the others.
    """
    target = np.asarray(task.target(split.test))
    ids = split.test.ids.numpy()
    clusters = ids if 1 < len(np.unique(ids)) < len(ids) else None
    options: dict[str, Any] = {"level": LEVEL, "resamples": RESAMPLES, "clusters": clusters}
    interval = bootstrap_interval(task.metric, target, outcome.prediction, **options)
    test = {"metric": task.metric, **{name: getattr(interval, name) for name in ("value", "low", "high", "level")}}
    if clusters is not None:
        test["clusters"] = len(np.unique(ids))
    figures: dict[str, Any] = {"test": test, **outcome.figures}
    seen = occurs(split.train, split.test)
    if 0 < seen.sum() < len(seen):
        value = task.score(target[~seen], outcome.prediction[~seen])
        figures["test_unseen"] = {"metric": task.metric, "value": value, "share_seen": float(seen.mean())}
    if outcome.best_metric is not None:
        figures["validation"] = {"metric": task.metric, "value": outcome.best_metric}
    if "penalty" in outcome.figures and task.metric == "mse":
        figures["test_with_penalty"] = {"metric": task.metric, "value": interval.value + outcome.figures["penalty"]}
    return figures


def occurs(known: Sequences, part: Sequences) -> npt.NDArray[np.bool_]:
    """Return which sequences of a part are among the known ones, with equal samples and intervals; images never are."""
    if known.x.dim() > 3:
        return np.zeros(len(part), dtype=np.bool_)
    keys = set(_keys(known))
    return np.array([key in keys for key in _keys(part)], dtype=np.bool_)


def _keys(part: Sequences) -> list[bytes]:
    x, dt = part.x.numpy(), part.dt.numpy()
    return [x[row, :n].tobytes() + dt[row, :n].tobytes() for row, n in enumerate(part.lengths.tolist())]
