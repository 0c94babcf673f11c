"""The compiled library is taken only where it is this version's; without it the plain loops run and `info` says why."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

import liquidtime
import processes
from liquidtime.ops.native import library

OPS = Path(library.__file__).parents[1]
needs_kernel = pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")
HEADERS = "a754a98f37327b72"  # of what crosses the boundary, as of the number below
NUMBER = 5


def declarations() -> str:
    """The structures and exported functions, without comments and spaces."""
    files = [*sorted(OPS.glob("*/cpu/problem.h")), *sorted(OPS.glob("*/*.cpp")), *sorted(OPS.glob("*/cpu/*.cpp"))]
    text = ""
    for file in files:
        code = re.sub(r"//[^\n]*", "", file.read_text())
        structures = re.findall(r"struct \w+ \{.*?\n\};|enum \w+[^;]*;", code, re.DOTALL) if file.suffix == ".h" else []
        text += "".join(structures) + "".join(re.findall(r"LT_EXPORT [^{]*\{", code))
    return "".join(text.split())


@pytest.mark.skipif(not list(OPS.glob("*/cpu/*.h")), reason="the sources are not installed")
def test_a_change_of_the_boundary_has_a_number_of_its_own():
    digest = hashlib.sha256(declarations().encode()).hexdigest()[:16]
    text = "raise LT_ABI in boundary.h, ABI in library.py and NUMBER, unless Python asks first, and write the digest"
    assert (digest, library.ABI) == (HEADERS, NUMBER), text
    assert f"#define LT_ABI {NUMBER}\n" in (OPS / "native/boundary.h").read_text()


def reopened(monkeypatch, **changes) -> str | None:
    for owner, name, value in changes.values():
        monkeypatch.setattr(owner, name, value)
    monkeypatch.setattr(library, "_library", None)
    monkeypatch.setattr(library, "_missing", None)
    return library.why_missing()


@needs_kernel
def test_a_library_of_another_version_is_not_taken(monkeypatch):
    assert library.load().lt_version().decode() == liquidtime.__version__
    why = reopened(monkeypatch, version=(library, "__version__", "99.0"))
    assert re.search(rf"have version \S+ and interface {NUMBER}, but the package has version 99.0", why)
    with pytest.raises(library.NativeMissingError, match="Install a C"):
        library.load()


@needs_kernel
def test_a_library_of_another_interface_is_not_taken(monkeypatch):
    assert f"interface {NUMBER}, but the package" in reopened(monkeypatch, abi=(library, "ABI", NUMBER + 1))


def test_what_is_no_library_is_not_taken(monkeypatch, tmp_path):
    (tmp_path / library.FILE_NAME).write_text("not a library")
    monkeypatch.setattr(library, "__file__", str(tmp_path / "library.py"))
    assert "cannot be loaded" in reopened(monkeypatch)


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_without_a_library_everything_imports_and_info_says_why(platform):
    code = f"""
import sys
import torch, numpy, typer
sys.platform = {platform!r}
import liquidtime as lt
from liquidtime.ops import live_backend
y, _ = lt.CfC(3, 5)(torch.randn(2, 4, 3))
print(live_backend(), tuple(y.shape))
sys.platform = "linux"
from liquidtime.cli.app import app
app(["info"])
"""
    _, out, err = processes.run("-c", code, env={"LIQUIDTIME_BACKEND": None})
    assert out.startswith("reference (2, 4, 5)"), err
    suffix = {"win32": "dll", "darwin": "dylib"}[platform]
    assert f"not built: the package has no libliquidtime_native.{suffix}" in out
