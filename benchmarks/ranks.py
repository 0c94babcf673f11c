"""How much faster would many ranks train: a step of each share of a batch measured here, the network worked out.

    python -m benchmarks.ranks [--batch 512] [--hidden 32 128] [--steps 8] [--out results/bench/ranks.json]

One rank of 1, 8, 64 and 512 takes its steps in this process, alone: its rows of each batch, and all that every rank
repeats (drawing the masks of the whole batch, the optimiser). Processor seconds of one thread are measured. To them
comes the time that the sum of the gradients would take in a ring, 2 (W - 1) / W of their bytes through the slowest link
and 2 log2(W) messages, for links of 1, 10 and 100 Gbit/s and 50 us per message: that is arithmetic, not a measurement.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import liquidtime as lt
from liquidtime.files.whole_files import write_file
from liquidtime.training.ranks import Ranks, joined

WORLDS = (1, 8, 64, 512)
LINKS = (1, 10, 100)
"""Gbit/s."""
LATENCY = 50e-6
"""Seconds per message between two machines over Ethernet, assumed."""
SAMPLES, CHANNELS = 75, 37
"""Of each series, as in PhysioNet 2012."""


def series(S: int, seed: int = 0) -> list[tuple[Any, Any]]:
    """Return S made-up series of the shape of PhysioNet's."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(SAMPLES - 25, SAMPLES + 26, S)
    listed = []
    for length in lengths:
        values = rng.normal(size=(length, CHANNELS))
        values[rng.random(values.shape) < 0.8] = np.nan
        listed.append((np.sort(rng.uniform(0, 48, length)), values))
    return listed


def step_seconds(data: Any, labels: Any, world: int, batch: int, hidden: int, steps: int) -> tuple[float, int]:
    """Return processor seconds of a step of rank 0, and how many weights there are.

    Args:
        data: the training series, two batches of them.
        labels: their classes.
        world: how many ranks there would be.
        batch: rows of a whole batch.
        hidden: units of the layer.
        steps: that are measured, after as many that are not.
    """

    def seconds(epochs: int) -> tuple[float, int]:
        model = lt.CfCClassifier(
            hidden_size=hidden, epochs=epochs, learning_rate=1e-3, batch_size=batch, n_estimators=1, n_jobs=None,
            random_state=0,
        )  # fmt: skip
        began = time.process_time()
        with joined(Ranks(0, world)):
            model.fit(data, labels)
        (network,) = model.networks_
        return time.process_time() - began, sum(weights.numel() for weights in network.parameters())

    epochs = max(1, steps // 2)
    (short, weights), (long, _) = seconds(epochs), seconds(2 * epochs)
    return (long - short) / (2 * epochs), weights


def wire_seconds(weights: int, world: int, gigabits: float) -> float:
    """Return the seconds that summing the gradients of so many weights over a ring of machines takes."""
    if world == 1:
        return 0.0
    return bytes_on_the_wire(weights, world) * 8 / (gigabits * 1e9) + 2 * math.log2(world) * LATENCY


def bytes_on_the_wire(weights: int, world: int) -> float:
    """Return the bytes that each rank sends in a step."""
    return 2 * (world - 1) / world * 4 * weights


def measure(batch: int, hidden: list[int], steps: int) -> list[dict[str, Any]]:
    """Return one row per size and number of ranks."""
    torch.set_num_threads(1)
    data, rows = series(2 * batch), []
    labels = np.arange(2 * batch) % 2
    step_seconds(data[:64], labels[:64], 1, 32, 8, 2)  # the first costs what is done once
    for units in hidden:
        alone = 0.0
        for world in WORLDS:
            seconds, weights = step_seconds(data, labels, world, batch, units, steps)
            alone = alone or seconds
            sent = bytes_on_the_wire(weights, world)
            speed_up = {f"{link} Gbit/s": alone / (seconds + wire_seconds(weights, world, link)) for link in LINKS}
            rows.append(
                {
                    "hidden": units, "batch": batch, "ranks": world, "weights": weights, "step_ms": 1e3 * seconds,
                    "sent_mb": sent / 1e6, "speed_up": speed_up,
                }
            )  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--hidden", type=int, nargs="+", default=[32, 128])
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = measure(options.batch, options.hidden, options.steps)
    heads = " | ".join(f"{link} Gbit/s" for link in LINKS)
    print(f"| units | ranks | rows per rank | step, ms | MB sent per rank and step | {heads} |")
    print("|---" * (5 + len(LINKS)) + "|")
    for row in rows:
        ups = " | ".join(f"{value:.1f}" for value in row["speed_up"].values())
        print(
            f"| {row['hidden']} | {row['ranks']} | {math.ceil(row['batch'] / row['ranks'])} | {row['step_ms']:.1f} | "
            f"{row['sent_mb']:.2f} | {ups} |"
        )
    if options.out is not None:
        write_file(options.out.absolute(), json.dumps({"rows": rows}, indent=1).encode())


if __name__ == "__main__":
    main()
