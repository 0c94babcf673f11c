"""What a notebook shows: small, escaped, and with nothing from outside."""

import re

import numpy as np
import pytest

import liquidtime as lt
from evaluation.report.test_report import Outline
from liquidtime.data import from_arrays

HOSTILE = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def shown():
    rng = np.random.default_rng(0)
    parts = [(np.arange(4.0) + place, rng.normal(size=(4, 2))) for place in range(20)]
    data = from_arrays(parts, channels=[HOSTILE, "b"], static=rng.normal(size=(20, 1)), static_names=[f"{HOSTILE}2"])
    labels = np.array([HOSTILE, "well"])[np.arange(20) % 2]
    result = lt.train_and_test(
        data, labels, target_name=HOSTILE, hidden_size=4, backbone_units=4, read_out_units=4, epochs=1
    )
    return {"set": data, "estimator": result.model, "result": result, "comparison": result.comparison}


@pytest.mark.parametrize("name", ["set", "result", "comparison"])
def test_names_are_text_and_nothing_is_loaded(shown, name):
    page = shown[name]._repr_html_()
    outline = Outline(page)
    assert "script" not in outline.tags
    assert re.findall(r"https?://|src=|href=|url\(|@import", page) == []
    assert len(page) < 20_000
    if name != "comparison":
        assert HOSTILE in outline.text


def test_an_estimator_shows_what_it_was_fitted_to(shown):
    fresh = lt.CfCClassifier()._repr_html_()
    page = shown["estimator"]._repr_html_()
    assert page == shown["estimator"]._repr_mimebundle_()["text/html"] or "trained on" in page
    assert "trained on" not in fresh
    facts = page[page.index("trained on") :]
    assert "20 series" in facts  # all of them, once it was tested
    assert HOSTILE not in page
    assert "&lt;script&gt;" in facts
    assert re.findall(r"(?:src|href)=[\"']?https?:", page) == []
    assert "trained on" in shown["estimator"]._repr_mimebundle_()["text/html"]
    assert repr(shown["estimator"]).startswith("CfCClassifier(")


def test_a_set_says_what_is_in_it_and_stays_small(shown):
    text = Outline(shown["set"]._repr_html_()).text
    for words in ("20 series", "80 samples", "intervals", "observed", "100.0%"):
        assert words in text
    many = from_arrays(np.zeros((3, 4, 500)), channels=[f"channel {place}" for place in range(500)])
    page = many._repr_html_()
    assert "… and 488 more" in page
    assert len(page) < 20_000
    empty = shown["set"][:0]
    assert "0 series" in empty._repr_html_()


def test_forecasters_say_what_they_forecast(shown):
    model = lt.CfCForecaster(epochs=1, hidden_size=4, backbone_units=4, read_out_units=4).fit(shown["set"])
    page = model._repr_html_()
    assert "forecasts" in page[page.index("trained on") :]
