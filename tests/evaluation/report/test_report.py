"""The page says what it was given, is one small file, and lets no name become markup."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from evaluation.report.example import report, series_set
from liquidtime.estimators.faces.forecast_test import ChannelSkill
from liquidtime.evaluation.drawing import thinned
from liquidtime.evaluation.report import render
from liquidtime.evaluation.report.class_tables import confusion, thresholds
from liquidtime.evaluation.report.score_plots import reliability
from liquidtime.evaluation.templates import number, share
from liquidtime.tasks import TASKS, Comparison, SeriesView

HOSTILE = "<script>alert('x')</script>\"'&$a_b$"


class Outline(HTMLParser):
    """Collects the tags, the texts and the figures of a page, and fails on an element that is not closed."""

    VOID = ("meta", "link", "br", "use", "path", "rect")

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.labels, self.text = [], [], [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "svg":
            self.labels.append(dict(attrs)["aria-label"])
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.text += data


@pytest.fixture(scope="module")
def page():
    return render(report())


def test_every_part_is_there(page):
    outline = Outline(page)
    for words in (
        "How good it is", "The data", "How it learned", "Best and worst series", "How the network uses time",
        "Which channels matter", "Why this prediction, and when", "The circuit", "Similar series", "1 × dead",
        "How to reproduce it", "0.860", "[0.810, 0.910]", "gradient boosting", "majority", "heart rate",
        "560 training, 140 validation, 300 test", "Seed 3", "hidden_size", "liquidtime train vitals.csv",
        "truth dead, probability 0.97", "truth alive, probability 0.91",
    ):  # fmt: skip
        assert words in outline.text, words
    assert outline.tags.count("svg") == 3 + 2 + 2 + 4 + 6
    for start in ("ROC curves", "Precision-recall", "Histogram of interval", "loss by epoch", "auc by epoch", "Series"):
        assert any(label.startswith(start) for label in outline.labels), start


def test_it_needs_nothing_from_outside_and_is_small(page):
    assert len(page.encode()) < 1_000_000
    assert re.findall(r"<(?:script|img|iframe|object)", page) == []
    assert set(re.findall(r'https?://[^" ]+', page)) == {"http://www.w3.org/1999/xlink"}
    assert "default-src 'none'" in page


def test_it_is_small_with_many_channels_and_long_series():
    long = series_set(S=4, channels=[f"channel {place}" for place in range(80)])
    T = 20_000
    rng = np.random.default_rng(0)
    values = rng.normal(size=(T, 80))
    views = [
        SeriesView(kind, "7", "x", np.arange(T), values, long.channels, np.arange(T), rng.random(T))
        for kind in ["best", "worst"] * 3
    ]
    text = render(report(description=long.describe(), series=views, n=20_000, networks=5))
    assert len(text.encode()) < 1_000_000


def test_figures_follow_the_page(page):
    inside = "".join(re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL))
    assert "var(--ink)" in inside
    assert "var(--series-0)" in inside
    assert "#0102" not in page
    assert "#0103" not in page
    assert "DejaVu Sans'" not in inside
    styles = page[: page.index("</style>")]
    dark = styles[styles.index("prefers-color-scheme: dark") :]
    for name in set(re.findall(r"var\((--[a-z0-9-]+)\)", page)) - {"--font"}:
        assert f"{name}:" in styles
        assert f"{name}:" in dark, name


def test_ids_are_distinct_and_every_reference_has_its_target(page):
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', page)) != set()
    for one, other in re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', page):
        assert (one or other) in ids


def test_names_are_text_wherever_they_come():
    data = series_set(channels=(HOSTILE, "temp"))
    one = data[0]
    view = SeriesView(
        "worst", HOSTILE, HOSTILE, one.times, one.values, data.channels, one.times, np.full((len(one.times), 2), 0.5),
        labels=(HOSTILE, "b"),
    )  # fmt: skip
    text = render(
        report(
            title=HOSTILE, target_name=HOSTILE, classes=(HOSTILE, "b"), description=data.describe(), series=[view],
            settings={HOSTILE: [HOSTILE]}, versions={HOSTILE: HOSTILE}, command=HOSTILE, attribution=HOSTILE,
        )
    )  # fmt: skip
    outline = Outline(text)
    assert "script" not in outline.tags
    assert "<script" not in text
    assert outline.text.count("<script>alert('x')</script>") >= 8
    assert any("<script>" in label for label in outline.labels)


def test_values_have_residuals_and_many_classes_a_curve_each():
    assert "Residuals" in "".join(Outline(render(report(task="regress"))).labels)
    labels = Outline(render(report(classes=("red", "green", "blue")))).labels
    roc = next(label for label in labels if label.startswith("ROC"))
    for name in ("red", "green", "blue"):
        assert name in roc


def test_what_is_not_known_is_left_out():
    outline = Outline(render(report(curves=(), series=(), insight=None, command="", monitor="")))
    for words in ("How it learned", "Best and worst", "What time scales"):
        assert words not in outline.text


def test_figures_of_the_curves_are_those_of_the_predictions():
    target = np.array([0, 0, 1, 1])
    told = np.array([0.1, 0.4, 0.35, 0.8])
    ours = Comparison(target, {"ours": np.stack([1 - told, told], 1)}, {"ours": {}}, np.array(["a", "b"]))
    labels = Outline(render(report(comparison=ours))).labels
    assert any("ours 0.750" in label for label in labels if label.startswith("ROC"))


def test_reliability_in_groups():
    score = np.repeat([0.1, 0.9], 50)
    right = np.r_[np.arange(50) < 5, np.arange(50) < 45]
    middles, shares, low, high = reliability(right, score, groups=2)
    np.testing.assert_allclose(middles, [0.1, 0.9])
    np.testing.assert_allclose(shares, [0.1, 0.9])
    np.testing.assert_allclose([low[0], high[0]], [0.04349, 0.21360], atol=1e-4)  # Wilson, 5 of 50


def test_thinning_keeps_the_ends():
    kept = thinned(np.zeros(10_000), 50)
    assert len(kept) <= 50
    assert kept[0] == 0
    assert kept[-1] == 9_999
    assert list(thinned(np.zeros(3), 50)) == [0, 1, 2]


def test_numbers_and_shares_are_written_to_be_read():
    assert [number(x) for x in (3.0, 0.123456, 12345.0, None, float("nan"))] == ["3", "0.1235", "12,345", "–", "–"]
    assert [number(x) for x in (999.44, 49125.5, -2294.03, 8.6e9)] == ["999.4", "49,126", "-2,294", "8.6e+09"]
    assert [share(x) for x in (0.0, 0.0004, 0.5, 0.9999, 1.0)] == ["0.0 %", "< 0.1 %", "50.0 %", "> 99.9 %", "100.0 %"]


def test_refusals():
    target, classes = np.arange(300) % 2, np.array(["a", "b"])
    with pytest.raises(ValueError, match="`comparison` must have at least one model"):
        report(comparison=Comparison(target, {}, {}, classes))
    with pytest.raises(ValueError, match=r"`prediction` must have shape \(n, C\) = \(300, 2\); got \(300,\)"):
        report(comparison=Comparison(target, {"x": np.zeros(300)}, {"x": {}}, classes))


def test_the_page_is_twice_the_same(page):
    assert render(report()) == page


@pytest.mark.parametrize("ends", [(0.2, 0.8), (0.8, 0.2)])
def test_a_line_has_the_same_colour_whichever_ends_higher(ends):
    data = series_set()
    one = data[0]
    view = SeriesView(
        "best", "7", "x", one.times, one.values, data.channels, one.times, np.tile(ends, (len(one.times), 1)),
        labels=("forecast", "measured"),
    )  # fmt: skip
    page = render(report(series=[view]))
    drawing = page[page.index('aria-label="Series 7') :]
    drawing = drawing[: drawing.index("</svg>")]
    lines = re.findall(r'<path d="M \S+ (\S+) [^"]*" clip-path[^>]*var\(--series-([01])\)', drawing)
    height = {colour: -float(y) for y, colour in lines}  # SVG counts downwards
    assert (height["0"] > height["1"]) == (ends[0] > ends[1])


def test_classes_are_counted_confused_and_cut_by_thresholds():
    data = report(counts={"alive": {"training": 400, "test": 240}, "dead": {"training": 100, "test": 60}})
    target, said = data.comparison.target, data.comparison.predictions["CfC"]
    table = confusion(data)
    assert table.counts[1][0] == int(((target == 1) & (said[:, 1] < 0.5)).sum())
    assert table.recall[1] == pytest.approx(float((said[target == 1, 1] > 0.5).mean()))
    rows = {row[0]: row[1:] for row in thresholds(data)}
    named = said[:, 1] >= 0.3
    assert rows[0.3] == (
        int(named.sum()),
        pytest.approx(named[target == 1].mean()),
        pytest.approx((target[named] == 1).mean()),
        pytest.approx(named[target == 0].mean()),
    )
    text = Outline(render(data)).text
    for words in ("Confusion matrix", "Effect of the threshold", "CfC is better here", "The classes", "400"):
        assert words in text, words


def test_of_many_classes_those_not_drawn_are_said_and_boosting_is_there():
    names = tuple(f"class {place}" for place in range(11))
    text = Outline(render(report(classes=names, n=500))).text
    assert "Not drawn: class " in text
    assert text.count("gradient boosting 0.") >= 2  # in the captions of both curves
    assert "predicted class 10" in text


def test_forecasts_have_errors_by_channel_and_gap_in_own_units():
    skills = [
        ChannelSkill(name, low, high, 50, {"model": 2.5, "last_value": 3.5}, {"model": 3.0, "last_value": 4.0}, 0.9)
        for name in ("pressure", "wind")
        for low, high in ((0.0, 24.0), (0.0, 6.0), (6.0, 24.0))
    ]
    page = Outline(render(forecast_report(skills)))
    assert any(
        label.startswith("Mean absolute error by gap: pressure CfC 2.5, last value 3.5") for label in page.labels
    )
    assert not any(label.startswith(("Residuals", "Mean of the true")) for label in page.labels)
    for words in ("2.5 (3)", "6 … 24", "90 %", "root mean squared"):
        assert words in page.text, words


def forecast_report(skills):
    data = report(task="regress")
    kinds = dict(zip(data.comparison.predictions, ("CfC", "last value", "mean"), strict=True))
    named = Comparison(
        data.comparison.target,
        {kinds[name]: p for name, p in data.comparison.predictions.items()},
        {kinds[name]: figures for name, figures in data.comparison.figures.items()},
    )
    return replace(data, task=TASKS["forecast"], comparison=named, errors=skills)


def test_categories_are_steps_with_names():
    data = series_set()
    one = data[0]
    values = np.stack([one.values[:, 0], np.arange(len(one.times)) % 2], axis=1)
    view = SeriesView(
        "best", "7", "fine", one.times, values, data.channels, one.times, np.full(len(one.times), 0.5),
        categories={"temp": ("cold", "hot")},
    )  # fmt: skip
    text = Outline(render(report(series=[view], insight=None))).text
    assert "cold" in text
    assert "hot" in text
