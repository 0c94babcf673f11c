"""Export to ONNX: a folder with a model for single samples, one for whole series, and a runner without torch."""

from __future__ import annotations

import copy
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from liquidtime.data import SeriesSet
from liquidtime.export.folder import Exported, scratch_folder, write_exported
from liquidtime.export.forecast_step import ForecastStep
from liquidtime.export.manifest import NAME, manifest
from liquidtime.export.of_model import loaded, step_of
from liquidtime.export.parts import ALL, ALONE, change_in_words, is_stack
from liquidtime.export.vectors import BOUND, CheckFailed, Vector, check, vectors_of
from liquidtime.files.contents import json_to_bytes
from liquidtime.files.whole_files import write_file
from liquidtime.layers import Recurrent


def onnx(
    model: Any,
    path: str | Path,
    *,
    data: SeriesSet | None = None,
    target: Any = None,
    part: str = ALL,
    memory: int | None = None,
) -> Exported:
    """Write a model as ONNX files.

    For an estimator: a folder with `step.onnx`, `series.onnx`, for a forecaster also `forecast.onnx`, `runner.py`,
    `model.json` and `vectors.json`. For a bare layer (`lt.CfC`, `lt.LTC`, any `lt.Recurrent`): one file.

    Args:
        model: a fitted estimator, its folder, or a recurrent layer.
        path: the folder, or for a layer the file, to write.
        data: series for the test vectors; None for made-up series.
        target: targets of `data` as for `fit`, used to measure the effect of exporting only a part.
        part: for a stack: "networks" for only the networks, since its other parts read whole series.
        memory: for a forecaster: how many of the newest values of each channel are stored; None for as many as needed
            by `data`, or by series as dense as usual in training.

    Raises:
        ValueError: the model cannot be exported; the message says why.
        CheckFailed: the ONNX files differ from the model; nothing was written.
        ImportError: onnx or onnxruntime is not installed.

    """
    try:
        from liquidtime.export import onnx_runner
        from liquidtime.export.onnx_layer import layer_model
        from liquidtime.export.onnx_models import forecast_model, series_model, step_model
    except ModuleNotFoundError as error:
        text = f"exporting to ONNX needs the package {error.name!r}: pip install 'liquidtime[export]'"
        raise ImportError(text) from error

    if isinstance(model, Recurrent):
        layer = copy.deepcopy(model).cpu().float().eval()
        return _layer(layer, Path(path), layer_model(layer).SerializeToString())
    model = loaded(model)
    step = step_of(model, part, memory=memory, data=data)
    facts = {"part": change_in_words(model, data, target)} if is_stack(model) and part == ALONE else {}
    vectors = vectors_of(step, data)
    described = manifest(step, "onnx", real_vectors=data is not None) | {"facts": facts}
    metadata = {"manifest": json_to_bytes(described).decode()}
    files = {
        "step.onnx": step_model(step, metadata).SerializeToString(),
        "series.onnx": series_model(step, metadata).SerializeToString(),
        **(
            {"forecast.onnx": forecast_model(step, metadata).SerializeToString()}
            if isinstance(step, ForecastStep)
            else {}
        ),
        "runner.py": Path(onnx_runner.__file__).read_bytes(),
        "vectors.json": json_to_bytes([vector.to_dict() for vector in vectors]),
        NAME: json_to_bytes(described, indent=1),
    }
    with scratch_folder(files) as folder:
        difference, microseconds = _checked(folder, vectors)
    return write_exported(Path(path), files, difference, microseconds, facts)


def _checked(folder: Path, vectors: list[Vector]) -> tuple[float, float]:
    """Return the largest differences after every sample and for whole series, and the microseconds per sample."""
    from liquidtime.export import onnx_runner

    runner, plain, largest = onnx_runner.Model(folder), [vector.to_dict() for vector in vectors], 0.0
    for vector in plain:
        largest = max(largest, *onnx_runner.differences(runner, vector), onnx_runner.whole_difference(runner, vector))
    check(largest, "the ONNX model")
    spent = []
    for vector in 3 * plain:
        before = time.process_time()
        onnx_runner.differences(runner, vector)
        spent.append((time.process_time() - before) / len(vector["times"]))
    return largest, 1e6 * min(spent)


def _layer(layer: Recurrent, path: Path, content: bytes) -> Exported:
    """Check the model of a layer on random sequences, and write it."""
    import onnxruntime

    if path.is_dir():
        raise IsADirectoryError(f"`path` of a layer must be a file such as 'rnn.onnx'; {path} is a folder")
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    B, T = 3, 11
    generator = torch.Generator().manual_seed(0)
    feed = {
        argument.name: torch.zeros([{"B": B, "T": T}.get(size, size) for size in argument.shape])
        for argument in session.get_inputs()
    }
    feed["x"] = torch.randn(feed["x"].shape, generator=generator)
    feed["dt"] = torch.rand(feed["dt"].shape, generator=generator)
    starts = [name for name in feed if name.startswith("h0")]
    for name in starts:
        feed[name] = 0.1 * torch.randn(feed[name].shape, generator=generator)
    h0 = feed["h0"] if len(starts) == 1 else tuple(feed[name] for name in starts)
    with torch.inference_mode():
        y, h = layer(feed["x"], h0, dt=feed["dt"])
    before = time.perf_counter()
    results = session.run(None, {name: tensor.numpy() for name, tensor in feed.items()})
    spent = (time.perf_counter() - before) / T
    wanted = [y, *((h,) if isinstance(h, torch.Tensor) else h)]
    largest = max(float(np.abs(one.numpy() - other).max()) for one, other in zip(wanted, results, strict=True))
    scale = max(1.0, max(float(part.abs().max()) for part in wanted))
    if not largest <= BOUND * scale:
        raise CheckFailed(f"the ONNX layer differs from the layer by {largest:.2g}; nothing was written")
    write_file(path.absolute(), content)
    return Exported(path, {path.name: len(content)}, largest, 1e6 * spent)
