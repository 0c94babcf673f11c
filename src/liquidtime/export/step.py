"""The one definition of what an exported model computes: a pure step from one sample to the next, and its prediction.

    state = step.start(B);   state = step.advance(state, t, values, seen);   step.read(state, static, known)

ONNX, C and the web page are made from this module by tracing it. It is elementwise over the series, has no branch that
depends on data and no NaN in its state; `tests/export/test_step.py` holds it to `update` on every sample of random
streams.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from liquidtime.data.encoding import SeriesEncoder
from liquidtime.estimators import CfCClassifier, CfCForecaster, CfCMultiLabelClassifier, CfCRegressor, load
from liquidtime.export.encoding_step import EncodingStep, Fields, NewestTime, StaticStep
from liquidtime.export.layout import Field, Layout
from liquidtime.export.member_step import MemberStep
from liquidtime.export.parts import ALL, is_stack, part_of_model
from liquidtime.export.simplify import simplified
from liquidtime.export.trace import Graph, trace


class FlatState(NamedTuple):
    """The states of B series as `Step.layout` describes them.

    Args:
        doubles: (B, layout.doubles) float64.
        floats: (B, layout.floats) float32.
    """

    doubles: Tensor
    floats: Tensor


class Step(nn.Module):
    """A fitted model as a step from sample to sample; use `step_of` to make one.

    Args:
        model: fitted, with networks that take single steps.

    Attributes:
        encoder: the first of `encoders`.
        task: "classification", "multi-label" or "regression".
        classes: of a classifier, in the order of its probabilities; None of a regressor and of several labels.
        threshold: of two classes, from which probability of the second on it is said; None for the more probable one.
        output_names: what each of the K outputs is, in words.
        outputs: K.
        spread: (K,) in what a prediction's error is measured: 1 for probabilities, else the target's deviation.
        layout: of the state.
    """

    categorical: Tensor

    def __init__(self, model: CfCClassifier | CfCMultiLabelClassifier | CfCRegressor) -> None:
        super().__init__()
        self.encoder: SeriesEncoder = model.encoder_
        self.encoders, self.networks = list(model.encoders_), list(model.networks_)
        self.classes: list[Any] | None = model.classes_.tolist() if isinstance(model, CfCClassifier) else None
        self.threshold: float | None = getattr(model, "threshold_", None)
        self.per_step = bool(getattr(model, "per_step", False))
        self._take_outputs(model)
        self._model = model
        self.layout = Layout()
        self._newest = NewestTime(self.layout, len(self.encoder.channels_))
        self.scales = nn.ModuleList(EncodingStep(self.layout, e, each) for e, each in enumerate(model.encoders_))
        self.members = nn.ModuleList(
            MemberStep(self.layout, m, network.eval()) for m, network in enumerate(model.networks_)
        )
        self.static = StaticStep(self.encoder)
        self.register_buffer("categorical", self._scales()[0].categorical.clone())

    def _take_outputs(self, model: Any) -> None:
        """Take what is predicted."""
        self.task = "regression"
        if self.classes is not None:
            self.task, self.output_names = "classification", [f"probability of {label!r}" for label in self.classes]
        elif isinstance(model, CfCMultiLabelClassifier):
            self.task = "multi-label"
            self.output_names = [f"probability of label {place}" for place in range(model.n_labels_)]
        else:
            self.output_names = [f"predicted value {place}" for place in range(max(model.n_outputs_, 1))]
        self.outputs = len(self.output_names)
        self.spread = model._scale.copy() if self.task == "regression" else np.ones(self.outputs)

    def start(self, B: int) -> FlatState:
        """Return the state of B series before their first sample: zeros."""
        return FlatState(torch.zeros(B, self.layout.doubles, dtype=torch.float64), torch.zeros(B, self.layout.floats))

    def advance(self, state: FlatState, t: Tensor, values: Tensor, seen: Tensor) -> FlatState:
        """Return the state after one sample more of each series.

        Args:
            state: before the samples.
            t: (B,) float64, finite, not before the newest sample.
            values: (B, C) float32, finite; of a categorical channel the position of the category, or -1.
            seen: (B, C) bool, whether a value was observed; what stands in `values` elsewhere changes nothing.
        """
        when = t.unsqueeze(-1)
        values = torch.where(seen, values, torch.zeros(()))
        old = self._fields(state, self._newest.fields)
        newest = self._newest.advance(old, when, values, seen, self.categorical)
        parts = [(self._newest.fields, newest)]
        opened = []
        for scale in self._scales():
            after, opens = scale.advance(old, self._fields(state, scale.fields), when)
            step = scale.read(newest, after)
            parts.append((scale.fields, after | {"magnitude": scale.magnitude(step)}))
            opened.append((step, opens, after["steps"]))
        for m, member in enumerate(self._members()):
            after = member.advance(self._fields(state, member.fields), *opened[m % len(opened)])
            parts.append((member.fields, after))
        return self._flat(parts)

    def read(self, state: FlatState, static: Tensor, known: Tensor) -> Tensor:
        """Return (B, K) float64 the prediction: the probability of each class, or the predicted values.

        Args:
            state: of the series so far, perhaps without any sample.
            static: (B, F) float32 raw static features; of a categorical one the position of the category, or -1.
            known: (B, F) bool, which of them are known.
        """
        newest = self._fields(state, self._newest.fields)
        opened = []
        for scale in self._scales():
            fields = self._fields(state, scale.fields)
            opened.append((scale.read(newest, fields), fields["steps"]))
        encoded = self.static(static, known) if self.static.size else static.new_zeros(len(static), 0)
        total: Tensor | None = None
        for m, member in enumerate(self._members()):
            step, steps = opened[m % len(opened)]
            out = self.finished(member.read(self._fields(state, member.fields), step, steps, encoded))
            total = out if total is None else total + out
        assert total is not None
        return total.double() / len(self.members)

    def forward(
        self, doubles: Tensor, floats: Tensor, t: Tensor, values: Tensor, seen: Tensor, static: Tensor, known: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Take a sample and read: the two vectors of the new state, and the prediction."""
        state = self.advance(FlatState(doubles, floats), t, values, seen)
        return (*state, self.read(state, static, known))

    def finished(self, out: Tensor) -> Tensor:
        """Return the prediction that a network's outputs (..., ·) mean."""
        model = self._model
        if isinstance(model, CfCMultiLabelClassifier):
            return torch.sigmoid(out)
        return model._probabilities(out) if isinstance(model, CfCClassifier) else model._unscaled(out)

    def _scales(self) -> list[EncodingStep]:
        return [scale for scale in self.scales if isinstance(scale, EncodingStep)]

    def _members(self) -> list[MemberStep]:
        return [member for member in self.members if isinstance(member, MemberStep)]

    @staticmethod
    def _fields(state: FlatState, fields: dict[str, Field]) -> Fields:
        return {
            name: (state.doubles if field.kind == "double" else state.floats)[:, field.start : field.start + field.size]
            for name, field in fields.items()
        }

    def _flat(self, parts: list[tuple[dict[str, Field], Fields]]) -> FlatState:
        by_field = {field: fields[name] for places, fields in parts for name, field in places.items()}
        doubles = [by_field[field] for field in self.layout.fields if field.kind == "double"]
        floats = [by_field[field] for field in self.layout.fields if field.kind == "float"]
        return FlatState(torch.cat(doubles, dim=-1), torch.cat(floats, dim=-1))


