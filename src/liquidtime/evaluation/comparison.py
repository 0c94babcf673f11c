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
    """Test a fitted model and, beside it, the rivals of its task fitted to the same training part.

    Args:
        model: fitted to `train`.
        name: of the model in tables.
        train: the training part and its targets; None leaves out rivals that need it.
        test: the test part and its targets, None for forecasts.
        seed: of the rivals and the resamples.

    Raises:
        ValueError: a test part that does not suit the model.

    """
    return task_of(model).compare(model, name, train, test, seed)
