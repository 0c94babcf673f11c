"""Tables of classes: counts, confusion between classes, and the effect of thresholds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from liquidtime.evaluation.report.contents import ReportData

_MOST = 20
_THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Confusion:
    """The confusion between classes.

    Args:
        classes: classes that are shown, the most frequent ones of the test part.
        counts: for each true class, how often each class was predicted.
        recall: for each class, the share of its series that were recognised; None if it has none.
        precision: for each class, the share of its predictions that were right; None if there are none.
        hidden: classes that are not shown.
    """

    classes: list[str]
    counts: list[list[int]]
    recall: list[float | None]
    precision: list[float | None]
    hidden: list[str]


def confusion(data: ReportData) -> Confusion | None:
    """Return the confusion between classes, where the most probable class is predicted; None for values."""
    if not data.classes:
        return None
    comparison, C = data.comparison, len(data.classes)
    said = comparison.extras.get("decision")
    if said is None:
        said = comparison.predictions[comparison.name].argmax(axis=1)
    table = np.zeros((C, C), dtype=np.int64)
    np.add.at(table, (comparison.target, said), 1)
    shown = sorted(np.argsort(-table.sum(axis=1), kind="stable")[:_MOST].tolist())
    true, named, hits = table.sum(axis=1), table.sum(axis=0), np.diag(table)
    return Confusion(
        classes=[data.classes[place] for place in shown],
        counts=table[np.ix_(shown, shown)].tolist(),
        recall=[float(hits[k] / true[k]) if true[k] else None for k in shown],
        precision=[float(hits[k] / named[k]) if named[k] else None for k in shown],
        hidden=[name for place, name in enumerate(data.classes) if place not in shown],
    )


def thresholds(data: ReportData) -> list[tuple[float, int, float, float | None, float]]:
    """Return the effect of each threshold for two classes; nothing for more classes.

    Each entry has the threshold, the number of test series above it, the share of the second class that it recognises,
    the share of those above it that are right (None if there are none), and the share of the first class above it.
    """
    target = data.comparison.target
    if len(data.classes) != 2 or len(np.unique(target)) < 2:
        return []
    score, positive = data.comparison.predictions[data.comparison.name][:, 1], target == 1
    rows = []
    for threshold in _THRESHOLDS:
        named = score >= threshold
        right = float(positive[named].mean()) if named.any() else None
        rows.append((threshold, int(named.sum()), float(named[positive].mean()), right, float(named[~positive].mean())))
    return rows
