"""The one definition of what an exported model computes: a pure step from one sample to the next, and its prediction.

    state = step.start(B);   state = step.advance(state, t, values, seen);   step.read(state, static, known)

ONNX, C and the web page are made from this module by tracing it. It is elementwise over the series, has no branch that
depends on data and no NaN in its state; `tests/export/test_step.py` holds it to `update` on every sample of random
streams.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from liquidtime.data.encoding import SeriesEncoder
from liquidtime.estimators import CfCClassifier, CfCMultiLabelClassifier, CfCRegressor
from liquidtime.export.encoding_step import EncodingStep, Fields, NewestTime, StaticStep
from liquidtime.export.layout import Field, Layout
from liquidtime.export.member_step import MemberStep


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
        task: "classification", "multi-label", "regression" or "forecasting".
        classes: of a classifier, in the order of its probabilities; None of a regressor and of several labels.
        threshold: for two classes, the probability of the second from which it is predicted; None for the more probable
            class.
        output_names: what each of the K outputs is, in words.
        outputs: K.
        spread: (K,) in what a prediction's error is measured: 1 for probabilities, else the target's deviation.
        layout: of the state.
    """

    categorical: Tensor
    least: Tensor
    largest: Tensor

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
        self._add_fields()
        self.static = StaticStep(self.encoder)
        self.register_buffer("categorical", self._scales()[0].categorical.clone())
        self._bounded = bool(self.encoder.plausible.bounds)
        if self._bounded:
            ends = np.finfo(np.float32).min, np.finfo(np.float32).max
            least, largest = self.encoder.plausible.ends(self.encoder.channels_)
            self.register_buffer("least", torch.from_numpy(np.clip(least, *ends)))
            self.register_buffer("largest", torch.from_numpy(np.clip(largest, *ends)))

    def _add_fields(self) -> None:
        """Make the parts that have a state."""
        self._newest = NewestTime(self.layout, len(self.encoder.channels_))
        self.scales = nn.ModuleList(EncodingStep(self.layout, e, each) for e, each in enumerate(self.encoders))
        self.members = nn.ModuleList(
            MemberStep(self.layout, m, network.eval()) for m, network in enumerate(self.networks)
        )

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
        self.spread = np.ones(self.outputs) if self.has_chances else model._scale.copy()

    @property
    def has_chances(self) -> bool:
        """Whether the outputs are probabilities."""
        return self.task in ("classification", "multi-label")

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
        old = self._fields(state, self._newest.fields)
        if self._bounded:
            seen = seen & (values >= self.least) & (values <= self.largest)
        newest = self._newest.advance(old, when, values, seen, self.categorical)
        parts = [(self._newest.fields, newest)]
        opened = []
        for scale in self._scales():
            after, opens = scale.advance(old, newest, self._fields(state, scale.fields), when)
            parts.append((scale.fields, after))
            opened.append((scale.read(after), opens, after["steps"]))
        for m, member in enumerate(self._members()):
            after = member.advance(self._fields(state, member.fields), *opened[m % len(opened)])
            parts.append((member.fields, after))
        return self._flat([*parts, *self._further(state, opened[0][1])])

    def _further(self, state: FlatState, opens: Tensor) -> list[tuple[dict[str, Field], Fields]]:
        """Return further parts of the state after a sample, where a kind of model has any."""
        return []

    def read(self, state: FlatState, static: Tensor, known: Tensor) -> Tensor:
        """Return (B, K) float64 the prediction: the probability of each class, or the predicted values.

        Args:
            state: of the series so far, perhaps without any sample.
            static: (B, F) float32 raw static features; of a categorical one the position of the category, or -1.
            known: (B, F) bool, which of them are known.
        """
        opened = []
        for scale in self._scales():
            fields = self._fields(state, scale.fields)
            opened.append((scale.read(fields), fields["steps"]))
        encoded = self.static(static, known) if self.static.size else static.new_zeros(len(static), 0)
        each = []
        for m, member in enumerate(self._members()):
            step, steps = opened[m % len(opened)]
            each.append(self.finished(member.read(self._fields(state, member.fields), step, steps, encoded)))
        return torch.stack(each, dim=1).sum(dim=1).double() / len(each)

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
