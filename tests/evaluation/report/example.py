"""Reports to test on: a small irregular data set with made-up, but consistent, results."""

import numpy as np

from liquidtime.data import from_arrays
from liquidtime.evaluation.insight import (
    Circuit,
    Explanation,
    GapResponse,
    Importance,
    Importances,
    Link,
    Neighbour,
    Neuron,
    ObservationEffect,
    ObservationEffects,
    SimilarSeries,
    StateTrajectories,
    Unit,
    Units,
)
from liquidtime.evaluation.report import Curve, ReportData
from liquidtime.tasks import TASKS, Comparison, SeriesView
from liquidtime.training import ConfidenceInterval


def series_set(S=60, channels=("heart rate", "temp"), seed=0):
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(S):
        T = int(rng.integers(5, 60))
        times = np.cumsum(rng.exponential(30.0, T))
        values = rng.normal(80.0, 10.0, (T, len(channels)))
        values[rng.random(values.shape) < 0.4] = np.nan
        parts.append((times, values))
    return from_arrays(parts, channels=list(channels), time_unit="min")


def inside(data):
    """What a small network that was never trained looks like inside."""
    network = Circuit(
        [Neuron("heart rate", "input", 0), Neuron("neuron 0", "inter", 1), Neuron("dead", "output", 2)],
        [
            Link("heart rate", "neuron 0", 1.0),
            Link("neuron 0", "dead", -0.5),
            Link("heart rate", "dead", 0.2),
            Link("dead", "neuron 0", 0.1),
        ],
        "made up",
    )
    rows = [
        Importance(name, kind, ConfidenceInterval(value, value - 0.1, value + 0.1))
        for name, kind, value in (
            ("heart rate", "channel", 0.3),
            ("heart rate", "presence", 0.05),
            ("temp", "channel", 0.01),
        )
    ]
    one = data[0]
    effects = [ObservationEffect(data.channels[1], float(one.times[1]), float(one.times[1]), 80.0, 1, 0.2, 0.1)]
    why = ObservationEffects(
        str(one.id),
        "probability of dead",
        effects,
        one.times,
        one.values,
        data.channels,
        {},
        one.times,
        0.01 * one.times,
        0.1,
        "min",
    )
    units = [Unit(0, place, float(np.exp(place / 3)), "temp", 0.05 * place) for place in range(16)]
    response = GapResponse(
        np.geomspace(1, 1000, 5), ("temp",), np.linspace(0.3, 0.1, 5)[None], np.array([70.0]), np.array([90.0]), "min"
    )
    states = StateTrajectories(str(one.id), one.times, np.cos(np.outer(one.times, np.arange(16))), units, "min")
    similar = [SimilarSeries("7", [Neighbour("3", "dead", 0.2), Neighbour("4", "alive", 0.3)])]
    found = Importances(rows, "log loss", 0.4, 60, 1)
    return Explanation(found, [why], Units(units, 30.0, "min"), response, states, network, similar)


def report(task="classify", classes=("alive", "dead"), channels=("heart rate", "temp"), n=300, networks=1, **changes):
    rng = np.random.default_rng(1)
    data = series_set(channels=channels)
    C = len(classes)
    if task == "classify":
        target = rng.choice(C, n, p=[0.8, 0.2] if C == 2 else None)
        logits = [rng.normal(0, 1.0, (n, C)) + skill * np.eye(C)[target] for skill in (2.0, 1.5)]
        predictions = [np.exp(z) / np.exp(z).sum(1, keepdims=True) for z in logits]
        predictions.append(np.tile(np.bincount(target, minlength=C) / n, (n, 1)))
        figures = {"auc": ConfidenceInterval(0.86, 0.81, 0.91), "average_precision": ConfidenceInterval(0.5, 0.4, 0.6)}
    else:
        target = rng.normal(5.0, 2.0, n)
        predictions = [target + rng.normal(0, s, n) for s in (0.5, 0.8)] + [np.full(n, target.mean())]
        figures = {"mae": ConfidenceInterval(0.4, 0.35, 0.45), "r2": ConfidenceInterval(0.9, 0.85, 0.93)}
    names = ("CfC", "gradient boosting", "majority" if task == "classify" else "mean")
    history = [
        {"epoch": e, "loss": 0.6 * 0.9**e, "val_loss": 0.62 * 0.92**e, "val_auc": 0.86 - 0.2 * 0.7**e}
        for e in range(10)
    ]
    views = []
    for place, kind in enumerate(["best", "best", "worst", "worst"]):
        one = data[place]
        evolving = 1 / (1 + np.exp(-np.cumsum(rng.normal(0, 0.4, len(one.times)))))
        truth = float(place % 2)
        words = "truth dead, probability 0.97" if kind == "best" else "truth alive, probability 0.91"
        views.append(
            SeriesView(
                kind,
                str(one.id),
                words,
                one.times,
                one.values,
                data.channels,
                one.times,
                evolving,
                truth,
                bounds=(0, 1),
            )
        )
    steps = np.concatenate([np.diff(one.times) for one in data])
    contents = {
        "title": "In-hospital death",
        "task": TASKS[task],
        "description": data.describe(),
        "lengths": data.lengths,
        "intervals": steps,
        "parts": {"training": 560, "validation": 140, "test": n},
        "comparison": Comparison(
            target,
            dict(zip(names, predictions, strict=True)),
            dict.fromkeys(names, figures),
            np.array(classes) if task == "classify" else np.empty(0),
        ),
        "target_name": "in_hospital_death",
        "curves": [Curve(history, 7)] * networks,
        "monitor": "auc",
        "series": views,
        "insight": inside(data),
        "settings": {"hidden_size": 64, "network": "cfc", "batch": {"size": 32}, "static": ["age", "gender"]},
        "versions": {"liquidtime": "0.1.0", "python": "3.11"},
        "seed": 3,
        "command": "liquidtime train vitals.csv --id patient --time minutes --target died --out model",
    }
    return ReportData(**{**contents, **changes})
