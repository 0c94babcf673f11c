"""Does a service keep its memory flat over many samples of many series, and are its predictions right at the end?

python -m benchmarks.serving_soak MODEL --samples 200000 --series 10000
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.service.load import Client, Running, drawn, in_threads, numeric, running

COMPARED = 20


def soak(
    model: Path, samples: int, series: int, clients: int, state: str | None = None, workers: int = 1
) -> dict[str, Any]:
    """Send samples, one in each request, in turn to every series, and return what was seen.

    Args:
        model: folder of the model.
        samples: in all.
        series: among which they are spread.
        clients: that send at once.
        state: where it is kept; a file in a temporary folder if None.
        workers: processes.

    Returns:
        Memory of the service in MB after each twentieth of the samples, its growth since a quarter of them, requests
        per second, and the largest difference between live series and the same series predicted whole.

    """
    with (
        tempfile.TemporaryDirectory() as folder,
        running(model, state or str(Path(folder) / "state.sqlite"), "--workers", str(workers)) as service,
    ):
        names, began, memory = numeric(service), time.perf_counter(), []
        part, done = max(1, samples // 20), 0
        while done < samples:
            first, last = done, min(samples, done + part)
            in_threads(clients, partial(_send, service, names, series, clients, first, last))
            done = last
            memory.append(round(service.resident() / 1e6, 1))
            print(f"{done:>9,} samples, {memory[-1]:7.1f} MB, load {os.getloadavg()[0]:.1f}", flush=True)
        spent = time.perf_counter() - began
        difference = max(_difference(service, names, samples, series, id) for id in _chosen(series))
        quarter = memory[len(memory) // 4]
        return {
            "samples": samples, "series": series, "clients": clients, "workers": workers,
            "megabytes": memory, "growth_since_a_quarter": round(memory[-1] - quarter, 1),
            "requests_per_second": round(samples / spent, 1), "seconds_of_processor": round(service.seconds(), 1),
            "kept": service.ask("GET", "/health")["series"], "largest_difference": difference,
            "load": os.getloadavg()[0],
        }  # fmt: skip


def _sample(names: list[str], series: int, k: int) -> dict[str, Any]:
    """Return the k-th sample: of series k modulo their number, at the time of its round."""
    return {"time": float(k // series), "values": drawn(names, random.Random(k))}


def _send(service: Running, names: list[str], series: int, clients: int, first: int, last: int, number: int) -> None:
    with Client(service.port) as client:
        for k in range(first, last):
            if k % series % clients == number:
                client.ask("POST", f"/series/s{k % series}/samples", {"samples": [_sample(names, series, k)]})


def _chosen(series: int) -> list[int]:
    return sorted({round(k * (series - 1) / (COMPARED - 1)) for k in range(COMPARED)})


def _difference(service: Running, names: list[str], samples: int, series: int, id: int) -> float:
    """Return how far a live series is from the same series predicted whole."""
    whole = [_sample(names, series, k) for k in range(id, samples, series)]
    live = service.ask("GET", f"/series/s{id}")["prediction"]
    predicted = service.ask("POST", "/predict", {"series": [{"samples": whole}]})["predictions"][0]["prediction"]
    given, wanted = (list((each.get("probabilities") or {}).values()) or each["values"] for each in (live, predicted))
    return float(max(abs(one - other) for one, other in zip(given, wanted, strict=True)))


def main() -> None:
    """Run a soak and print its figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="model folder, or folder of `export --to onnx`")
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument("--series", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--state", help="where state is kept; a temporary file if left out")
    parser.add_argument("--out", type=Path, help="file for the figures")
    options = parser.parse_args()
    figures = soak(options.model, options.samples, options.series, options.clients, options.state, options.workers)
    text = json.dumps(figures, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
