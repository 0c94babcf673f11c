"""The sentence on top says which model to take, and is right about it."""

from dataclasses import replace

import numpy as np
import pytest

from liquidtime.evaluation.report.verdict import verdict
from liquidtime.tasks.comparison import ALONE, BOOSTING, Comparison, scores
from liquidtime.tasks.forecasting import ForecastComparison
from liquidtime.training import METRICS, mean_interval
from liquidtime.training.bootstrap import difference_interval

GUESS = "guess (share of each class)"


def compared(skills, n=400, metrics=("auc", "log_loss")):
    rng = np.random.default_rng(0)
    target = rng.integers(0, 2, n)
    noise, predictions = rng.normal(size=n), {}
    for name, skill in skills.items():
        chance = 1 / (1 + np.exp(-(noise + skill * (2 * target - 1)))) if skill is not None else np.full(n, 0.5)
        predictions[name] = np.stack([1 - chance, chance], axis=1)
    figures = {name: scores(metrics, target, p) for name, p in predictions.items()}
    return Comparison(target, predictions, figures, np.array(["no", "yes"]))


@pytest.mark.parametrize(
    ("skills", "words"),
    [
        ({"CfC": 2.0, BOOSTING: 1.0, GUESS: None}, "CfC is better here than gradient boosting"),
        ({"CfC": 1.0, BOOSTING: 2.0, GUESS: None}, "Gradient boosting on summary features is better here by 0."),
        ({"CfC": 1.0, BOOSTING: 1.0001, GUESS: None}, "cannot be told apart here"),
        ({"stacked model": 1.0, ALONE: 3.0, BOOSTING: 0.5}, "Stacked model is better here than gradient boosting"),
        (
            {"CfC": 50.0, BOOSTING: 50.0, GUESS: None},
            "CfC and gradient boosting on summary features are both perfect here: AUC 1. Use either",
        ),
        ({"CfC": -1.0, GUESS: None}, "A guess is better here"),
        ({"CfC": 0.0, GUESS: None}, "not measurably better than a guess"),
    ],
)
def test_the_words(skills, words):
    found = verdict(compared(skills))
    assert words in found
    if words.endswith("by 0."):
        assert "use it instead, or" in found


def test_a_handful_of_series_or_groups_decides_nothing():
    skills = {"CfC": 9.0, BOOSTING: 0.0}
    few = verdict(compared(skills, n=9))
    assert few.startswith("The test part has only 9 independent series or groups, too few to compare CfC with gradient")
    assert "± 0" not in few
    many = compared(skills, n=40)
    assert "is better here" in verdict(many)
    grouped = replace(many, clusters=np.arange(40) // 10)
    assert verdict(grouped).startswith("The test part has only 4 independent")


def test_alone_there_is_nothing_to_say():
    assert verdict(compared({"CfC": 1.0})) == ""


def test_the_difference_is_of_the_same_rows():
    comparison = compared({"a": 1.0, "b": 1.1})
    one, other = comparison.predictions.values()
    found = difference_interval("auc", comparison.target, one, other)
    assert found.value == pytest.approx(
        METRICS["auc"](comparison.target, one) - METRICS["auc"](comparison.target, other)
    )
    apart = [scores(("auc",), comparison.target, p)["auc"] for p in (one, other)]
    assert found.high - found.low < 0.5 * min(figure.high - figure.low for figure in apart)
    assert found.low <= found.value <= found.high


def forecasts(own, line, n):
    """Return a comparison of forecasts of n series whose errors go together."""
    hard = np.random.default_rng(0).uniform(0.5, 2.0, n)
    errors = {"stacked model": own * hard, "straight line": line * hard}
    figures = {name: {"mse": mean_interval(each)} for name, each in errors.items()}
    return ForecastComparison(np.ones(n), {name: np.zeros(n) for name in errors}, figures, errors={"mse": errors})


def test_forecasts_are_compared_on_the_same_series():
    found = verdict(forecasts(1.0, 1.1, 60), paired=False)
    assert found.startswith("Stacked model is better here than straight line")
    few = verdict(forecasts(1.0, 1.1, 3), paired=False)
    assert few.startswith("The test part has only 3 independent series")
    exact = verdict(forecasts(4e-15, 0.0, 60), paired=False)
    assert exact.startswith("Stacked model and straight line are both exact here up to rounding")


def test_lower_is_better_is_known():
    comparison = compared({"CfC": 2.0, BOOSTING: 1.0}, metrics=("log_loss",))
    assert "CfC is better here" in verdict(comparison)


def test_root_mean_squared_error():
    truth, said = np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 1.0])
    assert METRICS["rmse"](truth, said) == pytest.approx(np.sqrt(10 / 3))
    assert METRICS["rmse"](truth, said) == pytest.approx(np.sqrt(METRICS["mse"](truth, said)))
