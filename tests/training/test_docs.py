from __future__ import annotations

import re
from pathlib import Path

from liquidtime.training import TrainSettings

PAGE = Path(__file__).parents[2] / "docs" / "training.md"


def test_the_pages_code_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert re.search(r"test AUC 0\.9\d\d \[0\.\d+, [01]\.\d+\]", capsys.readouterr().out)


def test_the_settings_table_is_the_settings():
    rows = re.findall(r"^\| `(\w+)` \| `(.+?)` \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    expected = [(name, repr(default), text.replace("|", "\\|")) for name, default, text in TrainSettings.table()]
    assert rows[: len(expected)] == expected
