"""The graphs of a step: processing a sample, and making a prediction."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from liquidtime.export.forecast_step import ForecastStep
from liquidtime.export.simplify import simplified
from liquidtime.export.step import FlatState, Step
from liquidtime.export.trace import Graph, trace

AFTER = ("doubles_after", "floats_after")


def step_graph(step: Step) -> Graph:
    """Return processing a sample and predicting as one graph; for a forecaster, which needs a time, only the sample.

    Its inputs are `doubles`, `floats`, `t`, `values`, `seen`, `static` and `known`; its outputs `doubles_after`,
    `floats_after` and `prediction`.
    """
    inputs = _state(step) | _sample(step)
    if isinstance(step, ForecastStep):

        def advance(doubles: Tensor, floats: Tensor, t: Tensor, values: Tensor, seen: Tensor) -> FlatState:
            return step.advance(FlatState(doubles, floats), t, values, seen)

        return simplified(trace(advance, inputs, AFTER))
    return simplified(trace(step.forward, inputs | _static(step), (*AFTER, "prediction")))


def advance_graph(step: Step) -> Graph:
    """Return processing a sample as a graph, without the prediction."""
    return part_of(step_graph(step), AFTER)


def read_graph(step: Step) -> Graph:
    """Return the prediction from a state as a graph, with the inputs `doubles`, `floats`, `static` and `known`.

    For a forecaster there are further inputs: `asked`, the requested time; `future` and `given`, the channels with a
    known future; and the `coverage` of the intervals.
    """
    inputs = _state(step) | _static(step)
    if isinstance(step, ForecastStep):
        K = len(step.known_channels)
        inputs |= {
            "asked": torch.ones(1, dtype=torch.float64),
            "future": torch.zeros(1, K),
            "given": torch.ones(1, K, dtype=torch.bool),
            "coverage": torch.full((1,), 0.9, dtype=torch.float64),
        }

        def ask(doubles: Tensor, floats: Tensor, *asked: Tensor) -> Tensor:
            return step.ask(FlatState(doubles, floats), *asked)

        return simplified(trace(ask, inputs, ("prediction",)))

    def read(doubles: Tensor, floats: Tensor, static: Tensor, known: Tensor) -> Tensor:
        return step.read(FlatState(doubles, floats), static, known)

    return simplified(trace(read, inputs, ("prediction",)))


def part_of(graph: Graph, outputs: Sequence[str]) -> Graph:
    """Return the part of a graph that some of its outputs need."""
    return Graph(graph.inputs, graph.operations, {name: graph.outputs[name] for name in outputs}).needed()


def _state(step: Step) -> dict[str, Tensor]:
    state = step.start(1)
    return {"doubles": state.doubles, "floats": state.floats}


def _sample(step: Step) -> dict[str, Tensor]:
    C = len(step.encoder.channels_)
    return {
        "t": torch.zeros(1, dtype=torch.float64),
        "values": torch.zeros(1, C),
        "seen": torch.ones(1, C, dtype=torch.bool),
    }


def _static(step: Step) -> dict[str, Tensor]:
    F = len(step.encoder.static_names_)
    return {"static": torch.zeros(1, F), "known": torch.ones(1, F, dtype=torch.bool)}
