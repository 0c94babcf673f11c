"""The tables of lane keeping and of the closed form's tightness, from the result files."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from liquidtime.paper.experiments.lane_keeping import JOINTLY, LANE_KEEPING
from liquidtime.paper.experiments.published import LANE_WEIGHTS
from liquidtime.paper.experiments.tightness import PAPER_MSE, TIGHTNESS
from liquidtime.paper.models.lane.corruption import CORRUPTIONS
from liquidtime.paper.pages.markdown import cells, head
from liquidtime.paper.runner import read_results

SCALE = 1000.0
"""Steering errors are printed in thousandths."""
HEADS = {"noise": "noise 0.35", "mild_noise": "mild noise", "brighter": "+0.3", "darker": "−0.3", "blur": "blur"}
LANE_LEGEND = """\
Mean squared error, in thousandths, of steering in −1…1 over the whole of run 7; mean ± standard deviation over n seeds.
Predicting the mean steering of the training part has an error of {mean:.2f}. Interval: bootstrap over windows of 64
images. *noise 0.35*: noise of variance 0.35 added to pixels in 0…1, as in the paper's figure; *mild noise*: variance
0.35 after each image was scaled to variance 1; *+0.3*, *−0.3*: brighter or darker, clipped at 0 and 1; *blur*: by 1.5
pixels. All of these change the images that the head reads. *change*: Σ|Δ command| per second, {human:.3f} for the
human driver; *with noise*: the same at noise 0.35. *attention*: correlation of the VisualBackprop maps with and without
noise 0.35 (mild noise in brackets), for rows whose head was trained too. The maps of a frozen head are the same for all
rows, and remain similar after a short training from the same head."""
TIGHT_LEGEND = """\
One trained NCP with 19 neurons and 253 synapses on run 7, with the same parameters in all rows, in float64. Mean
squared error relative to a fine solution of its equation (RK4, 16 steps per sample) and, in brackets, relative to the
solver that it was trained with. *motor*: the output neuron, for which the paper has {paper}. *steering*: error of the
command, clipped to −1…1, relative to the human driver, in thousandths. *speed*: of one run over all samples in the
plain loop, relative to the solver that it was trained with, timed in alternation; the distance of the first row from 1
is the noise of this measurement."""


def lane_rows(out: Path) -> list[dict[str, Any]]:
    """Return one entry per row of the lane-keeping table, in order; empty if nothing was run."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for record in read_results(out, LANE_KEEPING.name):
        if record["key"]["epochs"] is None and record["key"]["limit"] is None:
            groups.setdefault(record["key"]["model"], []).append(record)
    rows = []
    for name, row in LANE_KEEPING.rows.items():
        records = groups.get(name, [])
        if not records:
            continue
        figures = [record["figures"] for record in records]
        attention = [figure["attention_kept"] for figure in figures if "attention_kept" in figure]
        paper = next((line for line in LANE_WEIGHTS if line.model in row.model.paper), None)
        rows.append(
            {
                "model": name,
                "title": row.title,
                "paper": paper,
                "frozen": figures[0]["frozen"],
                "weights": records[0]["weights"],
                "recurrent": None if paper is None or paper.recurrent is None else figures[0]["weights"]["recurrent"],
                "n": len(records),
                "mse": [figure["test"]["value"] for figure in figures],
                "low": fmean(figure["test"]["low"] for figure in figures),
                "high": fmean(figure["test"]["high"] for figure in figures),
                "mse_under": {name: [figure["mse_under"][name] for figure in figures] for name in CORRUPTIONS},
                "change": fmean(figure["variation"] for figure in figures),
                "change_in_noise": fmean(figure["variation_under"]["noise"] for figure in figures),
                "change_human": figures[0]["variation_human"],
                "mse_of_mean": figures[0]["mse_of_mean"],
                "attention": {name: fmean(each[name] for each in attention) for name in attention[0]}
                if attention
                else None,
            }
        )
    return rows


