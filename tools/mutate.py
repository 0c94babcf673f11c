"""Mutation testing: change one thing in a source file, run its tests, and see whether they notice.

    .venv/bin/python tools/mutate.py src/liquidtime/times.py --count 40 --out times.json
    .venv/bin/python tools/mutate.py src/liquidtime/layers --tests "tests/layers/test_changes.py -k cells"

The tests run on a temporary copy of the project; this tree is never written to. Without `--tests`, a file is tested by
its nearest tests: those that have its name, or that import it, in the folders of `tests/` that mirror its own. A mutant
that no test notices is printed with its line before and after. A second run with the same `--out` resumes where the
first one stopped.

How long a mutant may run is measured on the unchanged sources, in processor time, which other work on the machine does
not lengthen.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import difflib
import importlib
import json
import math
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = {".git", ".venv", "build", "dist", "results", "runs", ".mypy_cache", ".ruff_cache", ".hypothesis"}
# An editable install may have an import hook that would bring the tests back to this tree.
UNHOOK = "import sys; sys.meta_path[:] = [f for f in sys.meta_path if 'ScikitBuild' not in type(f).__name__]\n"
COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
KILLED, SURVIVED, TIMED_OUT = "killed", "survived", "timed out"
OUTPUT, IMPORTED = "output.txt", "imported.json"  # what a run leaves: what it printed, and the names of modules
SHOWN = 60  # lines of what a failing run printed


@dataclass(frozen=True)
class Mutant:
    """One change: `kind` at line `line` of `path`; `number` counts the changes that the file allows."""

    path: str
    number: int
    kind: str
    line: int


class Mutator(ast.NodeTransformer):
    """Walks a module and counts the changes it allows; makes the one with the number `chosen`."""

    def __init__(self, chosen: int | None = None) -> None:
        self.chosen, self.sites = chosen, list[tuple[str, int]]()

    def offer(self, kind: str, node: ast.AST) -> bool:
        """Count a change, and return whether it is the one to make."""
        self.sites.append((kind, getattr(node, "lineno", 0)))
        return len(self.sites) - 1 == self.chosen

    def visit(self, node: ast.AST) -> Any:
        """Visit a node without its annotations, which no test can see."""
        if isinstance(node, ast.AnnAssign):
            node.value = node.value and self.visit(node.value)
            return node
        if isinstance(node, ast.arg):
            return node
        if isinstance(node, ast.FunctionDef):
            returns, node.returns = node.returns, None
            changed = super().visit(node)
            node.returns = returns
            return changed
        return super().visit(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Offer to remove statements of a body, then go on below."""
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and not isinstance(node, ast.ClassDef | ast.Module):
                setattr(node, name, [self._kept(statement) for statement in body])
        return super().generic_visit(node)

    def _kept(self, statement: ast.stmt) -> ast.stmt:
        kind = {ast.Raise: "removed raise", ast.Assign: "removed assignment", ast.AugAssign: "removed assignment"}.get(
            type(statement)
        )
        if isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant):
            kind = "removed call"
        if kind and self.offer(kind, statement):
            return ast.copy_location(ast.Pass(), statement)
        return statement

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        for index, operator in enumerate(node.ops):
            if self.offer("comparison", node):
                node.ops[index] = COMPARED[type(operator)]()
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if type(node.op) in COMPUTED and self.offer("arithmetic", node):
            node.op = COMPUTED[type(node.op)]()
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if self.offer("and/or", node):
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.Not | ast.USub | ast.Invert) and self.offer("removed sign or not", node):
            return self.generic_visit(node).operand  # type: ignore[attr-defined, no-any-return]
        return self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        if self.offer("swapped branches", node):
            node.body, node.orelse = node.orelse, node.body
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return node
        if self.offer("negated condition", node):
            node.test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
        return self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        is_none = node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
        if not is_none and self.offer("returns None", node):
            node.value = ast.copy_location(ast.Constant(None), node)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        for keyword in list(node.keywords):
            if keyword.arg is not None and self.offer("dropped keyword", node):
                node.keywords.remove(keyword)
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool):
            if self.offer("True/False", node):
                return ast.copy_location(ast.Constant(not node.value), node)
        elif isinstance(node.value, int | float) and self.offer("constant", node):
            return ast.copy_location(ast.Constant(node.value + 1), node)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node


def mutants_of(path: str, source: str) -> list[Mutant]:
    """Return every change that a source file allows."""
    mutator = Mutator()
    mutator.visit(ast.parse(source))
    return [Mutant(path, number, kind, line) for number, (kind, line) in enumerate(mutator.sites)]


