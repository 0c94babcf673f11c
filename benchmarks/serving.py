"""How many requests per second and core does a service answer, and how soon, beside a plain loop of `model.update`?

python -m benchmarks.serving MODEL --seconds 10
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.service.load import Client, Running, drawn, in_threads, numeric, running

SERIES = 200


def measured(model: Path, seconds: float, clients: int, state: str | None = None) -> dict[str, Any]:
    """Send single samples to a service of one process for some seconds.

    Args:
        model: folder of the model.
        seconds: for which it is measured, after as many series were started as are used.
        clients: that send at once, each on a connection of its own.
        state: where it is kept; a file in a temporary folder if None.

    Returns:
        Requests per second, processor time of the service per request, requests per second of that time (what a core
        that does nothing else answers), and quantiles of the time to an answer in milliseconds.

    """
    with (
        tempfile.TemporaryDirectory() as folder,
        running(model, state or str(Path(folder) / "state.sqlite")) as service,
    ):
        names = numeric(service)
        in_threads(clients, partial(_send, service, names, clients, 0.0, []))
        spent, began, taken = service.seconds(), time.perf_counter(), list[float]()
        in_threads(clients, partial(_send, service, names, clients, seconds, taken))
        spent, wall = service.seconds() - spent, time.perf_counter() - began
    quantiles = statistics.quantiles(taken, n=100)
    return {
        "clients": clients,
        "requests": len(taken),
        "requests_per_second": round(len(taken) / wall, 1),
        "processor_ms_per_request": round(1e3 * spent / len(taken), 3),
        "requests_per_second_and_core": round(len(taken) / spent, 1),
        "p50_ms": round(1e3 * quantiles[49], 2),
        "p99_ms": round(1e3 * quantiles[98], 2),
    }


def plain_loop(model: Path, seconds: float) -> dict[str, Any]:
    """Call `model.update` with such samples for some seconds of processor time, without HTTP and without a store."""
    import torch

    import liquidtime

    torch.set_num_threads(1)
    fitted: Any = liquidtime.load(model)
    encoder = fitted.encoder_
    names = [name for name in encoder.channels_ if name not in encoder.categories_]
    rng, count, wall = random.Random(0), 0, time.perf_counter()
    began = time.process_time()
    while time.process_time() - began < seconds:
        fitted.update(f"s{count % SERIES}", float(count // SERIES), drawn(names, rng))
        count += 1
    spent = time.process_time() - began
    return {
        "updates_per_second": round(count / (time.perf_counter() - wall), 1),
        "processor_ms_per_update": round(1e3 * spent / count, 3),
        "updates_per_second_and_core": round(count / spent, 1),
    }


def _send(service: Running, names: list[str], clients: int, seconds: float, taken: list[float], number: int) -> None:
    """Send samples to a client's own series; once to each, or for some seconds."""
    rng, ids = random.Random(number), range(number, SERIES, clients)
    start, t = time.perf_counter(), 0.0 if seconds == 0.0 else 1.0
    with Client(service.port) as client:
        while True:
            for id in ids:
                body = {"samples": [{"time": t, "values": drawn(names, rng)}]}
                before = time.perf_counter()
                client.ask("POST", f"/series/s{id}/samples", body)
                if seconds:
                    taken.append(time.perf_counter() - before)
                    if taken[-1] + before - start > seconds:
                        return
            t += 1.0
            if not seconds:
                return


def main() -> None:
    """Measure and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="model folder")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each figure")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--state", help="where state is kept; a temporary file if left out")
    parser.add_argument("--out", type=Path, help="file for the figures")
    options = parser.parse_args()
    figures: dict[str, Any] = {
        "load_before": os.getloadavg()[0],
        "plain_loop": plain_loop(options.model, options.seconds),
    }
    for clients in options.clients:
        figures[f"clients_{clients}"] = measured(options.model, options.seconds, clients, options.state)
    figures["plain_loop_again"] = plain_loop(options.model, options.seconds)
    figures["load_after"] = os.getloadavg()[0]
    text = json.dumps(figures, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
