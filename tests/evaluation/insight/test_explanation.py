"""Everything together: of a stacked model, on a page, as pictures, and from the command line's main job."""

import re

import numpy as np
import pytest

import liquidtime as lt
from estimators.small import TINY, series

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def explained():
    data, labels, _ = series(36, empty=False)
    model = lt.StackedClassifier(n_networks=1, n_splits=2, random_state=0).fit(data[:24], labels[:24])
    return lt.explain(model, data[24:], labels[24:], repeats=1, most_presence=1), model, data


def test_a_stacked_model_is_explained_whole(explained):
    explanation, model, data = explained
    assert {row.name for row in explanation.importances} >= {"drift", "noise", "age", "sex", "timing of the samples"}
    (why,) = explanation.effects
    last = model.predict_proba(data[[int(why.id)]])[0]
    assert why.prediction[-1] == pytest.approx(last.max(), abs=1e-6)
    assert set(explanation.figures()) == {"importance", "series-0", "units", "response", "states", "circuit"}
    assert why.id in str(explanation)


def test_the_worst_predicted_series_is_explained_unless_named(explained):
    explanation, model, data = explained
    labels = series(36, empty=False)[1]
    chances = model.predict_proba(data[24:])
    places = np.searchsorted(model.classes_, labels[24:])
    worst = chances[np.arange(12), places].argmin()
    assert explanation.effects[0].id == str(data.ids[24 + worst])


def test_the_page_is_whole_and_small(explained):
    page = explained[0].page("Inside <this> model")
    assert len(page) < 1_500_000
    assert "Inside &lt;this&gt; model" in page
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    for title in ("Which channels matter", "Why this prediction", "How the network uses time", "The circuit"):
        assert title in page
    names = re.findall(r' id="([^"]+)"', page)
    assert len(names) == len(set(names))


def test_pictures_notebooks_and_plain_numbers(explained, tmp_path):
    explanation = explained[0]
    files = explanation.pictures(tmp_path / "pictures", ".svg")
    assert {file.name for file in files} == {
        "importance.svg", "series-0.svg", "units.svg", "response.svg", "states.svg", "circuit.svg", "circuit.gif",
    }  # fmt: skip
    assert all(file.stat().st_size > 500 for file in files)
    shown = explanation.importances._repr_html_()
    assert "<svg" in shown
    assert "var(--" in shown
    assert "--series-0:" in shown
    assert explanation._repr_html_().count("<svg") == 6
    plain = explanation.to_dict()
    assert plain["importances"][0]["importance"] == explanation.importances.rows[0].loss.value
    assert len(plain["units"]) == len(explanation.units.units)
    with pytest.raises(ValueError, match="`name`"):
        explanation.plot("circus")


def test_the_report_has_it_and_the_folder_keeps_neighbours(tmp_path):
    data, labels, _ = series(40, empty=False)
    small = {name: value for name, value in TINY.items() if name != "random_state"} | {"epochs": 1}
    result = lt.train_and_test(data, labels, folder=tmp_path / "model", keep_neighbours=True, **small)
    inside = result.contents.insight
    assert [effect.id for effect in inside.effects] == [result.contents.series[0].id, result.contents.series[2].id]
    kept = lt.insight.Neighbours.read(tmp_path / "model")
    assert set(kept.ids) == set(map(str, data.ids))  # the saved model has seen all of them
    similar = {near.id for one in inside.similar for near in one.neighbours}
    assert similar <= {str(data.ids[row]) for row in result.parts["training"]}  # the tested one has not
    page = (tmp_path / "model" / "report.html").read_text()
    assert "Similar series" in page
    assert "Which channels matter" in page


def test_refusals():
    data, labels, _ = series(12)
    with pytest.raises(TypeError, match="must be a SeriesSet"):
        lt.explain(lt.CfCClassifier(), [1, 2])
    model = lt.CfCClassifier(**TINY | {"epochs": 1}).fit(data, labels)
    with pytest.raises(ValueError, match="series 0 has no sample"):
        lt.explain(model, data, labels, id=0)
    with pytest.raises(ValueError, match="all are empty"):
        lt.explain(model, data.head(0))
