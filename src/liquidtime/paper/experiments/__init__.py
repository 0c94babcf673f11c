"""Every experiment: one file per table of the paper."""

from liquidtime.paper.experiments.driving import DRIVING
from liquidtime.paper.experiments.experiment import Experiment, Row
from liquidtime.paper.experiments.gradients import GRADIENTS
from liquidtime.paper.experiments.imdb import IMDB
from liquidtime.paper.experiments.lane_keeping import LANE_KEEPING
from liquidtime.paper.experiments.physionet import PHYSIONET, PHYSIONET_AB
from liquidtime.paper.experiments.tightness import TIGHTNESS
from liquidtime.paper.experiments.walker2d import WALKER2D
from liquidtime.paper.experiments.xor import XOR, XOR_DENSE

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        XOR,
        XOR_DENSE,
        PHYSIONET,
        PHYSIONET_AB,
        IMDB,
        WALKER2D,
        DRIVING,
        LANE_KEEPING,
        TIGHTNESS,
        GRADIENTS,
    )
}

__all__ = ["EXPERIMENTS", "Experiment", "Row"]
