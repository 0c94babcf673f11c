"""The code of the pages on estimators runs, block after block, and what it asserts is true."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["model-files.md", "choosing-a-network.md"])
def test_the_pages_code_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    assert text.count("```python") == len(blocks) >= 4
    names = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
