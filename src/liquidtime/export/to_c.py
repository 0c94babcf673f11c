"""Export to C: one header and one source file in C99, and a program that checks them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from liquidtime.data import SeriesSet
from liquidtime.export.c_file import c_files
from liquidtime.export.folder import Exported, scratch_folder, write_exported
from liquidtime.export.int8 import change_in_words, predictions
from liquidtime.export.manifest import NAME, manifest
from liquidtime.export.of_model import loaded, step_of
from liquidtime.export.parts import ALL, ALONE, is_stack
from liquidtime.export.parts import change_in_words as lacks_in_words
from liquidtime.export.vectors import BOUND, CheckFailed, vectors_of
from liquidtime.files.contents import json_to_bytes

STRICT = ("-std=c99", "-O3", "-Wall", "-Wextra", "-Werror", "-pedantic")
INT8_ROUNDING = 2e-5
"""Largest difference of the C code from torch with equal 8-bit weights, in the unit of `BOUND`, due to rounding."""


def c(
    model: Any,
    path: str | Path,
    *,
    data: SeriesSet | None = None,
    target: Any = None,
    part: str = ALL,
    memory: int | None = None,
    int8: bool = False,
    name: str = "model",
) -> Exported:
    """Write a model as C99: `<name>.h`, `<name>.c`, `check.c`, `model.json` and `vectors.json`.

    Args:
        model: a fitted estimator, or its folder.
        path: the folder to write.
        data: series for the test vectors; None for made-up series.
        target: targets of `data` as for `fit`, used to measure the effect of 8-bit weights and of exporting only a
            part.
        part: for a stack: "networks" for only the networks, since its other parts read whole series.
        memory: for a forecaster: how many of the newest values of each channel are stored; None for as many as needed
            by `data`, or by series as dense as usual in training.
        int8: whether weights are stored in 8 bits, a quarter of the size.
        name: prefix of files and functions; a C identifier.

    Raises:
        ValueError: the model cannot be exported, or the name is not a C identifier.
        CheckFailed: the code differs from the model; nothing was written.
        FileNotFoundError: there is no C compiler to check the code with.

    """
    model = loaded(model)
    step = step_of(model, part, memory=memory, data=data)
    vectors = vectors_of(step, data)
    checked, facts = vectors, {}
    if is_stack(model) and part == ALONE:
        facts["part"] = lacks_in_words(model, data, target)
    if int8:
        checked = predictions(step, vectors)
        facts["int8"] = change_in_words(step, vectors, checked, data, target)
    files = c_files(step, name, checked, int8, INT8_ROUNDING if int8 else BOUND)
    facts |= {
        "flash": f"{files.weights:,} bytes of constants, and the code",
        "RAM": f"{step.layout.nbytes:,} bytes per series, {files.scratch:,} bytes of stack in a call",
    }
    described = manifest(step, "c", real_vectors=data is not None) | {
        "facts": facts,
        "weights": "int8" if int8 else "float32",
    }
    contents = {
        f"{name}.h": files.header.encode(),
        f"{name}.c": files.source.encode(),
        "check.c": files.check.encode(),
        "vectors.json": json_to_bytes([vector.to_dict() for vector in checked]),
        NAME: json_to_bytes(described, indent=1),
    }
    with scratch_folder(contents) as folder:
        difference, microseconds = compiled_check(folder, name)
    return write_exported(Path(path), contents, difference, microseconds, facts)


def compiler() -> list[str]:
    """Return the command of the C compiler: the environment variable CC, or the first of cc, gcc and clang.

    Raises:
        FileNotFoundError: there is no compiler.

    """
    chosen = os.environ.get("CC", "").split()
    for command in (chosen, ["cc"], ["gcc"], ["clang"]):
        if command and shutil.which(command[0]):
            return command
    raise FileNotFoundError(
        "exporting to C needs a C compiler to check the files: install gcc or clang, or set CC to another one"
    )


def compiled_check(folder: Path, name: str, command: Sequence[str] | None = None) -> tuple[float, float]:
    """Compile and run the checking program of a folder; return its largest difference and the microseconds per sample.

    Raises:
        CheckFailed: it does not compile, or its predictions differ.

    """
    program = folder / "check"
    build = [*(command or compiler()), *STRICT, "-DMEASURE", f"{name}.c", "check.c", "-lm", "-o", str(program)]
    built = subprocess.run(build, cwd=folder, capture_output=True, text=True, check=False)
    if built.returncode:
        raise CheckFailed(f"the C code does not compile; nothing was written: {built.stderr[:2000]}")
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    figures = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    if done.returncode:
        raise CheckFailed(f"the C code differs from the model; nothing was written: {done.stdout.strip()}")
    return float(figures["largest difference"]), float(figures["microseconds"])
