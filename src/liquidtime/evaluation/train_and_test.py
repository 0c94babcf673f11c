"""The main job: from series and targets to a trained, tested and reported model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from liquidtime.data import SeriesSet
from liquidtime.estimators.files.model_config import stored_params
from liquidtime.evaluation.hold_out import hold_out
from liquidtime.evaluation.job_record import JobRecord
from liquidtime.evaluation.report_data import report_data
from liquidtime.evaluation.result import Result
from liquidtime.tasks import Task, find_task, infer_task, task_of
from liquidtime.tasks.prediction_table import prediction_table


def train_and_test(
    data: SeriesSet,
    target: Any = None,
    *,
    task: str | Task | None = None,
    auxiliary: Any = None,
    estimator: Any = None,
    test_share: float = 0.2,
    seed: int = 0,
    folder: str | Path | None = None,
    resume: bool = False,
    target_name: str = "",
    auxiliary_names: Sequence[str] = (),
    title: str = "",
    command: str = "",
    attribution: str = "",
    log: Callable[[str], None] | None = None,
    **settings: Any,
) -> Result:
    """Train a model on one part of the series and test it on the rest, beside the rivals of its task.

        result = lt.train_and_test(data, died, epochs=6)
        result                      the figures, as a table
        result.report("report.html")
        result.save("model")

    Args:
        data: S series.
        target: (S,) or (S, K) what is to be predicted; None forecasts the series themselves.
        task: name of the task, "classify", "regress" or "forecast"; None takes the one that the target suggests:
            forecasts without a target, classes of texts, truth values and a few different whole numbers, values of
            other numbers. The result says which was taken.
        auxiliary: (S,), (S, K) or a data frame of auxiliary targets, NaN where not known, used in training only.
        estimator: an estimator of the task, which is copied; None for the task's own with `settings`.
        test_share: share of the series that the model is tested on and does not see, in (0, 1).
        seed: random seed of the split, the training, the rivals and the resamples. An estimator's own
            `random_state` goes before it.
        folder: where to keep checkpoints while training; None keeps none.
        resume: resume the run in `folder`.
        target_name: name of the target, for the report and the model folder.
        auxiliary_names: names of the auxiliary targets, likewise.
        title: title of the report.
        command: what was typed to make the result, for the report.
        attribution: whose data it is, for the report.
        log: called with one line of text per stage.
        **settings: arguments of the task's estimator, such as `epochs` or `n_estimators`.

    Raises:
        TypeError: data that is no `SeriesSet`, or a setting that the estimator does not have.
        ValueError: targets that do not belong to the series or the task, too few series to split, or settings that
            the estimator refuses.

    """
    if not isinstance(data, SeriesSet):
        raise TypeError(f"`data` must be a SeriesSet, as SeriesSet.from_arrays makes it; got {type(data).__name__}")
    say = log or (lambda line: None)
    y = _plain(target)
    chosen, reason = _task(task, estimator, y)
    y = chosen.check_target(y, len(data))
    if auxiliary is not None and not chosen.takes_auxiliary:
        raise ValueError(f"`auxiliary` is not for the task {chosen.name!r}")
    extra = None if auxiliary is None else _rows_of(auxiliary, len(data))
    model = _model(chosen, estimator, settings, seed)
    train, test = hold_out(len(data), test_share, seed, None if y is None else chosen.strata(y))
    if reason:
        say(f"task {chosen.name}, since {reason}")
    say(f"training on {len(train):,} series, testing on {len(test):,} that it does not see")
    further = {} if extra is None else {"auxiliary": extra[train]}
    run = {} if folder is None else {"folder": folder, "resume": resume}
    model.fit(data[train], None if y is None else y[train], **further, **run)

    say("testing, beside baselines from the same training part")
    own, rest = ((data[rows], None if y is None else y[rows]) for rows in (train, test))
    comparison = chosen.compare(model, model_name(model), own, rest, seed)
    parts = {"training": train, "test": test}
    contents = report_data(
        model, data, parts, comparison,
        title=title or f"{chosen.title} of {target_name or chosen.unnamed_target or 'series'}",
        target_name=target_name or chosen.unnamed_target,
        seed=seed, command=command, attribution=attribution,
    )  # fmt: skip
    return Result(
        task=chosen,
        reason=reason,
        model=model,
        parts=parts,
        comparison=comparison.plain(),
        predictions=prediction_table("id", chosen.tested(model, comparison)),
        contents=contents,
        record=JobRecord(
            task=chosen.name,
            columns=None,
            target=target_name or None,
            labels_id=None,
            parts={name: len(rows) for name, rows in parts.items()},
            test=comparison.to_dict(),
            auxiliary=tuple(auxiliary_names),
        ),
    )


def model_name(model: Any) -> str:
    """Return what tables call an estimator: its network, and how many there are."""
    params = model.get_params(deep=False)
    network = params.get("network", type(model).__name__)
    if not isinstance(network, str):
        network = getattr(network, "__name__", type(network).__name__)
    name = {"cfc": "CfC", "ltc": "LTC"}.get(network, network)
    members = params.get("n_estimators", 1)
    return f"{name}, {members} networks" if members > 1 else str(name)


def _task(task: str | Task | None, estimator: Any, target: Any) -> tuple[Task, str]:
    """Return the task and, where nobody named it, why it was taken."""
    if task is None and estimator is None:
        return infer_task(target)
    own = None if estimator is None else task_of(estimator)
    chosen = own if task is None else find_task(task)
    assert chosen is not None
    if own is not None and type(estimator) not in chosen.estimators and own is not chosen:
        raise ValueError(f"`estimator` must solve the task {chosen.name!r}; {type(estimator).__name__} does not")
    return chosen, ""


def _model(task: Task, estimator: Any, settings: Mapping[str, Any], seed: int) -> Any:
    """Return the estimator to fit, with the seed where it has none of its own."""
    if estimator is not None:
        if settings:
            raise TypeError(f"settings are those of `estimator` already; leave out {', '.join(settings)}")
        model = clone(estimator)
    else:
        unknown = task.unknown_settings(settings)
        if unknown:
            kind = task.estimators[0]
            raise unknown_setting(kind, unknown[0])
        model = task.estimators[0](**settings)
    task.check_estimator(model)
    if model.get_params(deep=False).get("random_state", seed) is None:
        model.set_params(random_state=seed)
    return model


def unknown_setting(kind: Any, name: str) -> TypeError:
    """Return the error of a setting that an estimator does not have, with the nearest one that it has."""
    from liquidtime.errors import nearest

    return TypeError(f"{kind.__name__} has no setting `{name}`{nearest(name, kind._get_param_names()) or '.'}")


def _plain(target: Any) -> Any:
    return target.to_numpy() if hasattr(target, "to_numpy") else target


def _rows_of(auxiliary: Any, S: int) -> Any:
    """Return auxiliary targets as an array of S rows."""
    rows = np.asarray(_plain(auxiliary))
    if len(rows) != S:
        raise ValueError(f"`auxiliary` must have one row per series, {S}; got {len(rows)}")
    return rows


def fingerprint(model: Any, data: SeriesSet, target: Any, auxiliary: Any, rows: Any) -> str:
    """Return the sha256 of what a run trains on and how: a stopped run is resumed with the same alone.

    Args:
        model: the estimator, not fitted.
        data: all series.
        target: their targets, or None.
        auxiliary: their auxiliary targets, or None.
        rows: (R,) the rows that are trained on.
    """
    settings = {name: value for name, value in stored_params(model.get_params(deep=False)).items() if name != "verbose"}
    digest = hashlib.sha256(json.dumps([type(model).__name__, settings], sort_keys=True, default=repr).encode())
    for part in (data.offsets, data.times, data.values, data.static, rows):
        digest.update(np.ascontiguousarray(part).tobytes())
    for part in (target, auxiliary):
        digest.update(repr(None if part is None else np.asarray(part).tolist()).encode())
    return digest.hexdigest()
