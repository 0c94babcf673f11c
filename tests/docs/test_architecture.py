"""The plan of the house is true: every path on it is there, and its import order is the one that is checked."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "liquidtime"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
PATHS = sorted(set(re.findall(r"`([\w./-]*(?:/|\.py|\.md|\.toml)[\w./-]*)`", PAGE)))


def blocks():
    return re.findall(r"```\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.parametrize("path", PATHS)
def test_every_path_is_there(path):
    if "your_" in path:
        path = str(Path(path).parent)  # what is added goes into a room that is there
    assert (ROOT / path).exists() or (PACKAGE / path).exists()


def test_the_page_names_many_paths_and_is_short():
    assert len(PATHS) > 50
    assert len(PAGE.splitlines()) <= 200


def test_every_room_is_on_the_drawing():
    drawing = blocks()[0]
    for room in PACKAGE.iterdir():
        if room.is_dir() and room.name != "__pycache__":
            assert f"{room.name}/" in drawing, room.name
    for folder in re.findall(r"(\w+/)", re.sub(r"\(.*?\)", "", drawing)):
        assert list(PACKAGE.glob(f"**/{folder}")), folder


def test_the_import_order_is_that_of_the_contract():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["name"] == "imports go one way")
    wanted = [sorted(layer.replace("liquidtime.", "").split(" | ")) for layer in layers]
    assert [sorted(line.split(" | ")) for line in blocks()[1].splitlines()] == wanted
