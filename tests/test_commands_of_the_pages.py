"""Every command that a page tells the reader to type exists."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

from liquidtime.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
HISTORY = ("CHANGELOG.md", "log.md")
TARGETS = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def commands():
    tree = get_command(app).commands
    return {name: set(getattr(command, "commands", {})) for name, command in tree.items()}


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in HISTORY], ids=lambda page: page.name)
def test_commands_exist(page):
    text = page.read_text()
    known = commands()
    for name, word in re.findall(r"(?:^|`)liquidtime ([a-z]+)(?: ([a-z]+))?", text, flags=re.MULTILINE):
        assert name in known, f"liquidtime {name}"
        assert not known[name] or not word or word in known[name], f"liquidtime {name} {word}"
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", text, flags=re.MULTILINE):
        assert target in TARGETS, f"make {target}"
    for name in re.findall(r"python -m benchmarks\.([a-z_]+)|make bench CASE=([a-z_]+)", text):
        assert (ROOT / "benchmarks" / f"{''.join(name)}.py").exists(), name
    assert "python benchmarks/" not in text
