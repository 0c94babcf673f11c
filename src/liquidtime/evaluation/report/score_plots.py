"""Figures of the quality of predictions, next to those of the baselines; tasks choose theirs from `PLOTS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from sklearn import metrics

from liquidtime.estimators.faces.forecast_test import ChannelSkill
from liquidtime.evaluation.drawing import FAINT, INK, SERIES, SQUARE, WIDTH, drawing, thinned
from liquidtime.evaluation.report.contents import Array, ReportData

_CLASSES_DRAWN = 8
_CHANNELS_DRAWN = 6


def roc(data: ReportData) -> str:
    """Draw sensitivity against false alarms: one curve per model for two classes, and one per class for more."""
    lines = []
    for name, truth, score in _one_against_rest(data):
        false, true, _ = metrics.roc_curve(truth, score)
        lines.append((f"{name} {metrics.auc(false, true):.3f}", false, true))
    alt = "ROC curves; areas under them: " + "; ".join(name for name, _, _ in lines) + "."
    with drawing("roc", alt, _square(len(lines))) as figure:
        (axes,) = figure.axes
        axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1, linestyle=":")
        for place, (name, false, true) in reversed(list(enumerate(lines))):
            keep = thinned(false)
            axes.plot(false[keep], true[keep], color=SERIES[place], label=name, zorder=3 - 0.1 * place)
        axes.set(xlabel="false alarms (1 - specificity)", ylabel="sensitivity (recall)")
        figure.legend_below("area under the curve")
    return figure.svg


def _square(lines: int) -> tuple[float, float]:
    """Return the size of a figure with square axes and this many lines in the legend below."""
    return SQUARE[0], SQUARE[1] + 0.19 * max(0, lines - 3)


def precision_recall(data: ReportData) -> str:
    """Draw precision against recall, for the same models or classes as `roc`."""
    lines = []
    for name, truth, score in _one_against_rest(data):
        precision, recall, _ = metrics.precision_recall_curve(truth, score)
        lines.append((f"{name} {metrics.average_precision_score(truth, score):.3f}", recall, precision))
    alt = "Precision-recall curves; average precision: " + "; ".join(name for name, _, _ in lines) + "."
    with drawing("precision-recall", alt, _square(len(lines))) as figure:
        (axes,) = figure.axes
        if len(data.classes) == 2:
            axes.axhline(float(np.mean(data.comparison.target == 1)), color=FAINT, linewidth=1, linestyle=":")
        for place, (name, recall, precision) in reversed(list(enumerate(lines))):
            keep = thinned(recall)
            axes.plot(
                recall[keep], precision[keep], color=SERIES[place], label=name, drawstyle="steps-post",
                zorder=3 - 0.1 * place,
            )  # fmt: skip
        axes.set(xlabel="recall (sensitivity)", ylabel="precision", ylim=(-0.02, 1.02))
        figure.legend_below("average precision")
    return figure.svg


def calibration(data: ReportData) -> str:
    """Draw the frequency of the event against its predicted probability, in ten equal groups with intervals."""
    target, classes, name = data.comparison.target, data.classes, data.target_name
    multiple = len(classes) > 2
    event = "the predicted class" if multiple else f"{name} = {classes[1]}" if name else classes[1]
    alt = "Share of cases in which the event happened, by predicted probability, in groups of equal size."
    with drawing("calibration", alt, _square(len(data.comparison.predictions))) as figure:
        (axes,) = figure.axes
        axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1, linestyle=":", label="perfect")
        for place, (model, prediction) in reversed(list(enumerate(data.comparison.predictions.items()))):
            score = prediction.max(axis=1) if multiple else prediction[:, 1]
            right = prediction.argmax(axis=1) == target if multiple else target == 1
            if len(np.unique(score)) < 3:
                continue
            middles, shares, low, high = reliability(right, score)
            axes.errorbar(
                middles, shares, [shares - low, high - shares], color=SERIES[place], marker="o", markersize=4,
                elinewidth=1, linewidth=1.2, label=model, zorder=3 - 0.1 * place,
            )  # fmt: skip
        axes.set(
            xlabel=f"probability of {event}",
            ylabel="share that was right" if multiple else "share that happened",
            xlim=(-0.02, 1.02), ylim=(-0.02, 1.02),
        )  # fmt: skip
        figure.legend_below()
    return figure.svg


def reliability(right: Array, score: Array, groups: int = 10) -> tuple[Array, Array, Array, Array]:
    """Return the mean score, the share of true values and its Wilson 95 % interval, in groups of equal size.

    Args:
        right: (n,) truth values.
        score: (n,) probabilities.
        groups: largest number of groups.
    """
    parts = [part for part in np.array_split(np.argsort(score, kind="stable"), groups) if len(part)]
    n = np.array([len(part) for part in parts], dtype=float)
    share = np.array([right[part].mean() for part in parts])
    z = 1.96
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    low, high = np.minimum(centre - half, share), np.maximum(centre + half, share)
    return np.array([score[part].mean() for part in parts]), share, low, high


def residuals(data: ReportData) -> str:
    """Draw the residuals, truth minus prediction, against the prediction."""
    ours, name = data.comparison.predictions[data.comparison.name], _quantity(data)
    predicted, missed = ours.ravel(), (data.comparison.target - ours).ravel()
    keep = np.sort(np.random.default_rng(0).permutation(len(missed))[:1500])
    alt = f"Residuals of {name}: mean {missed.mean():.4g}, standard deviation {missed.std():.4g}."
    with drawing("residuals", alt, (WIDTH, 3.2)) as figure:
        (axes,) = figure.axes
        axes.plot(predicted[keep], missed[keep], "o", markersize=3, alpha=0.6, color=SERIES[0], markeredgewidth=0)
        axes.axhline(0.0, color=INK, linewidth=1)
        axes.set(xlabel=f"predicted {name}", ylabel="truth - prediction")
    return figure.svg


def value_calibration(data: ReportData) -> str:
    """Draw the mean truth against the mean prediction in ten groups of equal size."""
    name = _quantity(data)
    alt = f"Mean of the true {name} against the mean prediction, in groups of equal size."
    truth = np.ravel(data.comparison.target)
    with drawing("calibration", alt, (WIDTH, 3.6)) as figure:
        (axes,) = figure.axes
        for place, (model, prediction) in reversed(list(enumerate(data.comparison.predictions.items()))):
            predicted = prediction.ravel()
            if len(np.unique(predicted)) < 3:
                continue
            parts = [part for part in np.array_split(np.argsort(predicted, kind="stable"), 10) if len(part)]
            means = [[predicted[part].mean(), truth[part].mean()] for part in parts]
            axes.plot(*np.transpose(means), marker="o", markersize=4, color=SERIES[place], label=model)
        low = axes.get_xlim()[0]
        axes.axline((low, low), slope=1.0, color=FAINT, linewidth=1, linestyle=":", label="perfect")
        axes.set(xlabel=f"predicted {name}, mean of a group", ylabel="truth, mean")
        figure.legend_below()
    return figure.svg


def _quantity(data: ReportData) -> str:
    """Return the name of the predicted quantity."""
    return data.target_name or "value"


def _one_against_rest(data: ReportData) -> list[tuple[str, Array, Array]]:
    target, predictions = data.comparison.target, data.comparison.predictions
    if len(data.classes) == 2:
        # a guess predicts the same for all series: it is the dotted line
        telling = {name: p[:, 1] for name, p in predictions.items() if np.ptp(p[:, 1]) > 0}
        return [(name, target == 1, score) for name, score in telling.items()]
    scores = predictions[data.comparison.name]
    return [(data.classes[place], target == place, scores[:, place]) for place in _drawn(data)[0]]


def _drawn(data: ReportData) -> tuple[list[int], list[int]]:
    """Return the classes that have a curve, the most frequent ones of the test part, and those that have none."""
    counts = np.bincount(data.comparison.target, minlength=len(data.classes))
    able = [place for place in range(len(counts)) if 0 < counts[place] < counts.sum()]
    chosen = sorted(sorted(able, key=lambda place: -counts[place])[:_CLASSES_DRAWN])
    return chosen, [place for place in range(len(counts)) if place not in chosen]


def _means(data: ReportData, figure: Callable[[Array, Array], float]) -> list[str]:
    """Return a figure of one class against the rest, averaged over the classes, for each model with probabilities."""
    target = data.comparison.target
    able = [place for place in range(len(data.classes)) if 0 < np.sum(target == place) < len(target)]
    return [
        f"{name} {np.mean([figure(target == place, p[:, place]) for place in able]):.3f}"
        for name, p in data.comparison.predictions.items()
        if able and np.ptp(p, axis=0).max() > 0
    ]


def _classes_said(data: ReportData, figure: Callable[[Array, Array], float]) -> str:
    """Return the caption for more than two classes: the means of all models, and the classes without a curve."""
    if len(data.classes) == 2:
        return " Dotted: guessing."
    hidden = [data.classes[place] for place in _drawn(data)[1]]
    rest = f" Not drawn: {', '.join(hidden)}." if hidden else ""
    return f" Each class against the rest, for {data.comparison.name}. Means over all classes: " + (
        f"{'; '.join(_means(data, figure)) or 'none'}.{rest}"
    )


def errors_by_gap(data: ReportData) -> str:
    """Draw the mean absolute error of each channel, in its own unit, by forecast horizon."""
    channels = list(dict.fromkeys(skill.channel for skill in data.errors))
    drawn = channels[:_CHANNELS_DRAWN]
    unit = f" in {data.description.time_unit}" if data.description.time_unit else ""
    alt = "Mean absolute error by gap: " + "; ".join(
        f"{skill.channel} " + ", ".join(f"{_model(data, name)} {error:.3g}" for name, error in skill.mae.items())
        for skill in errors_over_all(data)[:_CHANNELS_DRAWN]
    )
    with drawing("errors", f"{alt}.", (WIDTH, 1.5 + 1.05 * max(len(drawn), 1)), [1.0] * max(len(drawn), 1)) as figure:
        for axes, channel in zip(figure.axes, drawn, strict=False):
            mine = [skill for skill in data.errors if skill.channel == channel]
            spans = mine[1:] or mine  # the first is over all gaps
            middles = [(skill.low + skill.high) / 2 for skill in spans]
            for place, name in reversed(list(enumerate(spans[0].mae))):
                axes.plot(
                    middles, [skill.mae[name] for skill in spans], marker="o", markersize=3, linewidth=1.4,
                    color=SERIES[place % len(SERIES)], label=_model(data, name), zorder=3 - 0.1 * place,
                )  # fmt: skip
            axes.set_title(channel if len(channel) <= 40 else channel[:39] + "…", fontsize=9, pad=2)
            axes.set_ylim(bottom=0)
            axes.locator_params(axis="y", nbins=3)
        figure.axes[-1].set_xlabel(f"time ahead{unit}")
        figure.legend_below()
    return figure.svg


def errors_over_all(data: ReportData) -> list[ChannelSkill]:
    """Return the errors of each channel over all gaps."""
    first: dict[str, ChannelSkill] = {}
    for skill in data.errors:
        first.setdefault(skill.channel, skill)
    return list(first.values())


def _model(data: ReportData, key: str) -> str:
    return data.comparison.name if key == "model" else key.replace("_", " ")


def _errors_caption(data: ReportData) -> str:
    channels = len(errors_over_all(data))
    rest = (
        f" {_CHANNELS_DRAWN} of {channels} channels are drawn; the table has all." if channels > _CHANNELS_DRAWN else ""
    )
    return f"Mean absolute error of each channel, in its own unit, by forecast horizon.{rest}"


@dataclass(frozen=True)
class Plot:
    """One figure of a report.

    Args:
        draw: function that returns it as SVG.
        caption: function that returns the text below it.
    """

    draw: Callable[[ReportData], str]
    caption: Callable[[ReportData], str]


PLOTS: Mapping[str, Plot] = {
    "roc": Plot(roc, lambda data: "ROC." + _classes_said(data, metrics.roc_auc_score)),
    "precision_recall": Plot(
        precision_recall,
        lambda data: "Precision and recall." + _classes_said(data, metrics.average_precision_score),
    ),
    "errors_by_gap": Plot(errors_by_gap, _errors_caption),
    "calibration": Plot(
        calibration,
        lambda data: (
            "Calibration: ten groups of equal size, with 95 % confidence intervals. On the dotted line, predicted "
            "probabilities match what happened."
        ),
    ),
    "residuals": Plot(residuals, lambda data: "Residuals: truth minus prediction, by prediction."),
    "value_calibration": Plot(
        value_calibration,
        lambda data: "Calibration: ten groups of equal size. On the dotted line, predictions are right on average.",
    ),
}
"""The figures that a task can choose for its report, by name."""