def mutated(source: str, number: int) -> tuple[str, str]:
    """Return the source with one change made, and the difference."""
    tree = ast.parse(source)
    changed = Mutator(number).visit(copy.deepcopy(tree))
    before, after = ast.unparse(tree), ast.unparse(ast.fix_missing_locations(changed))
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return after, "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def files_of(paths: list[str], root: Path) -> Iterator[str]:
    for path in paths:
        inside = root / path
        yield from ([path] if inside.is_file() else sorted(str(f.relative_to(root)) for f in inside.rglob("*.py")))


def nearest_tests(path: str, root: Path) -> str:
    """Return the test files of a source file, as arguments of pytest.

    Taken from the folder of `tests/` that mirrors the file's own, or from the nearest one above it that has such tests:
    those of the file's name, and those that import the file.

    Raises:
        SystemExit: there are none.

    """
    module = Path(path).with_suffix("")
    inside = module.parts[module.parts.index("src") + 1 :] if "src" in module.parts else module.parts
    imported = re.compile(rf"\b{re.escape('.'.join(inside))}\b")
    folder = root / "tests" / Path(*inside[1:-1])
    while True:
        files = sorted(folder.rglob("test_*.py")) if folder.is_dir() else []
        named = [file for file in files if file.stem == f"test_{module.name.strip('_')}"]
        chosen = [file for file in files if file in named or imported.search(file.read_text())]
        if chosen:
            return " ".join(str(file.relative_to(root)) for file in chosen)
        if folder == root / "tests":
            raise SystemExit(f"no test has the name of {path} or imports it; name its tests by --tests")
        folder = folder.parent


@dataclass(frozen=True)
class Limits:
    """Seconds after which a run is ended: of the processor, for each of its processes, and by the clock."""

    processor: float = math.inf
    clock: float = math.inf


@dataclass(frozen=True)
class Run:
    """What became of a run of the tests, what it printed, and the seconds that it took."""

    result: str
    output: str
    processor: float
    clock: float

    @property
    def limits(self) -> Limits:
        """What a run of the same tests on changed sources may take."""
        return Limits(10 + 4 * self.processor, 60 + 20 * max(self.clock, self.processor))

    @property
    def failure(self) -> str:
        """The first line that names a failing test."""
        return next((line for line in self.output.splitlines() if line.startswith(("FAILED", "ERROR"))), "")[:300]


