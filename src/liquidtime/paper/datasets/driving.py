"""Lane keeping in a driving simulator: the steering of a human driver from images with their true times."""

from __future__ import annotations

import io
import itertools
from pathlib import Path

import numpy as np
import polars as pl
import torch

from liquidtime._checks import check_choice, check_size
from liquidtime.paper.datasets.files import locate
from liquidtime.paper.datasets.prepare.driving import ORIGIN
from liquidtime.paper.datasets.sequences import Sequences, Split, check_protocol

VALIDATION_RUN, TEST_RUN = 5, 7
SIZES = ((72, 128), (48, 160))
ROAD = (25, 73)
"""First row with road and first row below it, of the 80 rows of a frame."""


def driving(
    data_dir: str | Path | None = None,
    *,
    protocol: str = "honest",
    seed: int = 0,
    size: tuple[int, int] = SIZES[0],
    window: int = 32,
    every: int = 1,
) -> Split:
    """Return drives, cut into consecutive windows with the steering at every frame.

    The paper's recordings are private; this stand-in has one split by run, so both protocols have the same parts:
    validation run 5, test run 7, the other runs training. dt is in seconds.

    Args:
        data_dir: folder with `driving_udacity_sim/`; see `locate`.
        protocol: "honest" or "published".
        seed: random seed for the first window of each training run; validation and test start at their first frame.
        size: (72, 128) for the whole frame, scaled; (48, 160) for the rows with road.
        window: T; the last window of a run may be shorter.
        every: use one out of this many frames.

    Returns:
        x (N, T, 3, h, w) uint8, y (N, T, 1) float32 steering in -1…1, positive to the right; ids are the runs' numbers.

    Raises:
        DataNotFound: the files cannot be found or downloaded.
        ImportError: Pillow is not installed.

    """
    check_protocol(protocol)
    check_size("window", window)
    check_size("every", every)
    path = locate(ORIGIN, data_dir) / "frames.parquet"
    runs = pl.scan_parquet(path).select("run").unique().collect()["run"].sort().to_list()
    for needed in (VALIDATION_RUN, TEST_RUN):
        if needed not in runs:
            raise ValueError(f"{path} must have run {needed}; it has {runs}")
    rng = np.random.default_rng(seed)
    training = [run for run in runs if run not in (VALIDATION_RUN, TEST_RUN)]
    starts = {run: int(rng.integers(window)) for run in training}
    parts = (training, [VALIDATION_RUN], [TEST_RUN])
    return Split(
        *(_cut([(read_run(path, run, size, every), starts.get(run, 0)) for run in part], window) for part in parts)
    )


def read_run(path: Path, number: int, size: tuple[int, int] = SIZES[0], every: int = 1) -> Sequences:
    """Return one run from a file of frames as one sequence; shapes and options as in `driving`, with N = 1."""
    check_choice("size", tuple(size), SIZES)
    table = pl.scan_parquet(path).filter(pl.col("run") == number).select("time_ms", "steering", "jpeg").collect()
    if not len(table):
        raise ValueError(f"`number` must be a run of {path}; it has no frame of run {number}")
    table = table.gather_every(every)
    frames = np.stack([_decode(jpeg, size) for jpeg in table["jpeg"]])
    T = len(frames)
    seconds = np.diff(table["time_ms"].to_numpy(), prepend=0) / 1000
    return Sequences(
        torch.from_numpy(np.ascontiguousarray(frames.transpose(0, 3, 1, 2))).unsqueeze(0),
        torch.from_numpy(seconds.astype(np.float32)).unsqueeze(0),
        torch.tensor([T]),
        torch.from_numpy(table["steering"].to_numpy().astype(np.float32)).reshape(1, T, 1),
        torch.tensor([number]),
    )


def _decode(jpeg: bytes, size: tuple[int, int]) -> np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]:
    """Return a frame as (h, w, 3) uint8."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("frames are JPEG and need Pillow: pip install 'liquidtime[paper]'") from error
    image = Image.open(io.BytesIO(jpeg)).convert("RGB")
    h, w = size
    if size == SIZES[1]:
        image = image.crop((0, ROAD[0], w, ROAD[1]))
    else:
        image = image.resize((w, h), Image.Resampling.BILINEAR)
    return np.asarray(image)


def _cut(runs: list[tuple[Sequences, int]], window: int) -> Sequences:
    """Cut runs into windows; the frames before the start of a run form its first, shorter window."""
    pieces = [(run, low, high) for run, start in runs for low, high in _bounds(int(run.lengths[0]), start, window)]
    N, first = len(pieces), runs[0][0]
    x = first.x.new_zeros(N, window, *first.x.shape[2:])
    dt, y = first.dt.new_zeros(N, window), first.y.new_zeros(N, window, 1)
    for row, (run, low, high) in enumerate(pieces):
        x[row, : high - low], dt[row, : high - low] = run.x[0, low:high], run.dt[0, low:high]
        y[row, : high - low] = run.y[0, low:high]
    lengths = torch.tensor([high - low for _, low, high in pieces])
    return Sequences(x, dt, lengths, y, torch.cat([run.ids for run, _, _ in pieces]))


def _bounds(T: int, start: int, window: int) -> list[tuple[int, int]]:
    edges = sorted({0, *range(start, T, window), T})
    return list(itertools.pairwise(edges))
