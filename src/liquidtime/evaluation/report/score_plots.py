"""Figures of how good the predictions are, the baselines beside ours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn import metrics

from liquidtime.evaluation.report.contents import Array, ModelResult
from liquidtime.evaluation.report.drawing import FAINT, INK, SERIES, SQUARE, WIDTH, drawing, thinned

_CLASSES_DRAWN = 8


def roc(target: Array, models: Sequence[ModelResult], classes: Sequence[str]) -> str:
    """Draw sensitivity against false alarms: of two classes one curve a model, of more one a class, of ours."""
    lines = []
    for name, truth, score in _one_against_rest(target, models, classes):
        false, true, _ = metrics.roc_curve(truth, score)
        lines.append((f"{name} {metrics.auc(false, true):.3f}", false, true))
    alt = "ROC curves; areas under them: " + "; ".join(name for name, _, _ in lines) + "."
    with drawing("roc", alt, SQUARE) as figure:
        (axes,) = figure.axes
        axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1, linestyle=":")
        for place, (name, false, true) in reversed(list(enumerate(lines))):
            keep = thinned(false)
            axes.plot(false[keep], true[keep], color=SERIES[place], label=name, zorder=3 - 0.1 * place)
        axes.set(xlabel="false alarms (1 - specificity)", ylabel="found (sensitivity)")
        figure.legend_below("area under the curve")
    return figure.svg


def precision_recall(target: Array, models: Sequence[ModelResult], classes: Sequence[str]) -> str:
    """Draw precision against recall, for the same models or classes as `roc`."""
    lines = []
    for name, truth, score in _one_against_rest(target, models, classes):
        precision, recall, _ = metrics.precision_recall_curve(truth, score)
        lines.append((f"{name} {metrics.average_precision_score(truth, score):.3f}", recall, precision))
    alt = "Precision-recall curves; average precision: " + "; ".join(name for name, _, _ in lines) + "."
    with drawing("precision-recall", alt, SQUARE) as figure:
        (axes,) = figure.axes
        if len(classes) == 2:
            axes.axhline(float(np.mean(target == 1)), color=FAINT, linewidth=1, linestyle=":")
        for place, (name, recall, precision) in reversed(list(enumerate(lines))):
            keep = thinned(recall)
            axes.plot(
                recall[keep], precision[keep], color=SERIES[place], label=name, drawstyle="steps-post",
                zorder=3 - 0.1 * place,
            )  # fmt: skip
        axes.set(xlabel="found (recall)", ylabel="right, of those named (precision)", ylim=(-0.02, 1.02))
        figure.legend_below("average precision")
    return figure.svg


def calibration(target: Array, models: Sequence[ModelResult], classes: Sequence[str], name: str = "") -> str:
    """Draw how often it happened against the probability given, in ten groups of equal size, with 95 % intervals."""
    multiple = len(classes) > 2
    event = "the class named" if multiple else f"{name} = {classes[1]}" if name else classes[1]
    alt = "Share of cases in which it happened, against the probability that was given, in groups of equal size."
    with drawing("calibration", alt, SQUARE) as figure:
        (axes,) = figure.axes
        axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1, linestyle=":", label="perfect")
        for place, model in reversed(list(enumerate(models))):
            score = model.prediction.max(axis=1) if multiple else model.prediction[:, 1]
            right = model.prediction.argmax(axis=1) == target if multiple else target == 1
            if len(np.unique(score)) < 3:
                continue
            middles, shares, low, high = reliability(right, score)
            axes.errorbar(
                middles, shares, [shares - low, high - shares], color=SERIES[place], marker="o", markersize=4,
                elinewidth=1, linewidth=1.2, label=model.name, zorder=3 - 0.1 * place,
            )  # fmt: skip
        axes.set(
            xlabel=f"probability of {event}",
            ylabel="share that was right" if multiple else "share that happened",
            xlim=(-0.02, 1.02), ylim=(-0.02, 1.02),
        )  # fmt: skip
        figure.legend_below()
    return figure.svg


def reliability(right: Array, score: Array, groups: int = 10) -> tuple[Array, Array, Array, Array]:
    """Return mean score, share right and its Wilson 95 % interval in groups of equal size.

    Args:
        right: (n,) truth values.
        score: (n,) probabilities.
        groups: at most so many.
    """
    parts = [part for part in np.array_split(np.argsort(score, kind="stable"), groups) if len(part)]
    n = np.array([len(part) for part in parts], dtype=float)
    share = np.array([right[part].mean() for part in parts])
    z = 1.96
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    low, high = np.minimum(centre - half, share), np.maximum(centre + half, share)
    return np.array([score[part].mean() for part in parts]), share, low, high


def residuals(target: Array, ours: ModelResult, name: str) -> str:
    """Draw what was missed, truth minus prediction, against the prediction."""
    predicted, missed = ours.prediction.ravel(), (target - ours.prediction).ravel()
    keep = np.sort(np.random.default_rng(0).permutation(len(missed))[:1500])
    alt = f"Residuals of {name}: mean {missed.mean():.4g}, standard deviation {missed.std():.4g}."
    with drawing("residuals", alt, (WIDTH, 3.2)) as figure:
        (axes,) = figure.axes
        axes.plot(predicted[keep], missed[keep], "o", markersize=3, alpha=0.6, color=SERIES[0], markeredgewidth=0)
        axes.axhline(0.0, color=INK, linewidth=1)
        axes.set(xlabel=f"predicted {name}", ylabel="truth - prediction")
    return figure.svg


def value_calibration(target: Array, models: Sequence[ModelResult], name: str) -> str:
    """Draw the mean truth against the mean prediction in ten groups of equal size."""
    alt = f"Mean of the true {name} against the mean prediction, in groups of equal size."
    truth = np.ravel(target)
    with drawing("calibration", alt, (WIDTH, 3.6)) as figure:
        (axes,) = figure.axes
        for place, model in reversed(list(enumerate(models))):
            predicted = model.prediction.ravel()
            if len(np.unique(predicted)) < 3:
                continue
            parts = [part for part in np.array_split(np.argsort(predicted, kind="stable"), 10) if len(part)]
            means = [[predicted[part].mean(), truth[part].mean()] for part in parts]
            axes.plot(*np.transpose(means), marker="o", markersize=4, color=SERIES[place], label=model.name)
        low = axes.get_xlim()[0]
        axes.axline((low, low), slope=1.0, color=FAINT, linewidth=1, linestyle=":", label="perfect")
        axes.set(xlabel=f"predicted {name}, mean of a group", ylabel=f"true {name}, mean")
        figure.legend_below()
    return figure.svg


def _one_against_rest(
    target: Array, models: Sequence[ModelResult], classes: Sequence[str]
) -> list[tuple[str, Array, Array]]:
    if len(classes) == 2:
        told = [model for model in models if np.ptp(model.prediction[:, 1]) > 0]  # a guess is the dotted line
        return [(model.name, target == 1, model.prediction[:, 1]) for model in told]
    scores = models[0].prediction
    shown = [place for place in range(len(classes)) if 0 < np.sum(target == place) < len(target)][:_CLASSES_DRAWN]
    return [(classes[place], target == place, scores[:, place]) for place in shown]
