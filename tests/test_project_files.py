"""Workflows, hooks and templates are well-formed, and call only targets and files that exist."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z][\w-]*):(?!=)", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
PINNED = {line.split("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def expanded(command, job):
    """The command once for every value of the matrix that it names."""
    names = re.findall(r"\$\{\{ matrix\.(\w+) \}\}", command)
    commands = [command]
    for name in names:
        values = job["strategy"]["matrix"][name]
        commands = [text.replace(f"${{{{ matrix.{name} }}}}", str(value)) for text in commands for value in values]
    return commands


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_calls_what_exists(path):
    workflow = yaml.safe_load(path.read_text())
    assert {"name", True, "permissions", "jobs"} <= set(workflow)  # YAML reads the key `on` as true
    commands = []
    for job in workflow["jobs"].values():
        assert set([job.get("needs", [])] if isinstance(job.get("needs"), str) else job.get("needs", [])) <= set(
            workflow["jobs"]
        )
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert re.search(r"@\S+$", step.get("uses", "@none"))
            commands += expanded(step.get("run", ""), job)
    for target in (name for command in commands for name in re.findall(r"\bmake ([\w-]+)", command)):
        assert target in TARGETS
    for file in (name for command in commands for name in re.findall(r"python (?:-I )?(\S+\.py)", command)):
        assert (ROOT / file).exists()
    assert any("make" in command for command in commands)


def test_the_workflows_cover_every_check():
    text = "\n".join(path.read_text() for path in WORKFLOWS)
    for needed in ("lint, types, layers, sanitize", "make tests", "--without-kernels", "make test-lowest", "make site"):
        assert needed in text
    versions = re.findall(r'"(3\.\d+)"', re.search(r"python: \[(.*)\]", text).group(1))
    assert [f"Programming Language :: Python :: {version}" for version in versions] == [
        line for line in PROJECT["project"]["classifiers"] if re.search(r"3\.\d+$", line)
    ]
    assert PROJECT["project"]["requires-python"] == f">={versions[0]}"
    assert "id-token: write" in text  # trusted publishing


def test_wheels_of_every_platform_are_configured():
    wheels = PROJECT["tool"]["cibuildwheel"]
    assert {*wheels["linux"]["archs"], *wheels["macos"]["archs"], *wheels["windows"]["archs"]} == {
        "x86_64",
        "aarch64",
        "arm64",
        "AMD64",
    }
    assert (ROOT / re.search(r"\{project\}/(\S+)", wheels["test-command"]).group(1)).exists()
    assert PROJECT["tool"]["scikit-build"]["wheel"]["py-api"] == "py3"


def test_hooks_use_pinned_tools():
    hooks = [
        hook
        for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
        for hook in repo["hooks"]
    ]
    programs = {hook["entry"].split()[0].removeprefix(".venv/bin/") for hook in hooks}
    assert programs == {"ruff", "mypy", "lint-imports"}
    assert {"ruff", "mypy", "import-linter"} <= PINNED


def test_templates_are_forms():
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text())
        assert path.name == "config.yml" or {"name", "description", "body"} <= set(form)


def test_addresses_are_not_made_up():
    """Only what exists may be named: the paper. The sources' address comes with the first upload."""
    for name, address in PROJECT["project"]["urls"].items():
        assert address.startswith("https://"), name
        assert "example" not in address


def test_tests_of_the_installed_package_need_the_package_and_a_test_runner_alone():
    named = re.search(
        r"^INSTALLED_TESTS := ((?:.*\\\n)*.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE
    ).group(1)
    paths = [ROOT / name for name in named.replace("\\", " ").split()]
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("test_*.py"))]
    needed = {name for file in files for name in imported(file)}
    ours = {path.stem for path in (ROOT / "tests").iterdir()}
    runners = {"pytest", "hypothesis", "scipy", "pandas"}  # as release_check.py and `make test-lowest` install them
    assert needed - set(sys.stdlib_module_names) - ours <= runners | {"liquidtime", "torch", "numpy", "polars"}


def imported(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.split(".")[0]
