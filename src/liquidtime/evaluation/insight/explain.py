from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from liquidtime.data import SeriesSet
from liquidtime.estimators import load
from liquidtime.evaluation.insight.circuit_of import circuit
from liquidtime.evaluation.insight.explanation import Explanation
from liquidtime.evaluation.insight.gap_response import gap_response
from liquidtime.evaluation.insight.importance import importances
from liquidtime.evaluation.insight.neighbours import Neighbours
from liquidtime.evaluation.insight.observation_effects import observation_effects, row_of
from liquidtime.evaluation.insight.question import Question, networks_of, question_of
from liquidtime.evaluation.insight.state_trajectories import state_trajectories
from liquidtime.evaluation.insight.units import units
from liquidtime.layers import Recurrent


def explain(
    model: Any,
    data: SeriesSet,
    target: Any = None,
    *,
    id: Any = None,
    neighbours: Neighbours | None = None,
    repeats: int = 3,
    most_series: int = 256,
    most_presence: int | None = None,
    most_channels: int | None = None,
    seed: int = 0,
) -> Explanation:
    """Explain what a model uses, why it made the prediction for a series, how it uses time and how it is wired.

        explanation = lt.explain(model, test, y_test, id="p7")
        explanation.save("explain.html")

    Args:
        model: a fitted estimator of any task, or the path of a model folder.
        data: series that the model was not fitted to.
        target: (S,) or (S, K) their truth, or one class per sample; None for forecasts, or if it is not known.
        id: id of the series to explain, or a list of ids; None for the series with the worst prediction or, without the
            truth, the first one that has a sample.
        neighbours: training series to search for similar ones; None for those in the model folder, if any.
        repeats: see `lt.insight.importances`.
        most_series: see `lt.insight.importances`.
        most_presence: see `lt.insight.importances`.
        most_channels: likewise.
        seed: random seed.

    Raises:
        ValueError: there are no series, the series has no sample, or no series has this id.
        TypeError: `data` is not a `SeriesSet`.

    """
    if not isinstance(data, SeriesSet):
        raise TypeError(f"`data` must be a SeriesSet, as SeriesSet.from_arrays makes it; got {type(data).__name__}")
    if isinstance(model, str | Path):
        neighbours = neighbours or Neighbours.read(model)
        model = load(model)
    question = question_of(model)
    rows = _chosen(question, data, target, id)
    found = None
    if len(data) > 1:
        found = importances(
            model, data, target, repeats=repeats, most_series=most_series, most_presence=most_presence,
            most_channels=most_channels, seed=seed,
        )  # fmt: skip
    described = units(model, data)
    channels = None
    if found is not None:
        numeric = [row.name for row in found if row.kind == "channel" and row.name not in data.categories]
        channels = numeric or None
    steps = isinstance(networks_of(model).networks_[0].recurrent, Recurrent)
    return Explanation(
        importances=found,
        effects=[observation_effects(model, data, data.ids[row]) for row in rows],
        units=described,
        response=gap_response(model, data, channels) if steps else None,
        states=state_trajectories(model, data, rows[0], described) if steps else None,
        circuit=circuit(model, data, data.ids[rows[0]]) if steps else None,
        similar=[] if neighbours is None else neighbours.similar(model, data[rows]),
    )


def _chosen(question: Question, data: SeriesSet, target: Any, id: Any) -> list[int]:
    """Return the positions of the series that are explained."""
    if id is not None:
        names: Sequence[Any] = list(id) if isinstance(id, list | tuple | np.ndarray) else [id]
        rows = [row_of(data, name) for name in names]
        for row in rows:
            if data.lengths[row] == 0:
                raise ValueError(f"series {data.ids[row]} has no sample; there is nothing to explain")
        return rows
    some = np.flatnonzero(data.lengths > 0)
    if len(some) == 0:
        raise ValueError("`data` must have a series with a sample; all are empty")
    if target is None:
        return [int(some[0])]
    losses = question.losses(*question.prepare(data, target))
    return [int(some[losses[some].argmax()])]
