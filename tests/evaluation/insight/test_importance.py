"""Importance is measured against models of which it is known what they use."""

import numpy as np
import pytest
from sklearn.inspection import permutation_importance

import liquidtime as lt
from estimators.small import TINY, series
from evaluation.insight.known_models import KnownClassifier, count_of, last_of, span
from liquidtime.evaluation.insight.donors import with_channel, with_presence, with_timing
from liquidtime.training import ConfidenceInterval


@pytest.fixture(scope="module")
def data():
    return series(60, empty=False)[0]


def truth(model, data):
    return model.classes_[(model.predict_proba(data)[:, 1] > 0.5).astype(int)]


def found(model, data, **options):
    measured = lt.insight.importances(model, data, truth(model, data), **options)
    return {(row.name, row.kind): row.loss for row in measured}, measured


def test_a_model_of_one_channel_uses_that_channel_alone(data):
    model = KnownClassifier().fit_to(lambda one: 3 * last_of(0)(one))
    loss, measured = found(model, data)
    assert loss["drift", "channel"].low > 0
    assert measured.rows[0].name == "drift"
    for other in (("noise", "channel"), ("noise", "presence"), ("age", "static"), ("sex", "static")):
        assert (loss[other].value, loss[other].low, loss[other].high) == (0, 0, 0)
    assert loss["timing of the samples", "timing"].value == 0
    assert not any(name == "never" for name, _ in loss)
    assert "drift" in measured.words()
    assert measured["drift"].kind == "channel"
    assert measured["drift: when observed"].kind == "presence"
    assert measured.base == pytest.approx(float(-np.log(model.predict_proba(data).max(axis=1)).mean()), abs=1e-12)


def test_of_many_channels_those_that_matter_are_found_with_few_questions():
    rng = np.random.default_rng(0)
    rows = [(np.arange(4.0), rng.normal(size=(4, 60))) for _ in range(40)]
    many = lt.SeriesSet.from_arrays(rows, static=rng.normal(size=(40, 5)), static_names=list("abcde"))
    asked = []

    def logit(one):
        asked.append(one.id)
        return 3 * last_of(7)(one) + 2 * last_of(41)(one) + 4 * float(one.static[3])

    model = KnownClassifier().fit_to(logit)
    y = truth(model, many)
    asked.clear()
    measured = lt.insight.importances(model, many, y, repeats=1, most_presence=0, most_channels=36)
    assert len(asked) == 40 * (1 + 36 + 1)  # as they are, in groups or alone, and the times
    assert {row.name for row in measured.rows[:3]} == {many.channels[7], many.channels[41], "d"}
    assert measured.in_groups == 65 - 18 == 66 - len(measured)
    assert "47 others were only shuffled in groups" in measured.caption()
    whole = lt.insight.importances(model, many, y, repeats=1, most_presence=0)
    assert len(whole) == 66
    assert whole.in_groups == 0
    with pytest.raises(ValueError, match="most_channels"):
        lt.insight.importances(model, many, y, most_channels=1)


def test_a_model_of_counts_uses_presence_and_no_value(data):
    loss, _ = found(KnownClassifier().fit_to(count_of(1)), data)
    assert loss["noise", "presence"].low > 0
    assert loss["noise", "presence"].value == loss["noise", "channel"].value
    assert loss["drift", "channel"].value == 0


def test_a_model_of_the_span_uses_timing(data):
    loss, _ = found(KnownClassifier().fit_to(span), data)
    assert loss["timing of the samples", "timing"].low > 0
    assert loss["drift", "channel"].value == 0


def test_without_the_truth_it_is_the_change_of_the_prediction(data):
    measured = lt.insight.importances(KnownClassifier().fit_to(last_of(0)), data)
    assert measured.base is None
    assert measured.rows[0].name == "drift"
    assert "How much the prediction changes" in measured.caption()


