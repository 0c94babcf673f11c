"""The table and the figure of the gradient claim, from the result files."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

from liquidtime.paper.experiments.gradients import DELAYS, GRADIENTS, VARIANTS
from liquidtime.paper.models.gradients import INTERVALS, LENGTHS
from liquidtime.paper.pages.markdown import cells, head
from liquidtime.paper.runner import read_results

LEGEND = """\
Effect of a change of the initial state after T samples: ‖∂s_T/∂s_0‖ / √|s| (Frobenius norm, s the whole state, 32
units); 1 if nothing is lost, and 0 below the smallest float32; at dt = 1, geometric mean over the seeds. *Before*:
initial weights. *After*: trained to recall the sign of the first sample after the longest of the network's delays.
*Recall*: mean accuracy on 1,000 test sequences per delay, where chance is 50 %. All networks have the same budget: 12
epochs of 3,600 sequences at one learning rate, without a search."""


def gradient_rows(out: Path) -> list[dict[str, Any]]:
    """Return one entry per network with its norms and accuracies by delay; empty if nothing was run."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for record in read_results(out, GRADIENTS.name):
        key = record["key"]
        if key["epochs"] is None and key["limit"] is None:
            runs.setdefault(key["model"], []).append(record["figures"])
    rows = []
    for name in VARIANTS:
        ran = [delay for delay in DELAYS if f"{name}_{delay}" in runs]
        if not ran:
            continue
        longest = runs[f"{name}_{ran[-1]}"]
        rows.append(
            {
                "model": name,
                "title": GRADIENTS.rows[f"{name}_{ran[-1]}"].model.title,
                "seeds": len(longest),
                "before": _means([figures["jacobian_before"] for figures in longest]),
                "after": _means([figures["jacobian_after"] for figures in longest]),
                "accuracy": {
                    str(delay): fmean(figures["test"]["value"] for figures in runs[f"{name}_{delay}"]) for delay in ran
                },
            }
        )
    return rows


def _means(tables: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Return the geometric means over seeds, by interval and length; 0 if any norm is 0."""
    return {
        interval: {length: _geometric([table[interval][length] for table in tables]) for length in tables[0][interval]}
        for interval in tables[0]
    }


def _geometric(values: list[float]) -> float:
    product = 1.0
    for value in values:
        product *= value ** (1.0 / len(values))
    return product


def gradient_markdown(out: Path) -> str:
    """Return the table; empty if nothing was run."""
    rows = gradient_rows(out)
    if not rows:
        return ""
    lengths = [str(length) for length in LENGTHS]
    titles = [f"{when}, T = {length}" for when in ("before", "after") for length in lengths]
    lines = head("network", "n", *titles, *(f"recall after {delay}" for delay in DELAYS))
    for row in rows:
        norms = [f"{row[when]['1'][length]:.1e}" for when in ("before", "after") for length in lengths]
        scores = [f"{100 * row['accuracy'][str(d)]:.1f}" if str(d) in row["accuracy"] else "–" for d in DELAYS]
        lines.append(cells(row["title"], str(row["seeds"]), *norms, *scores))
    picture = out / "figures" / "gradients.png"
    drawn = ["", "![norms over T for three intervals](results/figures/gradients.png)"] if picture.exists() else []
    return "\n".join([*lines, "", LEGEND, *drawn]) + "\n"


def draw_gradients(axes: Any, rows: list[dict[str, Any]]) -> None:
    """Draw the norms over T on 2 × 3 axes: before and after training, one column per interval."""
    for line, when in enumerate(("before", "after")):
        for column, interval in enumerate(INTERVALS):
            axis = axes[line][column]
            for row in rows:
                norms = row[when][f"{interval:g}"]
                shown = [max(norms[str(length)], 1e-40) for length in LENGTHS]
                axis.plot(LENGTHS, shown, marker="o", markersize=3, label=row["title"])
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.set_ylim(1e-20, 1e6)
            axis.axhline(1.0, color="0.6", linewidth=0.8)
            axis.set_title(f"{when} training, dt = {interval:g}", fontsize=10)
    for axis in axes[-1]:
        axis.set_xlabel("samples T")
    for line in axes:
        line[0].set_ylabel("‖∂s_T/∂s_0‖ / √|s|")
    axes[0][2].legend(fontsize=7, loc="lower right")
