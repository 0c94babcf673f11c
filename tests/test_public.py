"""What is public: every name exists and is documented, and none depends on what was imported before."""

import ast
import functools
import importlib
import importlib.metadata
import inspect
import itertools
import os
import pkgutil
import re
import tomllib
from pathlib import Path

import pytest

import liquidtime as lt
import processes

PACKAGE = Path(lt.__file__).parent
ROOMS = sorted(module.name for module in pkgutil.iter_modules(lt.__path__) if not module.name.startswith("_"))
INNER = ["datasets.physionet2012_sample", "paper.datasets"]

# Heavy packages of others are loaded first; then every room is touched in a process that has touched nothing.
FRESH = """
import os, sys
import numpy, polars, sklearn.ensemble, torch
import liquidtime as lt
for path in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        value = lt
        try:
            for name in path.split("."):
                value = getattr(value, name)
        except AttributeError as error:
            print(path, error, flush=True)
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        print(path, "is not there", flush=True)
"""
BEFORE_AND_AFTER = """
import importlib, pkgutil
import liquidtime as lt
before = dir(lt)
for module in pkgutil.iter_modules(lt.__path__):
    if not module.name.startswith("__"):
        importlib.import_module(f"liquidtime.{module.name}")
print(before == dir(lt))
"""


def run(code, *arguments):
    exit_code, out, err = processes.run("-c", code, *arguments)
    assert exit_code == 0, err
    return out


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks, which this system does not")
def test_every_room_is_reachable_on_first_touch():
    assert run(FRESH, *ROOMS, *INNER) == ""


@pytest.mark.slow
def test_dir_does_not_depend_on_what_was_imported():
    assert run(BEFORE_AND_AFTER) == "True\n"


def test_every_room_is_in_all():
    assert set(ROOMS) <= set(lt.__all__)


def test_type_checkers_see_the_same_names():
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    names = [alias.asname for node in block.body for alias in node.names]
    homes = {alias.asname: node.module for node in block.body for alias in node.names}
    assert sorted(names) == sorted(lt.__all__)
    for name, home in homes.items():
        assert getattr(importlib.import_module(home), name) is getattr(lt, name)


def test_the_version_is_written_once():
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert project["dynamic"] == ["version"]
    assert importlib.metadata.version("liquidtime") == lt.__version__
    assert "\nversion:" not in (root / "CITATION.cff").read_text()
    assert re.search(rf"^## {re.escape(lt.__version__)}\b", (root / "CHANGELOG.md").read_text(), flags=re.MULTILINE)


@functools.cache
def documented_constants():
    """Return the names in the package's files that are assigned and followed by a text."""
    names = set()
    for file in PACKAGE.rglob("*.py"):
        for node, after in itertools.pairwise(ast.parse(file.read_text(encoding="utf-8")).body):
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


@pytest.mark.parametrize("room", ROOMS)
def test_public_names_of_a_room_exist_and_are_documented(room):
    module = importlib.import_module(f"liquidtime.{room}")
    assert module.__doc__
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value):
            assert value.__doc__, f"{room}.{name} has no docstring"
        else:
            assert name in documented_constants(), f"{room}.{name} has no text after it"
