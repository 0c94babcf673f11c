"""The code of docs/theory.md runs, block after block, and what it asserts is true."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "theory.md"


def test_the_pages_code_runs():
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    assert text.count("```python") == len(blocks) >= 5
    names = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert names["lower"] < 0 < names["upper"]
