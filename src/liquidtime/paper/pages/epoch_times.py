"""The table of training times per epoch, from the file that `benchmarks/epoch_time.py` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from liquidtime.paper.pages.markdown import cells, head

FILE = "epoch_time.json"
BESIDE = {"CfC": "cfc", "LSTM": "lstm"}
"""Reference rows for relative times, by column title."""


def read(out: str | Path) -> dict[str, Any]:
    """Return the records by experiment; none if there is no file."""
    path = Path(out) / FILE
    if not path.exists():
        return {}
    records: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return records


def table(record: dict[str, Any]) -> str:
    """Return the record of one experiment as a table, fastest first."""
    models = record["models"]
    threads = record["threads"]
    text = [
        f"Time per training epoch of {record['sequences']:,} sequences, each model with its own settings. All were "
        f"timed in one run on {threads} thread{'s' if threads > 1 else ''}, and extrapolated from the best of several "
        f"rounds over {record['timed']} sequences.",
        "",
        *head("model", "H", "weights", "seconds per epoch", *(f"relative to {name}" for name in BESIDE)),
    ]
    for name in sorted(models, key=lambda name: float(models[name]["seconds_per_epoch"])):
        model = models[name]
        seconds = model["seconds_per_epoch"]
        against = [seconds / models[row]["seconds_per_epoch"] if row in models else None for row in BESIDE.values()]
        ratios = ["–" if ratio is None else f"{ratio:.2f}" for ratio in against]
        size, weights = str(model["hidden_size"] or "–"), f"{model['weights']:,}"
        text.append(cells(model["title"], size, weights, f"{seconds:.2f}", *ratios))
    return "\n".join(text) + "\n"