def lane_markdown(out: Path) -> str:
    """Return the lane-keeping table; empty if nothing was run."""
    rows = lane_rows(out)
    if not rows:
        return ""
    names = ["model", "weights (paper)", "after the head (paper)", "n", "error", "interval"]
    names += [*(HEADS[name] for name in CORRUPTIONS), "change", "with noise", "attention"]
    lines = head(*names)
    for row in rows:
        paper, kept = row["paper"], row["attention"]
        lines.append(
            cells(
                row["title"],
                f"{row['weights']:,} ({paper.total:,})",
                "–" if row["recurrent"] is None else f"{row['recurrent']:,} ({paper.recurrent:,})",
                str(row["n"]),
                _spread(row["mse"]) + _failed(row["mse"], row["mse_of_mean"]),
                f"{SCALE * row['low']:.2f}…{SCALE * row['high']:.2f}",
                *(_spread(row["mse_under"][name]) for name in CORRUPTIONS),
                f"{row['change']:.3f}",
                f"{row['change_in_noise']:.3f}",
                "–" if kept is None else f"{kept['noise']:.2f} ({kept['mild_noise']:.2f})",
            )
        )
    legend = LANE_LEGEND.format(mean=SCALE * rows[0]["mse_of_mean"], human=rows[0]["change_human"])
    joint = f'Rows without "{JOINTLY}" share one head, trained on single images with a linear read-out, then frozen.'
    return (
        "\n".join([*lines, "", legend, "", joint, *_picture(out, "attention", "attention maps of the networks")]) + "\n"
    )


def tightness_rows(out: Path) -> list[dict[str, Any]]:
    """Return one entry per row of the tightness table, in order; empty if nothing was run."""
    records = {record["key"]["model"]: record for record in read_results(out, TIGHTNESS.name) if _is_full(record)}
    return [
        {
            "model": name,
            "title": row.title,
            "note": row.note,
            "variance": fmean(records[name]["figures"]["variance_per_neuron"]),
            "variance_motor": records[name]["figures"]["variance_per_neuron"][0],
            "steering": records[name]["figures"]["test"]["value"],
            **{key: records[name]["figures"][key] for key in ("against_fine", "against_own", "speed")},
        }
        for name, row in TIGHTNESS.rows.items()
        if name in records
    ]


def tightness_markdown(out: Path) -> str:
    """Return the tightness table; empty if nothing was run."""
    rows = tightness_rows(out)
    if not rows:
        return ""
    names = ["method", "remarks", "motor", "all neurons", "first two samples", "steering", "speed"]
    lines = head(*names)
    for row in rows:
        fine, own = row["against_fine"], row["against_own"]
        lines.append(
            cells(
                row["title"],
                row["note"],
                *(f"{_error(fine, key)} ({_error(own, key)})" for key in ("mse_motor", "mse", "mse_first")),
                f"{SCALE * row['steering']:.2f}",
                f"{row['speed']['speedup']:.2f}",
            )
        )
    first = rows[0]
    sizes = (
        f"For comparison, the variance over the run is {first['variance']:.2g} for all potentials and "
        f"{first['variance_motor']:.2g} for that of the motor neuron."
    )
    legend = TIGHT_LEGEND.format(paper=PAPER_MSE)
    kernel = first["speed"].get("seconds_own_kernel")
    if kernel is not None:
        times = first["speed"]["seconds_own"] / kernel
        legend += f" The compiled kernel runs that solver {times:.0f} times faster than the plain loop."
    return "\n".join([*lines, "", legend, "", sizes, *_picture(out, "tightness", "traces of the neurons")]) + "\n"


def _error(errors: dict[str, Any], key: str) -> str:
    if errors[key] is None:
        return f"overflows at sample {errors['overflow']}" if errors["overflow"] is not None else "overflows"
    return f"{errors[key]:.1e}"


def _is_full(record: dict[str, Any]) -> bool:
    key = record["key"]
    return key["epochs"] is None and key["limit"] is None and key["seed"] == 0


def _spread(values: list[float]) -> str:
    mean = f"{SCALE * fmean(values):.2f}"
    return f"{mean} ± {SCALE * stdev(values):.2f}" if len(values) > 1 else mean


def _failed(values: list[float], useless: float) -> str:
    """Return a remark on seeds with a larger error than the mean steering, with the median of all; empty for none."""
    failed = sum(value > useless for value in values)
    return f" (median {SCALE * median(values):.2f}; {failed} of {len(values)} worse than the mean)" if failed else ""


def _picture(out: Path, name: str, text: str) -> list[str]:
    file = out / "figures" / f"{name}.png"
    return ["", f"![{text}](results/figures/{file.name})"] if file.exists() else []
