"""Metrics, each with its direction and a vectorised form for the bootstrap.

The scores are computed by scikit-learn. The weighted forms compute the same figure for many weightings of the rows at
once: a bootstrap resample is a count for each row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Metric:
    """One metric.

    Args:
        name: name in settings, logs and stored figures.
        label: name in reports.
        short_label: name where there is little space, such as in a terminal.
        higher_is_better: whether higher values are better.
        of_classes: True if it compares labels with probabilities, False if it compares values.
        stratified: whether a resample keeps the number of rows of each class.
        score: (y, p) -> the figure, with y and p from `prepare`.
        weighted: (y, p, W (R, n)) -> (R,) the figure for each row of weights.
    """

    name: str
    label: str
    short_label: str
    higher_is_better: bool
    of_classes: bool
    stratified: bool
    score: Callable[[Any, Any], float]
    weighted: Callable[[Any, Any, Array], Array]

    @property
    def perfect(self) -> float:
        """The best figure there can be."""
        return 1.0 if self.higher_is_better else 0.0

    def heading(self, short: bool = False) -> str:
        """Return the label for the heading of a table, with ↓ if lower is better."""
        return (self.short_label if short else self.label) + ("" if self.higher_is_better else " ↓")

    def __call__(self, target: Any, prediction: Any) -> float:
        """Return the figure of predictions for their targets.

        Args:
            target: (n,) labels 0…C−1; or (n,) or (n, K) values.
            prediction: (n, C) probabilities, or (n,) that of class 1 of two; or values of the same shape as the target.

        Raises:
            ValueError: shapes do not fit, there is NaN or no row, or the figure is undefined (AUC of one class).

        """
        return float(self.score(*self.prepare(target, prediction)))

    def prepare(self, target: Any, prediction: Any) -> tuple[npt.NDArray[Any], Array]:
        """Return (n,) labels and (n, C) probabilities, or (n, K) values and values, checked."""
        y, p = np.asarray(target), np.asarray(prediction, dtype=np.float64)
        if len(y) == 0 or len(y) != len(p):
            raise ValueError(
                f"`target` and `prediction` must have the same rows, at least one; got {len(y)} and {len(p)}"
            )
        for name, values in (("target", y), ("prediction", p)):
            bad = ~np.isfinite(values.astype(np.float64)).reshape(len(y), -1).all(axis=1)
            if bad.any():
                row = int(bad.argmax())
                raise ValueError(f"`{name}` must be finite; {int(bad.sum())} of {len(y)} rows are not, first row {row}")
        return self._classes(y, p) if self.of_classes else self._values(y, p)

    def _classes(self, y: npt.NDArray[Any], p: Array) -> tuple[npt.NDArray[Any], Array]:
        if p.ndim == 1:
            p = np.stack([1.0 - p, p], axis=1)
        if p.ndim != 2 or y.ndim != 1:
            raise ValueError(f"`target` must be (n,) and `prediction` (n,) or (n, C); got {y.shape} and {p.shape}")
        if p.min() < 0 or p.max() > 1 or np.abs(p.sum(axis=1) - 1).max() > 1e-3:
            raise ValueError(
                f"`prediction` must be probabilities that add up to 1, for {self.name}; pass softmax(logits)."
            )
        labels = y.astype(np.int64)
        C = p.shape[1]
        if (labels != y).any() or labels.min() < 0 or labels.max() >= C:
            raise ValueError(f"`target` must be whole numbers in 0…{C - 1}; got {y.min()}…{y.max()}")
        missing = np.setdiff1d(np.arange(C), labels)
        if self.stratified and len(missing):
            raise ValueError(f"`target` has no row of class {missing[0]}; {self.name} needs every class.")
        return labels, p / p.sum(axis=1, keepdims=True)

    def _values(self, y: npt.NDArray[Any], p: Array) -> tuple[npt.NDArray[Any], Array]:
        if y.shape != p.shape or y.ndim not in (1, 2):
            raise ValueError(f"`target` and `prediction` must both be (n,) or (n, K); got {y.shape} and {p.shape}")
        return y.astype(np.float64).reshape(len(y), -1), p.reshape(len(y), -1)


def _sklearn(name: str) -> Callable[..., Any]:
    """Return a metric of scikit-learn, which is imported at first use because that takes as long as importing torch."""
    from sklearn import metrics

    function: Callable[..., Any] = getattr(metrics, name)
    return function


def _auc(y: Any, p: Array) -> float:
    if p.shape[1] == 2:
        return float(_sklearn("roc_auc_score")(y, p[:, 1]))
    return float(_sklearn("roc_auc_score")(y, p, multi_class="ovr", labels=np.arange(p.shape[1])))


def _average_precision(y: Any, p: Array) -> float:
    if p.shape[1] == 2:
        return float(_sklearn("average_precision_score")(y, p[:, 1]))
    return float(np.mean([_sklearn("average_precision_score")(y == k, p[:, k]) for k in range(p.shape[1])]))


def _one_vs_rest(one: Callable[[Array, Array], Array]) -> Callable[[Any, Any, Array], Array]:
    """Average a figure over the classes; it is computed from the weights of positives and negatives at each score."""

    def weighted(y: npt.NDArray[np.int64], p: Array, W: Array) -> Array:
        classes = [1] if p.shape[1] == 2 else range(p.shape[1])
        mean: Array = np.mean([one(*_levels(y == k, p[:, k], W)) for k in classes], axis=0)
        return mean

    return weighted


def _levels(positive: npt.NDArray[np.bool_], score: Array, W: Array) -> tuple[Array, Array]:
    """Return the (R, L) weights of positives and of negatives at each level of the score, the highest first."""
    order = np.argsort(-score, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(score[order]) != 0])
    sorted_weights = W[:, order]
    is_positive = positive[order]
    return (
        np.add.reduceat(sorted_weights * is_positive, starts, axis=1),
        np.add.reduceat(sorted_weights * ~is_positive, starts, axis=1),
    )


def _auc_of_levels(positives: Array, negatives: Array) -> Array:
    below = negatives.sum(axis=1, keepdims=True) - np.cumsum(negatives, axis=1)
    won = (positives * (below + 0.5 * negatives)).sum(axis=1)  # a tie is half won
    share: Array = won / (positives.sum(axis=1) * negatives.sum(axis=1))
    return share


def _precision_of_levels(positives: Array, negatives: Array) -> Array:
    found = np.cumsum(positives, axis=1)
    taken = found + np.cumsum(negatives, axis=1)
    precision = np.divide(found, taken, out=np.zeros_like(found), where=taken > 0)
    mean: Array = (positives * precision).sum(axis=1) / positives.sum(axis=1)
    return mean


def _mean_of(rows: Callable[[Any, Any], Array]) -> Callable[[Any, Any, Array], Array]:
    """Turn a figure of each row (n,) into weighted means (R,)."""

    def weighted(y: Any, p: Any, W: Array) -> Array:
        means: Array = W @ rows(y, p) / W.sum(axis=1)
        return means

    return weighted


def _surprise(y: Any, p: Array) -> Array:
    tiny = np.finfo(np.float64).eps
    surprise: Array = -np.log(np.clip(p[np.arange(len(y)), y], tiny, 1.0 - tiny))
    return surprise


def _brier_rows(y: Any, p: Array) -> Array:
    total: Array = ((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1)
    return total / 2 if p.shape[1] == 2 else total


def _weighted_r2(y: Array, p: Array, W: Array) -> Array:
    weight = W.sum(axis=1, keepdims=True)
    centred = y - y.mean(axis=0)
    spread = W @ centred**2 - (W @ centred) ** 2 / weight  # (R, K)
    missed = W @ (y - p) ** 2
    share = np.divide(missed, spread, out=np.full_like(missed, np.nan), where=spread > 0)
    explained: Array = 1.0 - share.mean(axis=1)
    return explained


def _of_decisions(
    rate: Callable[[Array, Array, Array, Array], Array],
) -> tuple[Callable[[Any, Any], float], Callable[[Any, Any, Array], Array]]:
    """Return a metric of decisions between two classes, and its weighted form.

    Args:
        rate: maps the (R,) weights of true positives, false positives, false negatives and true negatives to (R,).
    """

    def weighted(y: npt.NDArray[np.int64], p: Array, W: Array) -> Array:
        said, true = p.argmax(axis=1) > 0, y > 0
        masks = (true & said, ~true & said, true & ~said, ~true & ~said)
        return rate(*(W @ mask.astype(np.float64) for mask in masks))

    return lambda y, p: float(weighted(y, p, np.ones((1, len(y))))[0]), weighted


DECISIONS = {
    "balanced_accuracy": lambda tp, fp, fn, tn: (tp / (tp + fn) + tn / (tn + fp)) / 2,
    "f1": lambda tp, fp, fn, tn: 2 * tp / (2 * tp + fp + fn),
    "sensitivity": lambda tp, fp, fn, tn: tp / (tp + fn),
    "specificity": lambda tp, fp, fn, tn: tn / (tn + fp),
}
"""Metrics of decisions between two classes, from true positives, false positives, false negatives, true negatives."""

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("auc", "area under ROC", "AUC", True, True, True, _auc, _one_vs_rest(_auc_of_levels)),
        Metric(
            "average_precision", "average precision", "avg. precision", True, True, True,
            _average_precision, _one_vs_rest(_precision_of_levels),
        ),
        Metric(
            "accuracy", "accuracy", "accuracy", True, True, False,
            lambda y, p: _sklearn("accuracy_score")(y, p.argmax(axis=1)),
            _mean_of(lambda y, p: (p.argmax(axis=1) == y).astype(np.float64)),
        ),
        Metric(
            "log_loss", "log loss", "log loss", False, True, False,
            lambda y, p: _sklearn("log_loss")(y, p, labels=np.arange(p.shape[1])),
            _mean_of(_surprise),
        ),
        Metric(
            "brier", "Brier score", "Brier score", False, True, False,
            lambda y, p: _sklearn("brier_score_loss")(y, p[:, 1] if p.shape[1] == 2 else p, labels=range(p.shape[1])),
            _mean_of(_brier_rows),
        ),
        Metric(
            "mse", "mean squared error", "mean sq. error", False, False, False,
            lambda y, p: _sklearn("mean_squared_error")(y, p),
            _mean_of(lambda y, p: ((y - p) ** 2).mean(axis=1)),
        ),
        Metric(
            "rmse", "root mean squared error", "root m. sq. error", False, False, False,
            lambda y, p: float(np.sqrt(((y - p) ** 2).mean())),
            lambda y, p, W: np.sqrt(_mean_of(lambda y, p: ((y - p) ** 2).mean(axis=1))(y, p, W)),
        ),
        Metric(
            "mae", "mean absolute error", "mean abs. error", False, False, False,
            lambda y, p: _sklearn("mean_absolute_error")(y, p),
            _mean_of(lambda y, p: np.abs(y - p).mean(axis=1)),
        ),
        Metric("r2", "R²", "R²", True, False, False, lambda y, p: _sklearn("r2_score")(y, p), _weighted_r2),
        *(
            Metric(name, label, label, True, True, True, *_of_decisions(DECISIONS[name]))
            for name, label in (
                ("balanced_accuracy", "balanced accuracy"), ("f1", "F1"), ("sensitivity", "sensitivity"),
                ("specificity", "specificity"),
            )
        ),
    )
}  # fmt: skip
"""Every metric by name."""
