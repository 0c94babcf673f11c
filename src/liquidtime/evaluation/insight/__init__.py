"""Look inside a trained model: what it uses, why it made a prediction, how it uses time, and how it is wired."""

from liquidtime.evaluation.insight.channel_table import by_channel
from liquidtime.evaluation.insight.circuit import Activity, Circuit, Link, Neuron
from liquidtime.evaluation.insight.circuit_of import circuit
from liquidtime.evaluation.insight.explain import explain
from liquidtime.evaluation.insight.explanation import Explanation, Section
from liquidtime.evaluation.insight.gap_response import GapResponse, gap_response
from liquidtime.evaluation.insight.importance import Importance, Importances, importances
from liquidtime.evaluation.insight.neighbours import Neighbour, Neighbours, SimilarSeries
from liquidtime.evaluation.insight.observation_effects import (
    ObservationEffect,
    ObservationEffects,
    observation_effects,
)
from liquidtime.evaluation.insight.state_trajectories import StateTrajectories, state_trajectories
from liquidtime.evaluation.insight.units import Unit, Units, units
from liquidtime.evaluation.insight.visual_backprop import visual_backprop

__all__ = [
    "Activity",
    "Circuit",
    "Explanation",
    "GapResponse",
    "Importance",
    "Importances",
    "Link",
    "Neighbour",
    "Neighbours",
    "Neuron",
    "ObservationEffect",
    "ObservationEffects",
    "Section",
    "SimilarSeries",
    "StateTrajectories",
    "Unit",
    "Units",
    "by_channel",
    "circuit",
    "explain",
    "gap_response",
    "importances",
    "observation_effects",
    "state_trajectories",
    "units",
    "visual_backprop",
]
