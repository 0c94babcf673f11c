"""What an observation did is the prediction with it minus that without it."""

import importlib

import numpy as np
import pytest

import liquidtime as lt
from estimators.small import TINY, series
from evaluation.insight.known_models import KnownClassifier, last_of


@pytest.fixture(scope="module")
def problem():
    return series(30, empty=True)


def by_hand(model, data, row, sample, channel, upto):
    """Return the probabilities of a series up to a sample without one observation."""
    one = data[row]
    values, times = one.values[: upto + 1].copy(), one.times[: upto + 1]
    values[sample, channel] = np.nan
    keep = ~np.isnan(values).all(axis=1)
    if not keep.any():
        return None
    left = data[[row]].replace_unchecked(offsets=np.array([0, keep.sum()]), times=times[keep], values=values[keep])
    return model.predict_proba(left)[0]


def test_effects_are_with_minus_without(problem):
    data, labels, _ = problem
    model = lt.CfCClassifier(**TINY | {"epochs": 1}).fit(data, labels)
    row = 5
    found = lt.insight.observation_effects(model, data, data.ids[row], output="b")
    one = data[row]
    observed = ~np.isnan(one.values)
    assert len(found.effects) == observed.sum()
    assert [effect.time for effect in found.effects] == sorted(effect.time for effect in found.effects)
    evolution = model.evolve(data[[row]])
    whole = observed.any(axis=1)
    np.testing.assert_allclose(found.prediction[whole], evolution.outputs[whole, 1], atol=1e-6)
    for effect in found.effects[2:9:3]:
        sample, channel = int(np.flatnonzero(one.times == effect.time)[0]), data.channels.index(effect.channel)
        then = (
            model.predict_proba(data[[row]].head(sample + 1))[0, 1]
            - by_hand(model, data, row, sample, channel, sample)[1]
        )
        last = len(one.times) - 1
        end = model.predict_proba(data[[row]])[0, 1] - by_hand(model, data, row, sample, channel, last)[1]
        assert effect.on_arrival == pytest.approx(then, abs=1e-6)
        assert effect.at_the_end == pytest.approx(end, abs=1e-6)
        assert effect.value == pytest.approx(float(one.values[sample, channel]))


def test_only_what_the_model_reads_has_an_effect(problem):
    data, _, _ = problem
    found = lt.insight.observation_effects(KnownClassifier().fit_to(last_of(0)), data, 4)
    assert {effect.channel for effect in found.effects if effect.on_arrival} == {"drift"}
    assert found.strongest(1)[0].channel == "drift"
    assert "drift" in found.words()
    first = next(effect for effect in found.effects if effect.channel == "drift")
    assert first.on_arrival == pytest.approx(1 / (1 + np.exp(-first.value)) - 0.5, abs=1e-6)
    ends = [effect for effect in found.effects if effect.at_the_end]
    assert [effect.channel for effect in ends] == ["drift"]  # the last one alone


def test_long_series_are_taken_in_runs(problem):
    data, _, _ = problem
    found = lt.insight.observation_effects(KnownClassifier().fit_to(last_of(0)), data, 4, most=4)
    assert len(found.effects) <= 5
    assert sum(effect.count for effect in found.effects) == int((~np.isnan(data[4].values)).sum())
    assert "left out together" in found.caption()


def test_the_work_grows_no_faster_than_the_series(monkeypatch):
    module = importlib.import_module("liquidtime.evaluation.insight.observation_effects")  # the name is a function too
    monkeypatch.setattr(module, "_WORK", 20_000)
    rng, read = np.random.default_rng(0), {}
    for steps in (200, 400, 800, 1600):
        data = lt.SeriesSet.from_arrays([(np.arange(steps), rng.normal(size=(steps, 2)))])
        asked = []
        model = KnownClassifier().fit_to(lambda one, seen=asked: seen.append(len(one.times)) or last_of(0)(one))
        found = lt.insight.observation_effects(model, data)
        read[steps] = sum(asked)
        assert sum(effect.count for effect in found.effects) == 2 * steps
        assert found.prediction[-1] == model.predict_proba(data)[0, 1]
        assert (np.diff(found.seen) > 0).all()
        assert len(found.seen) == len(found.prediction) < 64
        ends = [effect for effect in found.effects if effect.channel == found.channels[0]]
        assert ends[-1].at_the_end != 0
        assert "some of the times" in found.caption()
    assert read[1600] < 2.1 * read[800] < 4.3 * read[400]
    assert read[400] < 2.1 * read[200] + 20_000


def test_forecasts_and_categories(problem):
    data, _, _ = problem
    named = data.replace_unchecked(
        values=np.stack([data.values[:, 0], np.abs(np.round(data.values[:, 1])) % 2, data.values[:, 2]], axis=1),
        categories={**data.categories, "noise": ("off", "on")},
    )
    model = lt.CfCForecaster(**TINY | {"epochs": 1}).fit(named)
    found = lt.insight.observation_effects(model, named, 5)
    assert found.output.startswith("drift, ")
    assert {effect.value for effect in found.effects if effect.channel == "noise"} <= {"off", "on"}
    assert any(effect.on_arrival for effect in found.effects)
    figure = found.plot()
    labels = {text.get_text() for axes in figure.axes for text in axes.get_yticklabels()}
    assert labels & {"off", "on"}


def test_refusals(problem):
    data, _, _ = problem
    model = KnownClassifier().fit_to(last_of(0))
    with pytest.raises(ValueError, match="series 0 has no sample"):
        lt.insight.observation_effects(model, data, 0)
    with pytest.raises(ValueError, match="`id`"):
        lt.insight.observation_effects(model, data, "nobody")
    with pytest.raises(ValueError, match=r"`output`.*yes"):
        lt.insight.observation_effects(model, data, 4, output="yess")
