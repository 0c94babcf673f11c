"""Tightness of the closed form in practice: the trained NCP of the lane-keeping table along the test run."""

from __future__ import annotations

from typing import Any

from liquidtime.closed_form import AlgorithmOne
from liquidtime.paper.experiments import lane_keeping
from liquidtime.paper.experiments.experiment import Experiment, Row
from liquidtime.paper.models.lane.networks import LANE_MODELS
from liquidtime.paper.models.lane.tightness import TightnessModel
from liquidtime.solvers import Hold, Midpoint, SemiImplicit, Solver

PAPER_MSE = 0.006
"""Error of the output neuron with Algorithm 1, in the paper."""
NCP, SETTINGS = LANE_MODELS["ncp"], lane_keeping.SETTINGS


def _row(title: str, solver: Solver, note: str = "", **options: Any) -> Row:
    return Row(TightnessModel(title, NCP, SETTINGS, solver, **options), None, note)


PRINTED, REPAIRED = AlgorithmOne(repaired=False), AlgorithmOne(repaired=True)
ROWS = {
    "semi_implicit": _row("semi-implicit, 6 steps", SemiImplicit(), "the solver it was trained with", unfolds=6),
    "printed": _row("Algorithm 1 as printed", PRINTED, "from each sample to the next"),
    "repaired": _row("Algorithm 1 repaired", REPAIRED, "from each sample to the next"),
    "printed_recorded": _row(
        "Algorithm 1 as printed", PRINTED, "recorded activity, time from the start", recorded=True
    ),
    "repaired_recorded": _row(
        "Algorithm 1 repaired", REPAIRED, "recorded activity, time from the start", recorded=True
    ),
    "hold": _row("hold", Hold()),
    "midpoint": _row("midpoint", Midpoint()),
}
TIGHTNESS = Experiment(
    "tightness",
    "Tightness of the closed form in practice",
    lane_keeping.TASK,
    lane_keeping.load,
    {"honest": {"protocol": "honest"}},
    ROWS,
    (),
    digits=5,
)
