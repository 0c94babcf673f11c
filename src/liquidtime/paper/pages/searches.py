"""The table of searches for settings: validation metrics of the trials of each model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.pages.markdown import cells, head
from liquidtime.paper.runner.search import best, read_trials
from liquidtime.training import METRICS

LEGEND = """\
Metric on the validation part; trials never see the test part. *Own settings*: the first trial, with the settings of the
model's row in the table of its experiment; if trials are short, its figure differs from that row's. All models of an
experiment have the same number of trials, with the same epochs and sequences. If fewer trials are counted than
declared, the search was not finished; if a model is missing, it was not started."""


def search_rows(out: Path) -> list[dict[str, Any]]:
    """Return one entry per model that has trials, in the order of the experiments."""
    rows = []
    for experiment in EXPERIMENTS.values():
        for name in experiment.search.rows if experiment.search is not None else ():
            records = read_trials(out, experiment, name)
            if not records:
                continue
            own, chosen = records[0], best(experiment, records)
            rows.append(
                {
                    "experiment": experiment.name,
                    "metric": experiment.task.metric,
                    "model": name,
                    "title": experiment.rows[name].title,
                    "trials": len(records),
                    "declared": experiment.search.trials if experiment.search is not None else 0,
                    "own": own["validation"],
                    "best": chosen["validation"],
                    "number": chosen["trial"],
                    "other": {
                        field: value
                        for field, value in chosen["settings"].items()
                        if own["settings"].get(field) != value and field != "epochs"
                    },
                }
            )
    return rows


def search_markdown(out: Path) -> str:
    """Return the table; empty if no trial was run."""
    rows = search_rows(out)
    if not rows:
        return ""
    lines = head("experiment", "model", "metric", "trials", "own settings", "best trial", "its changes")
    for row in rows:
        better = "" if METRICS[row["metric"]].higher_is_better else " ↓"
        trials = str(row["trials"]) if row["trials"] == row["declared"] else f"{row['trials']} of {row['declared']}"
        other = ", ".join(_said(field, value) for field, value in row["other"].items())
        own = "diverged" if row["own"] is None else f"{row['own']:.4g}"
        lines.append(
            cells(
                row["experiment"], row["title"], row["metric"] + better, trials, own, f"{row['best']:.4g}",
                other or "none: its own settings are the best",
            )
        )  # fmt: skip
    return "\n".join([*lines, "", LEGEND]) + "\n"


def _said(field: str, value: Any) -> str:
    return f"{field} {value:g}" if isinstance(value, float) else f"{field} {value}"
