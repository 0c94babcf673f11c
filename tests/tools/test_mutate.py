"""The mutation tester, on a module of a few lines."""

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parents[2] / "tools" / "mutate.py"
SPEC = importlib.util.spec_from_file_location("mutate", FILE)
mutate = importlib.util.module_from_spec(SPEC)
sys.modules["mutate"] = mutate
SPEC.loader.exec_module(mutate)

SOURCE = '''"""A toy."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def clipped(x: "int | float", low: int = 0, *, strict: bool = False) -> "int | float":
    """Return x, at least low."""
    if x is None and strict:
        raise ValueError(f"no {x + 1}")
    if not x < low:
        return x
    return abs(-low)


def total(numbers: "Sequence[int]") -> int:
    result: int = 0
    for number in sorted(numbers, reverse=True):
        result += number * 2
    print(result)
    return result if numbers else 7
'''
WEAK = """
from toy import clipped


def test_clipped():
    assert clipped(-3) == 0
    assert clipped(2) == 2
"""
SHORT = """def clipped(x, low=0):
    if not x < low:
        return x
    print()
    return low
"""
KINDS = {
    "comparison", "arithmetic", "and/or", "removed sign or not", "swapped branches", "negated condition",
    "returns None", "dropped keyword", "True/False", "constant", "removed raise", "removed assignment", "removed call",
}  # fmt: skip


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    for folder in ("src", "tests", ".venv"):
        (root / folder).mkdir(parents=True)
    (root / "src" / "toy.py").write_text(SHORT)
    (root / "tests" / "test_toy.py").write_text(WEAK)
    return root


def test_every_kind_of_change_is_made_and_each_changes_one_thing():
    mutants = mutate.mutants_of("toy.py", SOURCE)
    assert {mutant.kind for mutant in mutants} == KINDS
    plain = ast.unparse(ast.parse(SOURCE))
    versions = [mutate.mutated(SOURCE, mutant.number) for mutant in mutants]
    assert len({source for source, _ in versions} - {plain}) == len(mutants)
    for source, diff in versions:
        compile(source, "toy.py", "exec")
        assert 1 <= sum(line.startswith("+") for line in diff.splitlines()) <= 2
    lines = SOURCE.splitlines()
    assert all("TYPE_CHECKING" not in lines[mutant.line - 1] for mutant in mutants)
    assert not any('"int' in lines[mutant.line - 1] and mutant.kind == "arithmetic" for mutant in mutants)


def test_what_would_stay_the_same_is_not_offered():
    assert mutate.mutants_of("toy.py", "def f():\n    return None\n") == []


def test_tells_what_the_tests_notice_from_what_they_do_not(project):
    said = []
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    results = mutate.mutate(["src"], "tests", count=100, seed=0, timeout=60, out=None, root=project, say=said.append)
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before
    assert {(result["line"], result["kind"]): result["result"] for result in results} == {
        (1, "constant"): "killed",
        (2, "negated condition"): "killed",
        (2, "removed sign or not"): "killed",
        (2, "comparison"): "survived",
        (3, "returns None"): "killed",
        (4, "removed call"): "survived",
        (5, "returns None"): "killed",
    }
    assert said[-1] == "5 of 7 mutants killed (71%), 2 survived"
    survivor = "survived: comparison, src/toy.py:2\n-    if not x < low:\n+    if not x <= low:"
    assert any(survivor in line for line in said)


def test_resumes_and_ends_what_hangs(project, tmp_path, monkeypatch):
    out = tmp_path / "out.json"
    options = {"seed": 1, "timeout": 60, "root": project, "say": lambda line: None}
    first = mutate.mutate(["src/toy.py"], "tests", count=2, out=out, **options)
    assert json.loads(out.read_text())["mutants"] == first
    runs = []
    monkeypatch.setattr(mutate, "run_tests", lambda *_: runs.append(1) or mutate.SURVIVED)
    again = mutate.mutate(["src/toy.py"], "tests", count=2, out=out, **options)
    assert again == first
    assert len(runs) == 1  # the unchanged project
    monkeypatch.undo()
    (project / "tests" / "test_toy.py").write_text("import time\n\ndef test_it():\n    time.sleep(60)\n")
    assert mutate.run_tests(project, "tests", 1.0) == mutate.TIMED_OUT


def test_refuses_tests_that_fail_by_themselves(project):
    (project / "tests" / "test_toy.py").write_text("def test_it():\n    assert False\n")
    with pytest.raises(SystemExit, match="the tests must pass before anything is changed; `pytest tests` does not"):
        mutate.mutate(["src"], "tests", count=1, seed=0, timeout=60, out=None, root=project)


def test_command_line():
    text = subprocess.run([sys.executable, FILE, "--help"], capture_output=True, text=True, check=True).stdout
    assert "Mutation testing" in text
    assert "--count" in text
