"""The mutation tester, on a module of a few lines."""

import ast
import contextlib
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
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # a toy needs none, and they take a second per run
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


def test_resumes(project, tmp_path, monkeypatch):
    out = tmp_path / "out.json"
    options = {"seed": 1, "timeout": None, "root": project, "say": lambda line: None}
    first = mutate.mutate(["src/toy.py"], None, count=2, out=out, **options)
    assert json.loads(out.read_text())["mutants"] == first
    monkeypatch.setattr(mutate.Runner, "__call__", None)  # nothing is run again
    assert mutate.mutate(["src/toy.py"], None, count=2, out=out, **options) == first
    with pytest.raises(TypeError):  # other tests may give another result
        mutate.mutate(["src/toy.py"], "tests -k clipped", count=2, out=out, **options)


SLEEPS = "import time\n\n\ndef test_it():\n    time.sleep(60)\n"
LOOPS = "def test_it():\n    while True:\n        pass\n"


@pytest.mark.parametrize(
    ("text", "limits"), [(SLEEPS, mutate.Limits(clock=3.0)), (LOOPS, mutate.Limits(processor=3.0))]
)
def test_ends_what_hangs(project, text, limits):
    (project / "tests" / "test_toy.py").write_text(text)
    with contextlib.closing(mutate.Runner(project)) as run_tests:
        run = run_tests("tests", limits)
        assert run.result == mutate.TIMED_OUT
        (project / "tests" / "test_toy.py").write_text(WEAK)
        assert run_tests("tests", limits).result == mutate.SURVIVED
    assert mutate.summary([{"result": run.result}]) == (
        "1 of 1 mutants killed (1 by running out of time) (100%), 0 survived"
    )


def test_a_mutant_that_never_ends_is_told_by_the_time_of_the_unchanged_run(project, monkeypatch):
    (project / "src" / "toy.py").write_text("def count():\n    n = 3\n    while n > 0:\n        n -= 1\n    return n\n")
    (project / "tests" / "test_toy.py").write_text(
        "from toy import count\n\n\ndef test_it():\n    assert count() == 0\n"
    )
    monkeypatch.setattr(mutate.Run, "limits", property(lambda run: mutate.Limits(2 + run.processor)))
    said = []
    options = {"count": 100, "seed": 0, "timeout": None, "out": None, "root": project, "say": said.append}
    results = mutate.mutate(["src/toy.py"], None, **options)
    ended = {result["kind"] for result in results if result["result"] == mutate.TIMED_OUT}
    assert "removed assignment" in ended  # of n -= 1
    assert said[0].startswith("tests/test_toy.py: passed in ")


def test_limits_grow_with_the_unchanged_run():
    short, long = (mutate.Run(mutate.SURVIVED, "", seconds, 2 * seconds).limits for seconds in (1.0, 100.0))
    assert short.processor > 10
    assert long.processor > 300
    assert long.clock > 1000 > short.clock


def test_runs_are_forks_of_a_process_that_learns_what_is_imported_and_never_the_sources(project):
    text = "import os, sys\n\nBEFORE = set(sys.modules)\nimport colorsys, toy\n\n\ndef test_it():\n"
    text += "    print('server', os.getppid(), 'colorsys' in BEFORE, 'toy' in BEFORE)\n    assert toy.clipped(2) == 2\n"
    (project / "tests" / "test_toy.py").write_text(text)
    with contextlib.closing(mutate.Runner(project)) as run_tests:
        outputs = [run_tests("tests -s", mutate.Limits()).output for _ in range(2)]
        (project / "src" / "toy.py").write_text("def clipped(x):\n    return 1\n")
        third = run_tests("tests", mutate.Limits())
    said = [next(line.split()[-3:] for line in output.splitlines() if "server" in line) for output in outputs]
    assert said[0][1:] == ["False", "False"]
    assert said[1] == [said[0][0], "True", "False"]
    assert third.result == mutate.KILLED
    assert third.failure.startswith("FAILED tests/test_toy.py::test_it")
    assert 0 < third.processor < 30


def test_shows_why_tests_fail_by_themselves(project):
    (project / "tests" / "test_toy.py").write_text("def test_it():\n    assert 17 == 4, 'a reason to read'\n")
    with pytest.raises(SystemExit, match="before anything is changed; `pytest tests` killed after") as error:
        mutate.mutate(["src"], "tests", count=1, seed=0, timeout=60, out=None, root=project)
    assert "a reason to read" in str(error.value)
    assert "FAILED tests/test_toy.py::test_it" in str(error.value)


def test_a_survivor_names_no_failure_and_a_killed_one_does(project):
    options = {"count": 100, "seed": 0, "timeout": None, "out": None, "root": project, "say": lambda line: None}
    results = mutate.mutate(["src"], "tests -k 'clipped or nothing'", **options)
    for result in results:
        assert result["failure"].startswith("FAILED tests/test_toy.py::test_clipped") == (result["result"] == "killed")


def test_nearest_tests_have_the_name_or_import_the_file(tmp_path):
    texts = {
        "src/liquidtime/ops/storage.py": "", "src/liquidtime/ops/native/library.py": "", "src/liquidtime/times.py": "",
        "src/liquidtime/ops/_lone.py": "",
        "tests/ops/test_storage.py": "", "tests/ops/test_others.py": "from liquidtime.ops.storage import x\n",
        "tests/ops/test_near.py": "import liquidtime.ops.storages\n", "tests/ops/test_library.py": "",
        "tests/cells/test_storage.py": "", "tests/test_times.py": "", "tests/ops/native/test_fork.py": "",
    }  # fmt: skip
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    nearest = mutate.nearest_tests
    assert nearest("src/liquidtime/ops/storage.py", tmp_path) == "tests/ops/test_others.py tests/ops/test_storage.py"
    assert nearest("src/liquidtime/ops/native/library.py", tmp_path) == "tests/ops/test_library.py"
    assert nearest("src/liquidtime/times.py", tmp_path) == "tests/test_times.py"
    with pytest.raises(SystemExit, match=r"no test has the name of src/liquidtime/ops/_lone.py or imports it"):
        nearest("src/liquidtime/ops/_lone.py", tmp_path)


def test_command_line():
    text = subprocess.run([sys.executable, FILE, "--help"], capture_output=True, text=True, check=True).stdout
    assert "Mutation testing" in text
    assert "--count" in text
