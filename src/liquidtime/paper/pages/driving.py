"""The table of driving in closed loop, from the result files."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.paper.experiments.driving import DRIVING
from liquidtime.paper.models.driving.judging import CONDITIONS, LEVEL, RESAMPLES
from liquidtime.paper.pages.markdown import cells, head
from liquidtime.paper.runner import read_results

HEADS = {
    "clean": "clean",
    "noise": "noise 0.35",
    "brighter": "+0.3",
    "blur": "blur",
    "dropped": "half the frames",
}
LEGEND = """\
Interventions per kilometre on {tracks} test tracks that no network was trained on, over the first {metres:.0f} m of
each, at {speed:.0f} m/s; a car that leaves the road is put back on the centre line. Mean over n seeds and, in brackets,
the 95 % interval over tracks and seeds; with one seed, it does not include the variation between trainings. If there
was no intervention at all, the upper end is exact for interventions that are independent of each other.
*noise 0.35*: noise of variance 0.35 added to pixels in 0…1; *+0.3*: brighter, clipped at 1; *blur*: by 1.5 pixels;
*half the frames*: each frame is lost with probability 1/2, so intervals are longer. *between*: metres driven per
intervention, over all conditions. *off centre*: mean distance from the centre line in metres, clean and with noise.
*change*: Σ|Δ command| per second, clean and with noise. *error*: mean squared error of the command on the teacher's own
drives, in thousandths. *attention*: correlation of the VisualBackprop maps of noisy images, and of images in winter
colours, with those of clean images in summer colours (seed 0). The teacher, which knows the track, has {teacher}
interventions, is {off:.2f} m off centre and changes its command by {change:.2f} per second. If it also sees only half
of the frames, and so holds its commands as long as the networks do, it has {held:.2f} interventions per kilometre."""


def driving_rows(out: Path) -> list[dict[str, Any]]:
    """Return one entry per row of the table, in order; empty if nothing was run."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for record in read_results(out, DRIVING.name):
        if record["key"]["epochs"] is None and record["key"]["limit"] is None:
            groups.setdefault(record["key"]["model"], []).append(record)
    rows = []
    for name, row in DRIVING.rows.items():
        if name not in groups:
            continue
        figures = [record["figures"] for record in groups[name]]
        loops = {c: [figure["closed_loop"][c] for figure in figures] for c in CONDITIONS}
        attention = [figure["attention_kept"] for figure in figures if "attention_kept" in figure]
        every = [loop for condition in loops.values() for loop in condition]
        rows.append(
            {
                "model": name,
                "title": row.title,
                "weights": groups[name][0]["weights"],
                "n": len(figures),
                "per_kilometre": {c: rate(loop) for c, loop in loops.items()},
                "between": 1000
                * sum(loop["kilometres"] for loop in every)
                / max(sum(loop["interventions"] for loop in every), 1),
                "interventions": sum(loop["interventions"] for loop in every),
                "lateral": {c: fmean(loop["lateral"] for loop in loops[c]) for c in loops},
                "change": {c: fmean(loop["variation"] for loop in loops[c]) for c in loops},
                "mse": [figure["test"]["value"] for figure in figures],
                "attention": attention[0] if attention else None,
                "teacher": figures[0]["teacher"],
                "teacher_dropped": figures[0]["teacher_dropped"],
                "speed": figures[0]["speed"],
                "metres": figures[0]["metres"],
                "diverged": sum(record["stopped"] == "diverged" for record in groups[name]),
            }
        )
    return rows


def rate(loops: list[dict[str, Any]]) -> tuple[float, float, float]:
    """Return interventions per kilometre over seeds, with a confidence interval over tracks and seeds.

    The bootstrap draws tracks and seeds independently of each other. If there was no intervention, the upper end is the
    rate at which there is none on that many kilometres with probability 1/40.

    Args:
        loops: figures of the same tracks, one entry per seed.

    """
    counts, kilometres = (_table(loops, name) for name in ("interventions", "kilometres"))
    value = float(counts.sum() / kilometres.sum())
    if not counts.any():
        return value, 0.0, float(-np.log((1 - LEVEL) / 2) / kilometres.sum())
    S, K = counts.shape
    rng = np.random.default_rng(0)
    seeds, tracks = rng.integers(0, S, (RESAMPLES, S, 1)), rng.integers(0, K, (RESAMPLES, 1, K))
    rates = counts[seeds, tracks].sum(axis=(1, 2)) / kilometres[seeds, tracks].sum(axis=(1, 2))
    low, high = np.quantile(rates, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return value, float(low), float(high)


def driving_markdown(out: Path) -> str:
    """Return the table; empty if nothing was run."""
    rows = driving_rows(out)
    if not rows:
        return ""
    names = ["model", "weights", "n", *(HEADS[name] for name in CONDITIONS)]
    lines = head(*names, "between", "off centre", "change", "error", "attention")
    for row in rows:
        kept, remark = row["attention"], f" ({row['diverged']} diverged)" if row["diverged"] else ""
        lines.append(
            cells(
                row["title"],
                f"{row['weights']:,}",
                f"{row['n']}{remark}",
                *("{:.2f} ({:.2f}…{:.2f})".format(*row["per_kilometre"][name]) for name in CONDITIONS),
                f"{'' if row['interventions'] else 'over '}{row['between']:,.0f} m",
                *(f"{row[name]['clean']:.2f}, {row[name]['noise']:.2f}" for name in ("lateral", "change")),
                f"{1000 * fmean(row['mse']):.2f}",
                "–" if kept is None else f"{kept['noise']:.2f}, {kept['winter']:.2f}",
            )
        )
    first = rows[0]
    legend = LEGEND.format(
        metres=first["metres"],
        tracks=len(first["teacher"]["tracks"]["seed"]),
        speed=first["speed"],
        teacher=first["teacher"]["interventions"],
        off=first["teacher"]["lateral"],
        change=first["teacher"]["variation"],
        held=first["teacher_dropped"]["per_kilometre"],
    )
    parts = [*lines, "", legend]
    for file, text in (("driving.png", "attention maps of the driving networks"), ("driving-lap.gif", "a lap")):
        if (out / "figures" / file).exists():
            parts += ["", f"![{text}](results/figures/{file})"]
    return "\n".join(parts) + "\n"


def _table(loops: list[dict[str, Any]], name: str) -> npt.NDArray[np.float64]:
    return np.array([loop["tracks"][name] for loop in loops], dtype=np.float64)
