"""How long do a sample and its prediction take in the library, through onnxruntime and in C, one thread each?

    python -m benchmarks.deployed_sample demo-model          a folder of `liquidtime demo`, or any that can be exported

The three take turns, and the best of many rounds counts, in processor time.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

import liquidtime as lt
from liquidtime.estimators.live import read_out
from liquidtime.export.onnx_runner import Model
from liquidtime.export.to_c import compiler
from liquidtime.export.vectors import Vector, vectors_of


def measured(folder: str, rounds: int) -> dict[str, Any]:
    """Return microseconds of a sample and its prediction, by what computes them.

    Args:
        folder: of a classifier or regressor.
        rounds: how often each has its turn.
    """
    torch.set_num_threads(1)
    model = lt.load(folder)
    vectors = vectors_of(lt.export.step_of(model), None)
    samples = sum(len(vector.times) for vector in vectors)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        lt.export.onnx(model, scratch / "onnx")
        lt.export.c(model, scratch / "c")
        contenders = {
            "model.update": lambda: _library(model, vectors),
            "model.update, without the table": lambda: _without_table(model, vectors),
            "onnxruntime": _runner(scratch / "onnx", vectors),
            "C": _library_in_c(scratch / "c", vectors),
        }
        best = dict.fromkeys(contenders, float("inf"))
        for _ in range(rounds):
            for title, run in contenders.items():
                before = time.process_time()
                run()
                best[title] = min(best[title], (time.process_time() - before) / samples)
    facts = {"samples": samples, "rounds": rounds, "load": os.getloadavg()[0]}
    return facts | {"microseconds": {title: round(1e6 * spent, 1) for title, spent in best.items()}}


def _library(model: Any, vectors: list[Vector]) -> None:
    model.reset()
    for vector in vectors:
        for t, row in zip(vector.times.tolist(), vector.values, strict=True):
            model.update(vector.id, t, row)


def _without_table(model: Any, vectors: list[Vector]) -> None:
    few, read_out._FEW = read_out._FEW, 0
    try:
        _library(model, vectors)
    finally:
        read_out._FEW = few


def _runner(folder: Path, vectors: list[Vector]) -> Callable[[], None]:
    runner = Model(folder)
    return lambda: _library(runner, vectors)


def _library_in_c(folder: Path, vectors: list[Vector]) -> Callable[[], None]:
    (folder / "loop.c").write_text(
        """#include "model.h"
int loop(const int *lengths, int series, const double *times, const float *values, const float *statics)
{
    double prediction[MODEL_OUTPUTS];
    int at = 0, wrong = 0;
    for (int s = 0; s < series; s++) {
        model_state state;
        model_start(&state);
        for (int k = 0; k < lengths[s]; k++, at++) {
            wrong |= model_update(&state, times[at], values + at * MODEL_CHANNELS);
            wrong |= model_predict(&state, statics + s * MODEL_STATICS, prediction);
        }
    }
    return wrong;
}
"""
    )
    options = ["-std=c99", "-O3", "-shared", "-fPIC", "model.c", "loop.c", "-lm", "-o", "loop.so"]
    subprocess.run([*compiler(), *options], cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "loop.so"))
    arrays = [
        np.array([len(vector.times) for vector in vectors], dtype=np.int32),
        np.concatenate([vector.times for vector in vectors]),
        np.concatenate([vector.values for vector in vectors]),
        np.concatenate([vector.static for vector in vectors]),
    ]
    lengths, times, values, statics = (array.ctypes.data_as(ctypes.c_void_p) for array in arrays)

    def run() -> None:
        if library.loop(lengths, len(vectors), times, values, statics):
            raise RuntimeError("the C refused a sample")
        assert len(arrays) == 4  # they live as long as this function

    return run


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="model folder")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--out", type=Path, help="file for the figures")
    given = parser.parse_args()
    text = json.dumps(measured(given.model, given.rounds), indent=1) + "\n"
    sys.stdout.write(text)
    if given.out:
        given.out.write_text(text)
