from __future__ import annotations

import re
from pathlib import Path

from liquidtime.training import TrainSettings

PAGE = Path(__file__).parents[2] / "docs" / "training.md"


def test_the_settings_table_is_the_settings():
    rows = re.findall(r"^\| `(\w+)` \| `(.+?)` \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    expected = [(name, repr(default), text.replace("|", "\\|")) for name, default, text in TrainSettings.table()]
    assert rows[: len(expected)] == expected
