"""Check an installed liquidtime by itself: `python tools/check_installed.py`, in any environment and any folder.

It needs nothing but the package: no test runner, no compiler, no sources. It fails if the package is imported from a
source tree, if the version differs from the metadata, if the kernels are missing or differ from the plain loops, or if
a model cannot be trained, saved, loaded and asked for the same predictions on the command line.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++", "cl")


def check_metadata() -> str:
    """Check where the package is and which version it says it has."""
    import liquidtime

    folder = Path(liquidtime.__file__).parent
    assert folder.parent.name != "src", f"this is a source tree, not an installed package: {folder}"
    version = importlib.metadata.version("liquidtime")
    assert liquidtime.__version__ == version, f"the package says {liquidtime.__version__}, its metadata {version}"
    assert (folder / "py.typed").exists(), "py.typed is missing"
    return f"liquidtime {version}"


def check_kernels(expected: bool) -> str:
    """Check that the kernels are there, if expected, and give what the plain loops give, gradients included."""
    import torch

    import liquidtime as lt
    from liquidtime.ops import using_backend

    torch.manual_seed(0)
    x = torch.randn(5, 17, 3)
    dt, lengths = torch.rand(5, 17), torch.tensor([17, 1, 9, 16, 3])
    results = []
    for backend in ("native", "reference") if expected else ("reference",):
        torch.manual_seed(1)
        layer = lt.CfC(3, 8)
        with using_backend(backend):
            y, _ = layer(x, dt=dt, lengths=lengths)
            y.square().sum().backward()
        results.append([y.detach(), *(parameter.grad for parameter in layer.parameters())])
    for one, other in zip(results[0], results[-1], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    return "kernels equal the plain loops" if expected else "plain loops alone"


def check_commands(folder: Path) -> str:
    """Train, save, load and predict on a table of made-up series, in processes of their own."""
    import numpy as np

    rng = np.random.default_rng(0)
    lines, outcomes = ["id,hour,a,b,label"], {}
    for series in range(40):
        outcomes[series] = series % 2
        hours = np.cumsum(rng.exponential(1.0, 8))
        for hour in hours:
            lines.append(
                f"{series},{hour:.3f},{rng.normal() + 3 * outcomes[series]:.3f},{rng.normal():.3f},{series % 2}"
            )
    table, model = folder / "table.csv", folder / "model"
    table.write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "liquidtime"]
    columns = ["--id", "id", "--time", "hour"]
    quick = ["--quick", "--epochs", "2", "--n-estimators", "1"]
    run([*command, "train", str(table), *columns, "--target", "label", "--out", str(model), *quick])
    run([*command, "predict", str(model), str(table), "--out", str(folder / "predictions.csv")])
    rows = (folder / "predictions.csv").read_text().splitlines()
    assert len(rows) == 41, f"{len(rows)} lines of predictions for 40 series"
    facts = json.loads(run([*command, "info", "--json"]))
    return f"train and predict run; torch {facts['torch']}, Python {facts['python']}"


def run(command: list[str]) -> str:
    """Return what a command prints; if it fails, show what it said."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def main() -> None:
    """Run every check and print one line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--without-kernels", action="store_true", help="the package was installed without a compiler")
    parser.add_argument("--no-compiler", action="store_true", help="fail if a compiler can be found")
    options = parser.parse_args()
    if options.no_compiler:
        compilers = [name for name in COMPILERS if shutil.which(name)]
        assert not compilers, f"on PATH: {compilers}"
        print("no compiler on PATH")
    print(check_metadata())
    print(check_kernels(not options.without_kernels))
    with tempfile.TemporaryDirectory() as folder:
        print(check_commands(Path(folder)))


if __name__ == "__main__":
    main()
