"""Tasks: what can be predicted of series, each stated in one place.

A task knows its estimators, its target, its split, its metrics, its rivals, its table of predictions and what a report
draws. To add one, write its file and add it to `TASKS`; docs/getting-started.md tells users of it.
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
"""Every task by name, in the order in which `infer_task` asks them."""


def find_task(task: str | Task, argument: str = "task") -> Task:
    """Return a task by its name; a task itself is returned as it is.

    Args:
        task: a name in `TASKS`, or a task.
        argument: what an error calls it.

    Raises:
        ValueError: a name that is not in the table; the nearest one is named.

    """
    if isinstance(task, Task):
        return task
    if task not in TASKS:
        raise unknown_choice(argument, task, TASKS)
    return TASKS[task]


def infer_task(target: Any) -> tuple[Task, str]:
    """Return the task that a target suggests, and why, in words.

    Args:
        target: (S,) or (S, K) targets; None if there are none.

    Raises:
        ValueError: a target that suggests none.

    """
    for task in TASKS.values():
        reason = task.suggested_by(target)
        if reason:
            return task, reason
    raise ValueError(f"no task can be inferred from `target`; pass `task`, one of {', '.join(TASKS)}")


def task_of(model: Any) -> Task:
    """Return the task that an estimator solves.

    Args:
        model: an estimator, fitted or not.

    Raises:
        TypeError: an estimator of no task.

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
