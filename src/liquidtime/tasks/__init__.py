"""Tasks: what can be predicted for series, each defined in one place.

A task knows its estimators, target, split, metrics, baselines, table of predictions and figures in a report. To add
one, write its file and add it to `TASKS`; docs/getting-started.md describes it for users.
"""

from __future__ import annotations

from typing import Any

from liquidtime.errors import unknown_choice
from liquidtime.tasks.classification import Classification
from liquidtime.tasks.comparison import Comparison
from liquidtime.tasks.forecasting import Forecasting
from liquidtime.tasks.imputation import Imputation
from liquidtime.tasks.multi_label import MultiLabel
from liquidtime.tasks.regression import Regression
from liquidtime.tasks.sample_classification import SampleClassification
from liquidtime.tasks.series_view import SeriesView
from liquidtime.tasks.task import Task

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Classification(),
        SampleClassification(),
        MultiLabel(),
        Regression(),
        Forecasting(),
        Imputation(),
    )
}
"""Every task by name, in the order in which `infer_task` tries them."""


def find_task(task: str | Task, argument: str = "task") -> Task:
    """Return a task by its name; a task is returned unchanged.

    Args:
        task: name in `TASKS`, or a task.
        argument: name of the argument, for errors.

    Raises:
        ValueError: the name is not in the table; the message has the nearest one.

    """
    if isinstance(task, Task):
        return task
    if task not in TASKS:
        raise unknown_choice(argument, task, TASKS)
    return TASKS[task]


def infer_task(target: Any) -> tuple[Task, str]:
    """Return the task that a target suggests, and the reason as text.

    Args:
        target: (S,) or (S, K) targets; None if there are none.

    Raises:
        ValueError: the target suggests none.

    """
    for task in TASKS.values():
        reason = task.suggested_by(target)
        if reason:
            return task, reason
    raise ValueError(f"no task can be inferred from `target`; pass `task`, one of {', '.join(TASKS)}")


def task_of(model: Any) -> Task:
    """Return the task that an estimator solves.

    Args:
        model: estimator, fitted or not.

    Raises:
        TypeError: the estimator is not of any task.

    """
    for kind in type(model).__mro__:
        for task in TASKS.values():
            if kind in task.estimators and task.solved_by(model):
                return task
    known = ", ".join(kind.__name__ for task in TASKS.values() for kind in task.estimators)
    raise TypeError(f"`estimator` must be one of {known}; got {type(model).__name__}")


__all__ = [
    "TASKS",
    "Classification",
    "Comparison",
    "Forecasting",
    "Imputation",
    "MultiLabel",
    "Regression",
    "SampleClassification",
    "SeriesView",
    "Task",
    "find_task",
    "infer_task",
    "task_of",
]
