"""Every script in `examples/` and every python block of the README and the docs runs."""

import re
import runpy
import sys
from pathlib import Path

import pytest

from pictures import blank_pictures as blank_pictures

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# How many blocks of code a page has, and what they print, where that is worth holding it to.
BLOCKS = {
    "choosing-a-network.md": 5,
    "coming-from-ncps.md": 4,
    "compiling.md": 2,
    "irregular-data.md": 13,
    "model-files.md": 4,
    "sequence.md": 1,
    "theory.md": 8,
    "training.md": 4,
}
PRINTS = {"compiling.md": "midpoint", "training.md": r"test AUC 0\.9\d\d \[0\.\d+, [01]\.\d+\]"}
SMALL = {"bit_stream_xor.py": ["--epochs", "1", "--size", "640"]}
GENERATED = ("commands.md", "api/", "gallery/", "all-results.md", "changes.md")  # by tools/site_pages.py
ELSEWHERE = {
    "service_client.py": "serving/test_client.py",
    "score_with_dask.py": "scoring/test_engines.py",
    "score_with_spark.py": "scoring/test_engines.py",
}


def test_every_example_is_run():
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == {*SMALL, *ELSEWHERE}
    for script, test in ELSEWHERE.items():
        assert script in (ROOT / "tests" / test).read_text()


@pytest.mark.slow
@pytest.mark.parametrize("script", SMALL)
def test_example(script, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [script, *SMALL[script]])
    result = runpy.run_path(str(ROOT / "examples" / script))["main"]()
    assert set(result) == {"CfC", "LSTM + time"}
    assert all(0.0 <= value <= 1.0 for value in result.values())
    assert "test accuracy" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if "```python" in page.read_text()], ids=lambda p: p.name)
def test_code_of_a_page(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) == text.count("```python") == BLOCKS.get(page.name, len(blocks))
    names = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, page.name, "exec"), names)
    assert re.search(PRINTS.get(page.name, ""), capsys.readouterr().out)


def test_links_of_the_pages_lead_somewhere():
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\((?!http)([^)#]+)", prose):
            made = target.removeprefix("../").startswith(GENERATED)
            assert made or (page.parent / target).exists(), f"{page.name}: {target}"