def test_fewer_series_fewer_presences_same_seed(data):
    model = KnownClassifier().fit_to(last_of(0))
    options = {"most_series": 20, "most_presence": 1, "repeats": 2, "seed": 3}
    _, once = found(model, data, **options)
    _, again = found(model, data, **options)
    assert once.to_rows() == again.to_rows()
    assert once.series == 20
    assert sum(row.kind == "presence" for row in once) == 1


def test_donors_change_one_thing(data):
    partners = np.roll(np.arange(60), 1)
    changed = with_channel(data, 0, partners)
    np.testing.assert_array_equal(changed.values[:, 1:], data.values[:, 1:])
    for row in (3, 7):
        mine, donor = changed[row].values[:, 0], data[row - 1].values[:, 0]
        np.testing.assert_array_equal([mine[0], mine[-1]], [donor[0], donor[-1]])
    present = with_presence(data, 0, partners)
    np.testing.assert_array_equal(np.isnan(present.values[:, 0]), np.isnan(changed.values[:, 0]))
    for row in range(60):
        own = data[row].values[:, 0]
        mine = present[row].values[:, 0]
        assert set(mine[~np.isnan(mine)]) <= set(own[~np.isnan(own)])
    moved = with_timing(data, partners)
    np.testing.assert_array_equal(moved.values, data.values)
    assert moved[5].times[-1] - moved[5].times[0] == pytest.approx(data[4].times[-1] - data[4].times[0])
    kept = with_timing(data, partners, keep_ends=True)
    assert [kept[5].times[0], kept[5].times[-1]] == [data[5].times[0], data[5].times[-1]]
    assert (kept[5].times != data[5].times).any()
    for one in (*moved, *kept):
        assert (np.diff(one.times) > 0).all()


def test_scikit_learn_permutes_channels(data):
    model = KnownClassifier().fit_to(lambda one: 3 * last_of(0)(one))
    table = lt.insight.by_channel(data)
    assert table.shape == (60, 5)
    before = table.values.copy()
    result = permutation_importance(
        model, table, truth(model, data), n_repeats=3, scoring="neg_log_loss", random_state=0
    )
    assert result.importances_mean[0] > 0.1
    np.testing.assert_array_equal(result.importances_mean[1:], 0)
    np.testing.assert_array_equal(table.values, before)
    some = permutation_importance(model, table, truth(model, data), n_repeats=2, random_state=0, max_samples=30)
    assert some.importances_mean[0] > 0


def test_networks_values_and_forecasts_are_measured(data):
    level = series(60, empty=False)[2]
    regressor = lt.CfCRegressor(**TINY | {"epochs": 1}).fit(data, level)
    measured = lt.insight.importances(regressor, data, level, repeats=1, most_series=20)
    assert measured.measure == "absolute error"
    assert {row.kind for row in measured} == {"channel", "presence", "static", "timing"}
    forecaster = lt.CfCForecaster(**TINY | {"epochs": 1}).fit(data)
    measured = lt.insight.importances(forecaster, data, repeats=1, most_series=10, most_presence=0)
    assert measured["drift"].loss.value > 0


def test_refusals(data):
    model = KnownClassifier().fit_to(last_of(0))
    with pytest.raises(ValueError, match="at least two series"):
        lt.insight.importances(model, data[:1])
    with pytest.raises(TypeError, match="must be one of"):
        lt.insight.importances(object(), data)


def test_a_long_label_of_the_axis_is_broken_into_lines_that_fit_the_page():
    rows = [lt.insight.Importance("timing of the samples", "timing", ConfidenceInterval(0.3, 0.1, 0.5))]
    shown = lt.insight.Importances(rows, "absolute error in standard deviations", 0.4, 8, 1)
    lines = shown.plot().axes[0].get_xlabel().splitlines()
    assert " ".join(lines) == "growth of the absolute error in standard deviations"
    assert max(map(len, lines)) <= 36  # a browser's letters may be wider than those it was laid out with
