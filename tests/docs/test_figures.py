"""Every figure of README and the docs that has a mark is what the files in results/ say."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import figures  # noqa: E402

MARKED = [path for path in figures.pages() if re.search("<!-- (figures|results)", path.read_text())]


@pytest.mark.parametrize("page", MARKED, ids=lambda path: path.name)
def test_figures_are_those_of_the_result_files(page):
    text = page.read_text()
    assert figures.renewed(text) == text, f"`make figures` writes {page.name}"
    assert text.count("<!-- end -->") == len(figures.BLOCK.findall(text)) + len(figures.SINGLE.findall(text))


def test_every_table_is_on_a_page():
    used = {name for page in MARKED for _, name, _ in figures.BLOCK.findall(page.read_text())}
    assert used == set(figures.TABLES)
    assert ROOT / "README.md" in MARKED


def test_a_lead_is_positive_where_liquidtime_is_better():
    rival = {"value": 0.8, "default": 0.9, "difference": (-0.1, -0.15, -0.05)}  # rival minus default
    assert figures.lead_of(rival, lower=False) == ("**ahead**", "+0.100 [+0.050, +0.150]")
    assert figures.lead_of(rival, lower=True) == ("behind", "−0.100 [−0.150, −0.050]")
    assert figures.lead_of(rival | {"difference": (0.1, -0.1, 0.3)}, lower=True)[0] == "level"
    assert figures.lead_of(rival | {"difference": None}, lower=False) == ("–", "+0.100, no interval")


def test_a_typed_figure_is_noticed():
    text = (ROOT / "README.md").read_text()
    place = re.search(r"\| 0\.(\d{3}) \|", text)
    changed = text[: place.start(1)] + str(999 - int(place.group(1))).zfill(3) + text[place.end(1) :]
    assert figures.renewed(changed) == text


def test_a_single_figure_is_read_from_its_file(tmp_path, monkeypatch):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "a-0.json").write_text('{"auc": [{"value": 0.5}]}')
    (tmp_path / "results" / "a-1.json").write_text('{"auc": [{"value": 0.7}]}')
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    text = "<!-- results/a-0.json: auc.0.value .2f -->?<!-- end -->"
    text += "<!-- results/a-*.json: auc.0.value mean±.1f --><!-- end -->"
    assert "-->0.50<!--" in figures.renewed(text)
    assert "-->0.6 ± 0.1<!--" in figures.renewed(text)
    with pytest.raises(SystemExit, match="there is no results/b"):
        figures.renewed("<!-- results/b.json: x .2f --><!-- end -->")


MARKS = re.compile(
    r"<!-- (?:figures|results/|made by).*?<!-- end -->|^```.*?^```|`[^`\n]*`", flags=re.DOTALL | re.MULTILINE
)
QUANTITY = re.compile(
    r"(?<![\w.])\d[\d.,]*(?:e-?\d+)?\s?"
    r"(?:%|[GMkK]B\b|[mµn]?s\b|seconds?\b|minutes?\b|hours of\b|times (?:faster|slower|as)\b|points?\b)"
    r"|(?<![\w.])0\.\d+"
)
# Numbers that nobody measured: definitions, limits, settings, aims, what others printed.
STATED = {
    "README.md": {"95 %"},  # the level of intervals
    "docs/benchmarks.md": {  # how it is measured, and the aims
        "20 ms", "10 seconds", "2.5 times faster", "2 times faster", "30 times faster", "60 times faster",
        "80 times faster", "10 times faster", "12 times faster", "25 times faster", "1.7 times faster", "0.75", "0.65",
        "60 MB",
    },
    "docs/choosing-a-network.md": {"0.3"},  # a setting
    "docs/compiling.md": {"0.006"},  # the paper's
    "docs/deploy.md": {"1 MB", "32 kB", "64 kB", "30 s"},  # limits
    "docs/getting-started.md": {"95 %", "90 %", "99 %"},  # levels of intervals
    "docs/gradients.md": {"0.1"},  # an interval
    "docs/insight.md": {"95 %"},
    "docs/model-files.md": {"4 MB", "16 GB", "64 MB", "200 MB"},  # limits, which tests/attacks holds
    "docs/reproducing.md": {"0.95", "0.005", "0.05", "0.02 s", "0.25 s", "0.35"},  # settings
    "docs/results.md": {"95 %"},
    "docs/scaling.md": {"1 GB", "1,024 MB", "160 MB", "90 s"},  # limits
    "docs/theory.md": {"0.5"},  # asserted by the page's own code
    "docs/training.md": {"0.9"},  # the default of Keras
}  # fmt: skip
COMPARED = {"docs/deviations.md"}  # settings of others, and differences that tests/vectors measures


def test_the_readme_types_no_decimal_number():
    assert re.findall(r"\d+\.\d+", MARKS.sub("", (ROOT / "README.md").read_text()).replace("Apache-2.0", "")) == []


@pytest.mark.parametrize("page", figures.pages(), ids=lambda path: path.name)
def test_no_figure_is_typed_by_hand(page):
    """Outside of marks and code, a page has no measured quantity; the log has the diary of all others."""
    name = str(page.relative_to(ROOT))
    if page.name == "log.md" or name in COMPARED:
        return
    found = {match.strip() for match in QUANTITY.findall(MARKS.sub("", page.read_text()))}
    typed = found - STATED.get(name, set())
    assert not typed, (
        f"{name} has {', '.join(sorted(typed))}. Measured? Mark it as tools/figures.py says, or write it into "
        "docs/log.md. A limit, a setting or an aim? Add it to STATED in this file."
    )
    assert STATED.get(name, set()) <= found, "STATED has what is not on the page any more"


def test_a_typed_quantity_is_found():
    text = (
        "took 38 µs, or <!-- results/x.json: a .1f -->3.5<!-- end --> s; 12 times faster, `0.5` of 3.2 MB and 0.87 AUC"
    )
    assert QUANTITY.findall(MARKS.sub("", text)) == ["38 µs", "12 times faster", "3.2 MB", "0.87"]
