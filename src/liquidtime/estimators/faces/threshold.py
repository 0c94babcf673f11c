"""From which probability on a classifier of two classes says the second one, by a stated rule."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from torch import Tensor

from liquidtime.data import SeriesSet
from liquidtime.distributed import in_processes
from liquidtime.estimators.network.members import folds
from liquidtime.training.metrics import DECISIONS

Floats = npt.NDArray[np.float64]
RULES = "balanced_accuracy, f1, specificity=0.9, sensitivity=0.9, cost=1:5, or a number between 0 and 1"
"""What a threshold can be chosen by, in words."""
_FOLDS = 3
"""In which the threshold of networks is chosen."""
_AT_LEAST = re.compile(r"(specificity|sensitivity)\s*=\s*([0-9.]+)")
_COST = re.compile(r"cost\s*=\s*([0-9.]+)\s*:\s*([0-9.]+)")


@dataclass(frozen=True)
class ThresholdRule:
    """What a threshold is to be best for.

    Args:
        metric: in `DECISIONS`, as large as can be; "" for the least cost.
        floor: another metric that must be at least `least`; "" for none.
        least: see `floor`.
        costs: of a false positive and of a false negative, where `metric` is "".
    """

    metric: str
    floor: str = ""
    least: float = 0.0
    costs: tuple[float, float] = (1.0, 1.0)


def read_threshold(threshold: Any) -> float | ThresholdRule | None:
    """Return a threshold as it is meant: a number, a rule, or None for the more probable class.

    Args:
        threshold: None, a number in (0, 1) or its text, or the text of a rule: "balanced_accuracy", "f1",
            "specificity=0.9" (the highest sensitivity with at least this specificity), "sensitivity=0.9" (the reverse),
            "cost=1:5" (a false alarm costs 1, a miss 5).

    Raises:
        ValueError: what is none of these.

    """
    if threshold is None:
        return None
    text = str(threshold).strip().replace("-", "_")
    if text in ("balanced_accuracy", "f1"):
        return ThresholdRule(text)
    at_least, cost = _AT_LEAST.fullmatch(text), _COST.fullmatch(text)
    try:
        if at_least and 0.0 < float(at_least[2]) < 1.0:
            other = "sensitivity" if at_least[1] == "specificity" else "specificity"
            return ThresholdRule(other, at_least[1], float(at_least[2]))
        if cost and float(cost[1]) > 0 and float(cost[2]) > 0:
            return ThresholdRule("", costs=(float(cost[1]), float(cost[2])))
        if not at_least and not cost and not isinstance(threshold, bool) and 0.0 < float(text) < 1.0:
            return float(text)
    except ValueError:
        pass
    raise ValueError(f"`threshold` must be {RULES}; got {threshold!r}")


def check_two_classes(threshold: Any, C: int) -> None:
    """Refuse a threshold for other than two classes."""
    if read_threshold(threshold) is not None and C != 2:
        raise ValueError(f"`threshold` is for two classes; there are {C}. Leave it out.")


def choose_threshold(chances: Floats, codes: npt.NDArray[np.int64], rule: ThresholdRule, weights: Any = None) -> float:
    """Return the threshold that is best by a rule for predictions of rows that the model was not fitted to.

    Thresholds lie half way between neighbouring probabilities. Of equally good ones the middle one is taken.

    Args:
        chances: (n,) probabilities of class 1.
        codes: (n,) classes 0 and 1, both there.
        rule: what it is to be best for.
        weights: (n,) of the rows; None for 1.
    """
    w = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
    levels, place = np.unique(chances, return_inverse=True)
    positives = np.bincount(place, w * (codes == 1), len(levels))
    negatives = np.bincount(place, w * (codes == 0), len(levels))
    # said to be class 1 from level k on, k = 0…L
    tp = np.concatenate([np.cumsum(positives[::-1])[::-1], [0.0]])
    fp = np.concatenate([np.cumsum(negatives[::-1])[::-1], [0.0]])
    counts = (tp, fp, tp[0] - tp, fp[0] - fp)
    if rule.metric:
        with np.errstate(divide="ignore", invalid="ignore"):
            merit = np.nan_to_num(DECISIONS[rule.metric](*counts))
            if rule.floor:
                merit = np.where(DECISIONS[rule.floor](*counts) >= rule.least - 1e-12, merit, -np.inf)
    else:
        merit = -(rule.costs[0] * fp + rule.costs[1] * (tp[0] - tp))
    best = np.flatnonzero(merit >= merit.max() - 1e-12)
    k = int(best[len(best) // 2])
    edges = np.concatenate([[max(0.0, 2 * levels[0] - 1.0)], levels, [min(1.0, 2 * levels[-1])]])
    edges[0], edges[-1] = min(edges[0], levels[0]), max(edges[-1], levels[-1])
    return float(np.clip((edges[k] + edges[k + 1]) / 2, 1e-9, 1.0 - 1e-9))


def decided(
    probabilities: npt.NDArray[np.float64], classes: npt.NDArray[Any], threshold: float | None
) -> npt.NDArray[Any]:
    """Return the classes that probabilities (..., C) come to: the most probable, or the second by a threshold."""
    places = probabilities.argmax(axis=-1) if threshold is None else (probabilities[..., 1] >= threshold).astype(int)
    labels: npt.NDArray[Any] = classes[places]
    return labels


def stored_threshold(stored: Any, C: int) -> float | None:
    """Return a threshold that a model folder has, or refuse it."""
    if stored is None:
        return None
    if type(stored) is not float or not 0.0 < stored < 1.0 or C != 2:
        raise ValueError(f"`threshold` must be a number between 0 and 1, of two classes; got {stored!r}")
    return stored


def held_out_threshold(
    model: Any,
    rule: ThresholdRule,
    data: SeriesSet,
    codes: npt.NDArray[np.int64],
    strata: npt.NDArray[np.int64],
    weights: Tensor | None,
    groups: npt.NDArray[Any] | None,
    order: npt.NDArray[Any] | None,
) -> float:
    """Return the threshold of a classifier by a rule, from predictions of folds by networks trained on the others.

    Args:
        model: a fitted `CfCClassifier`.
        rule: what the threshold is to be best for.
        data: S training series.
        codes: (S,) or, of every sample, (N,) their classes 0 and 1, -1 where not known.
        strata: (S,) classes for the folds.
        weights: (S,) of the series; None for 1.
        groups: (S,) that folds keep together; None for none.
        order: (S,) that folds go by; None for none.

    Raises:
        ValueError: too few series of both classes.

    """
    S, choice = len(data), model.choice_
    owners = np.repeat(np.arange(S), data.lengths) if model.per_step else np.arange(S)
    each = None if weights is None else weights.double().numpy()
    chances = np.full(len(codes), np.nan)
    cuts = list(folds(S, 1 / _FOLDS, _FOLDS, strata, model.seed_, groups, order))

    def judged_by(number: int, again: bool) -> Floats | None:
        rows, held = cuts[number]
        inside, outside = np.isin(owners, rows), np.isin(owners, held)
        if len(np.unique(codes[inside & (codes >= 0)])) < 2 or not outside.any():
            return None
        one = clone(model).set_params(
            threshold=None, epochs=choice.epochs, learning_rate=choice.learning_rate, front_end=choice.front_end,
            summary=choice.summary,
            validation_fraction=0.0, random_state=(model.seed_ + number + 1) % 2**31, verbose=False,
        )  # fmt: skip
        labels = model.classes_[codes[inside]]
        if model.per_step:
            labels = np.where(codes[inside] >= 0, labels.astype(object), None)
        one.fit(data[rows], labels, None if each is None else each[rows])
        one.temperature_, one.trust_ = model.temperature_, model.trust_
        said: Floats = one.predict_proba(data[held])[:, 1]
        return said

    names = [f"fold {number + 1} of {len(cuts)} for the threshold" for number in range(len(cuts))]
    for (_, held), said in zip(
        cuts, in_processes(judged_by, range(len(cuts)), model.n_jobs, names=names, show=model.verbose), strict=True
    ):
        if said is not None:
            chances[np.isin(owners, held)] = said
    judged = np.isfinite(chances) & (codes >= 0)
    if len(np.unique(codes[judged])) < 2:
        raise ValueError("`threshold` cannot be chosen: too few series of both classes to hold out; give a number")
    return choose_threshold(chances[judged], codes[judged], rule, None if each is None else each[owners][judged])
