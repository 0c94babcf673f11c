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


def test_the_readme_types_no_figure_by_hand():
    """Outside of marks, code and counts of what is shown, README has no decimal number."""
    text = re.sub(
        r"<!-- (?:figures|results/).*?<!-- end -->|```.*?```|`[^`]*`",
        "",
        (ROOT / "README.md").read_text(),
        flags=re.DOTALL,
    )
    assert re.findall(r"\d+\.\d+", text.replace("Apache-2.0", "")) == []