class Runner:
    """Runs the tests of a copy, each time in a fork of one process.

    After a run that passed, that process imports what the run imported from outside the copy; no later run needs to.
    """

    def __init__(self, copied: Path) -> None:
        self.copied = copied
        self._process: subprocess.Popen[str] | None = None

    def __call__(self, tests: str, limits: Limits) -> Run:
        """Run the tests; a run that exceeds its limits is ended with everything it started."""
        if self._process is None:
            environment = os.environ | {"PYTHONPATH": str(self.copied / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
            self._process = subprocess.Popen(
                [sys.executable, __file__, "--serve", "."], cwd=self.copied, env=environment, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory(prefix="run-") as folder:
            job = {"tests": shlex.split(tests), "folder": folder} | asdict(limits)
            print(json.dumps(job), file=self._process.stdin, flush=True)
            code, processor, clock = json.loads(self._process.stdout.readline())
            result = {0: SURVIVED, -signal.SIGXCPU: TIMED_OUT, None: TIMED_OUT}.get(code, KILLED)
            return Run(result, (Path(folder) / OUTPUT).read_text(errors="replace"), processor, clock)

    def close(self) -> None:
        if self._process is not None:
            self._process.communicate()


def serve() -> None:
    """Answer jobs on the standard input: each runs in a fork, ends by its limits, and is told by a line."""
    for line in sys.stdin:
        job = json.loads(line)
        start = time.monotonic()
        if not (child := os.fork()):
            code = 1
            try:
                code = _run_job(job)
            finally:
                os._exit(code)
        while not (ended := os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)):
            if time.monotonic() - start > job["clock"]:
                break
            time.sleep(0.02)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # also what a run that ended has left behind
        _, status, usage = os.wait4(child, 0)
        result = os.waitstatus_to_exitcode(status) if ended else None
        answer = [result, usage.ru_utime + usage.ru_stime, time.monotonic() - start]
        if result == 0:
            for name in json.loads((Path(job["folder"]) / IMPORTED).read_text()):
                with contextlib.suppress(Exception):
                    importlib.import_module(name)
        print(json.dumps(answer), flush=True)


def _run_job(job: dict[str, Any]) -> int:
    """Run the tests in this process, a fork with an output and limits of its own; return the code of pytest."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDONLY)
    output = os.open(Path(job["folder"]) / OUTPUT, os.O_WRONLY | os.O_CREAT)
    for descriptor, number in ((null, 0), (output, 1), (output, 2)):
        os.dup2(descriptor, number)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout, sys.stderr = (open(number, "w", buffering=1, closefd=False) for number in (1, 2))  # noqa: SIM115
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if job["processor"] < math.inf:
        most = math.ceil(job["processor"])
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
    import pytest

    plain = ["-q", "-x", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    code = int(pytest.main([*plain, *job["tests"]]))
    sys.stdout.flush()
    files = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    ours = f"{Path.cwd()}{os.sep}"
    names = [name for name, file in files.items() if file and not file.startswith(ours) and "__main__" not in name]
    (Path(job["folder"]) / IMPORTED).write_text(json.dumps(names))
    return code


def unchanged_run(run_tests: Callable[[str, Limits], Run], tests: str, limits: Limits) -> Run:
    """Run the tests of sources that are as they were.

    Raises:
        SystemExit: they do not pass; the text has the end of what they printed.

    """
    run = run_tests(tests, limits)
    if run.result != SURVIVED:
        shown = "\n".join(run.output.splitlines()[-SHOWN:])
        raise SystemExit(
            f"the tests must pass before anything is changed; `pytest {tests}` {run.result} after {run.clock:.0f} s "
            f"({run.processor:.0f} s of the processor). The end of what it printed:\n{shown}"
        )
    return run


def mutate(
    paths: list[str], tests: str | None, *, count: int, seed: int, timeout: float | None, out: Path | None,
    root: Path = ROOT, say: Callable[[str], None] = print,
) -> list[dict[str, Any]]:  # fmt: skip
    """Try `count` changes drawn with `seed`, and return what became of each; see the module."""
    sources = {path: (root / path).read_text() for path in files_of(paths, root)}
    everything = [mutant for path, source in sources.items() for mutant in mutants_of(path, source)]
    drawn = random.Random(seed).sample(everything, min(count, len(everything)))
    tests_of = {path: tests or nearest_tests(path, root) for path in dict.fromkeys(mutant.path for mutant in drawn)}
    records = json.loads(out.read_text())["mutants"] if out is not None and out.exists() else []
    known = {(record["path"], record["number"], record["diff"], record["tests"]): record for record in records}
    results: list[dict[str, Any]] = []
    limits: dict[str, Limits] = {}
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder, contextlib.ExitStack() as closing:
        copied = Path(folder) / "project"
        shutil.copytree(root, copied, ignore=lambda _, names: LEFT_OUT & set(names))
        (copied / "src" / "sitecustomize.py").write_text(UNHOOK)
        run_tests = closing.enter_context(contextlib.closing(Runner(copied)))
        for index, mutant in enumerate(drawn):
            chosen = tests_of[mutant.path]
            source, diff = mutated(sources[mutant.path], mutant.number)
            key = (mutant.path, mutant.number, diff, chosen)
            if key not in known:
                if chosen not in limits:
                    run = unchanged_run(run_tests, chosen, Limits(clock=timeout or math.inf))
                    limits[chosen] = Limits(clock=timeout) if timeout else run.limits
                    say(f"{chosen}: passed in {run.clock:.0f} s ({run.processor:.0f} s of the processor)")
                (copied / mutant.path).write_text(source)
                run = run_tests(chosen, limits[chosen])
                (copied / mutant.path).write_text(sources[mutant.path])
                known[key] = asdict(mutant) | {
                    "diff": diff, "tests": chosen, "result": run.result, "failure": run.failure,
                }  # fmt: skip
            results.append(known[key])
            if out is not None:
                out.write_text(json.dumps({"seed": seed, "mutants": list(known.values())}, indent=1) + "\n")
            shown = f"\n{diff}" if results[-1]["result"] == SURVIVED else ""
            say(
                f"[{index + 1}/{len(drawn)}] {results[-1]['result']}: {mutant.kind}, {mutant.path}:{mutant.line}{shown}"
            )
    say(summary(results))
    return results


def summary(records: list[dict[str, Any]]) -> str:
    """Return the kill rate in a line; a run that did not end in time counts as noticed."""
    survivors = sum(record["result"] == SURVIVED for record in records)
    late = sum(record["result"] == TIMED_OUT for record in records)
    share = (len(records) - survivors) / len(records) if records else 1.0
    ended = f" ({late} by running out of time)" if late else ""
    return f"{len(records) - survivors} of {len(records)} mutants killed{ended} ({share:.0%}), {survivors} survived"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("paths", nargs="+", help="source files or folders, from the top of the project")
    parser.add_argument("--tests", help="arguments of pytest: the tests of these sources (default: the nearest)")
    parser.add_argument("--count", type=int, default=50, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the draw")
    parser.add_argument(
        "--timeout", type=float, help="seconds by the clock for one run of the tests (default: measured)"
    )
    parser.add_argument("--out", type=Path, help="JSON file of the results; resumes from it if it exists")
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
        return
    mutate(
        arguments.paths, arguments.tests, count=arguments.count, seed=arguments.seed, timeout=arguments.timeout,
        out=arguments.out,
    )  # fmt: skip


if __name__ == "__main__":
    main()
