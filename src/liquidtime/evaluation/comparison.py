from __future__ import annotations

from typing import Any

from liquidtime.data import SeriesSet
from liquidtime.tasks import Comparison, task_of


def compare(
    model: Any,
    name: str,
    train: tuple[SeriesSet, Any] | None,
    test: tuple[SeriesSet, Any],
    seed: int = 0,
) -> Comparison:
    """Test a fitted model and the baselines of its task, which are fitted to the same training part.

    Args:
        model: model, fitted to `train`.
        name: name of the model in tables.
        train: training part and its targets; None leaves out baselines that need it.
        test: test part and its targets; the targets of forecasts are None.
        seed: random seed of the baselines and of the bootstrap.

    Raises:
        ValueError: the test part does not match the model.

    """
    return task_of(model).compare(model, name, train, test, seed)