def loaded(model: Any) -> Any:
    """Return an estimator, that of a folder where a folder is named."""
    return load(model) if isinstance(model, str | Path) else model


def step_of(model: Any, part: str = ALL) -> Step:
    """Return a fitted estimator, or the model of a folder, as a step.

    Args:
        model: the estimator or the folder.
        part: "all", or "networks" for those of a stack.

    Raises:
        ValueError: a model that cannot be taken one sample at a time by a state of fixed size; with the reason.
        TypeError: neither an estimator nor a folder.

    """
    model = loaded(model)
    if is_stack(model):
        check_is_fitted(model, "cfc_")
    model = part_of_model(model, part)
    if isinstance(model, CfCForecaster):
        raise ValueError(
            "a forecaster mixes its network with naive forecasts from the values of the last period, which a state of "
            "fixed size does not hold; it cannot be exported. Classifiers and regressors can, such as a CfCRegressor "
            "whose target is the value at the horizon."
        )
    if not isinstance(model, CfCClassifier | CfCMultiLabelClassifier | CfCRegressor):
        raise TypeError(f"`model` must be a fitted estimator or a model folder; got {type(model).__name__}")
    check_is_fitted(model, "networks_")
    return Step(model).eval()


def step_graph(step: Step) -> Graph:
    """Return a sample and its prediction as one graph.

    Its inputs are `doubles`, `floats`, `t`, `values`, `seen`, `static` and `known`; its outputs `doubles_after`,
    `floats_after` and `prediction`.
    """
    C, F = len(step.encoder.channels_), len(step.encoder.static_names_)
    state = step.start(1)
    inputs = {
        "doubles": state.doubles,
        "floats": state.floats,
        "t": torch.zeros(1, dtype=torch.float64),
        "values": torch.zeros(1, C),
        "seen": torch.ones(1, C, dtype=torch.bool),
        "static": torch.zeros(1, F),
        "known": torch.ones(1, F, dtype=torch.bool),
    }
    return simplified(trace(step.forward, inputs, ("doubles_after", "floats_after", "prediction")))


def part_of(graph: Graph, outputs: Sequence[str]) -> Graph:
    """Return what some of a graph's outputs need of it."""
    return Graph(graph.inputs, graph.operations, {name: graph.outputs[name] for name in outputs}).needed()


def read_graph(step: Step) -> Graph:
    """Return the prediction from a state as a graph, with the inputs `doubles`, `floats`, `static` and `known`."""
    F = len(step.encoder.static_names_)
    state = step.start(1)
    inputs = {
        "doubles": state.doubles,
        "floats": state.floats,
        "static": torch.zeros(1, F),
        "known": torch.ones(1, F, dtype=torch.bool),
    }

    def read(doubles: Tensor, floats: Tensor, static: Tensor, known: Tensor) -> Tensor:
        return step.read(FlatState(doubles, floats), static, known)

    return simplified(trace(read, inputs, ("prediction",)))
