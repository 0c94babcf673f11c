"""Models that predict every sample, or several labels: which channels matter, and why, are told of them too."""

import numpy as np
import pytest

import liquidtime as lt
from estimators.small import TINY
from liquidtime.evaluation.insight.question import question_of


def signal(S=40, seed=0):
    """Series whose first channel tells the class of each sample; one class is not known."""
    rng = np.random.default_rng(seed)
    pairs = [(np.sort(rng.uniform(0, 10, n)), rng.normal(size=(n, 2))) for n in rng.integers(4, 9, S)]
    data = lt.SeriesSet.from_arrays(pairs, channels=["told", "noise"])
    classes = np.where(data.values[:, 0] > 0, "up", "down").astype(object)
    classes[3] = None
    return data, classes


@pytest.fixture(scope="module")
def problem():
    return signal()


@pytest.fixture(scope="module")
def samples(problem):
    data, classes = problem
    return lt.CfCClassifier(**TINY | {"epochs": 25}, per_step=True).fit(data, classes)


def test_a_model_of_every_sample_leans_on_the_channel_that_tells(problem, samples):
    data, classes = problem
    measured = lt.insight.importances(samples, data, classes, repeats=1, most_series=30)
    assert measured.rows[0].name == "told"
    assert measured["told"].matters
    assert measured["told"].loss.value > 4 * abs(measured["noise"].loss.value)
    assert "log loss of the samples" in measured.caption()
    blind = lt.insight.importances(samples, data, repeats=1)
    assert blind.rows[0].name == "told"
    assert blind.base is None


def test_the_loss_of_a_series_is_the_mean_over_its_known_samples(problem, samples):
    data, classes = problem
    question = question_of(samples)
    past, truth = question.prepare(data, classes)
    first = slice(0, int(data.offsets[1]))
    chances = samples.predict_proba(data)[first]
    known = [place for place in range(first.stop) if classes[place] is not None]
    assert len(known) == first.stop - 1
    places = [list(samples.classes_).index(classes[place]) for place in known]
    assert question.losses(past, truth)[0] == pytest.approx(-np.log(chances[known, places]).mean())
    parts = [classes[data.offsets[row] : data.offsets[row + 1]] for row in range(len(data))]
    np.testing.assert_array_equal(question.prepare(data, parts)[1], truth)


def test_an_observation_moves_the_class_of_its_own_sample(problem, samples):
    data, classes = problem
    explanation = lt.explain(samples, data, classes, id=data.ids[1], repeats=1)
    (why,) = explanation.effects
    np.testing.assert_allclose(why.prediction, samples.predict_proba(data[[1]])[:, 1], atol=1e-6)
    values = {effect.time: effect.value for effect in why.effects if effect.channel == "told"}
    moved = [(values[effect.time], effect.on_arrival) for effect in why.effects[2:] if effect.channel == "told"]
    assert np.mean([np.sign(value) == np.sign(effect) for value, effect in moved]) > 0.7  # up towards "up"
    assert set(explanation.figures()) == {"importance", "series-0", "units", "response", "states", "circuit"}


def test_values_of_every_sample_are_explained_too(problem):
    data, _ = problem
    y = data.values[:, 0].astype(np.float64)
    y[5] = np.nan
    model = lt.CfCRegressor(**TINY | {"epochs": 20}, per_step=True).fit(data, y)
    explanation = lt.explain(model, data, y, repeats=1)
    assert explanation.importances.rows[0].name == "told"
    assert explanation.importances["told"].matters
    with pytest.raises(ValueError, match="one row per sample"):
        lt.insight.importances(model, data, y[:-1], repeats=1)


def test_labels_are_explained_one_by_one(problem):
    data, _ = problem
    last = data.values[data.offsets[1:] - 1]
    y = (last > 0).astype(float)
    y[0, 0] = np.nan
    model = lt.CfCMultiLabelClassifier(**TINY | {"epochs": 40}).fit(data, y)
    explanation = lt.explain(model, data, y, id=data.ids[2], repeats=1)
    assert explanation.importances["told"].matters
    assert explanation.importances["noise"].matters  # it tells the second label
    (why,) = explanation.effects
    chosen = int(model.predict_proba(data[[2]])[0].argmax())
    assert why.prediction[-1] == pytest.approx(model.predict_proba(data[[2]])[0, chosen], abs=1e-6)
    by_label = [lt.insight.observation_effects(model, data, data.ids[2], output=f"label {k}") for k in (0, 1)]
    for name, own, other in (("told", *by_label), ("noise", *reversed(by_label))):
        strength = [max(abs(e.on_arrival) for e in one.effects if e.channel == name) for one in (own, other)]
        assert strength[0] > strength[1]


@pytest.mark.parametrize("task", ["classify-samples", "multi-label"])
def test_their_report_says_which_channels_matter_and_why(task, problem):
    data, classes = problem
    target = classes if task == "classify-samples" else (data.values[data.offsets[1:] - 1] > 0).astype(float)
    small = {name: value for name, value in TINY.items() if name != "random_state"} | {"epochs": 2, "refit": False}
    result = lt.train_and_test(data, target, task=task, **small)
    assert len(result.contents.insight.effects) == 2
    page = result.page()
    if task == "classify-samples":
        test = data[result.parts["test"]]
        rows = [place for row in result.parts["test"] for place in range(data.offsets[row], data.offsets[row + 1])]
        assert result.contents.counts["up"]["test"] == int((classes[rows] == "up").sum()) > 0
        assert len(test.times) >= sum(row["test"] for row in result.contents.counts.values())
        assert "Samples in each class" in page
    assert "Which channels matter" in page
    assert "Why this prediction" in page
    assert len(page) < 1_500_000
