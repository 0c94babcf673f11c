"""The encoding of one more sample, as elementwise torch; the same as `SampleStep`, with flags instead of NaN."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from liquidtime.data.encoding import SeriesEncoder
from liquidtime.data.encoding.history import STATISTICS, History
from liquidtime.data.encoding.scaling import Scaling
from liquidtime.export.layout import Layout
from liquidtime.export.operations import log1p

Fields = dict[str, Tensor]
"""Parts of a state by name, each (B, n)."""


class Totals(NamedTuple):
    """Sums of observed values and their numbers, each (B, C) float64."""

    total: Tensor
    number: Tensor

    def add(self, values: Tensor, seen: Tensor, categorical: Tensor) -> Totals:
        """Return the sums after adding float32 values (B, C) where `seen`; categorical channels keep the last value."""
        zero = torch.zeros((), dtype=torch.float64)
        if categorical.numel() == 0:  # there are no categorical channels
            return Totals(self.total + torch.where(seen, values.double(), zero), self.number + seen.double())
        replaced = seen & categorical
        total = torch.where(replaced, zero, self.total) + torch.where(seen, values.double(), zero)
        return Totals(total, torch.where(replaced, zero, self.number) + seen.double())

    def cleared(self, where: Tensor) -> Totals:
        """Return the sums, set to 0 where `where` (B, 1) is True."""
        zero = torch.zeros((), dtype=torch.float64)
        return Totals(torch.where(where, zero, self.total), torch.where(where, zero, self.number))

    def mean(self) -> tuple[Tensor, Tensor]:
        """Return (B, C) the float32 means, 0 where nothing was observed, and whether anything was observed."""
        return (self.total / self.number.clamp(min=1.0)).float(), self.number > 0


class ScalingStep(nn.Module):
    """`Scaling` of float32 values (..., C) in torch."""

    logged: Tensor
    unit: Tensor
    low: Tensor
    high: Tensor
    mean: Tensor
    scale: Tensor

    def __init__(self, scaling: Scaling) -> None:
        super().__init__()
        big = np.finfo(np.float64).max
        self.register_buffer("logged", torch.from_numpy(scaling.unit > 0))
        self.register_buffer("unit", torch.from_numpy(np.where(scaling.unit > 0, scaling.unit, 1.0)))
        self.register_buffer("low", torch.from_numpy(np.clip(scaling.low, -big, big)))
        self.register_buffer("high", torch.from_numpy(np.clip(scaling.high, -big, big)))
        self.register_buffer("mean", torch.from_numpy(scaling.mean.copy()))
        self.register_buffer("scale", torch.from_numpy(scaling.scale.copy()))
        self._any_logged = bool((scaling.unit > 0).any())

    def forward(self, values: Tensor) -> Tensor:
        """Return the scaled values, float32."""
        raw = values.double()
        if self._any_logged:
            raw = torch.where(self.logged, log1p(raw.clamp(min=0.0) / self.unit), raw)
        return ((torch.minimum(torch.maximum(raw, self.low), self.high) - self.mean) / self.scale).float()


class NewestTime:
    """The samples at the newest time, which all scales share.

    Args:
        layout: layout to which fields are added.
        channels: C, the number of channels.
    """

    def __init__(self, layout: Layout, channels: int) -> None:
        self.fields = {
            "time": layout.add("time", "double", 1, "time of the newest sample"),
            "started": layout.add("started", "double", 1, "1 once there was a sample"),
            "time_total": layout.add("time_total", "double", channels, "sum of the values at the newest time"),
            "time_count": layout.add("time_count", "double", channels, "how many values there are at the newest time"),
        }

    def advance(self, state: Fields, t: Tensor, values: Tensor, seen: Tensor, categorical: Tensor) -> Fields:
        """Return the state after a sample at t (B, 1) float64."""
        later = self.later(state, t)
        sums = Totals(state["time_total"], state["time_count"]).cleared(later).add(values, seen, categorical)
        return {
            "time": t,
            "started": torch.ones_like(t),
            "time_total": sums.total,
            "time_count": sums.number,
        }

    @staticmethod
    def later(state: Fields, t: Tensor) -> Tensor:
        """Return (B, 1) whether a sample at t is at another time than the newest."""
        return (state["started"] == 0) | (state["time"] != t)


class OpenStep(NamedTuple):
    """The open step in the form that a network reads: x (B, D), dt (B,), history (B, G)."""

    x: Tensor
    dt: Tensor
    history: Tensor


class EncodingStep(nn.Module):
    """One scale of the encoding; computes the same numbers as `SampleStep`.

    Args:
        layout: layout to which fields are added.
        scale: position of the encoder, for the names of fields.
        encoder: fitted encoder.
    """

    categorical: Tensor
    column: Tensor
    code: Tensor
    positions: Tensor

    def __init__(self, layout: Layout, scale: int, encoder: SeriesEncoder) -> None:
        super().__init__()
        C, columns = len(encoder.channels_), encoder.layout_
        self.width, self.time_scale, self.blocks = encoder.bin_width, encoder.time_scale_, encoder.blocks
        self.scaling = ScalingStep(encoder.scaling_)
        flags = [name in encoder.categories_ for name in encoder.channels_]
        self.register_buffer("categorical", torch.tensor(flags if any(flags) else [], dtype=torch.bool))
        places = [
            (c, k if flags[c] else -1)
            for c, name in enumerate(encoder.channels_)
            for k in range(columns.value[name].stop - columns.value[name].start if columns.value else 0)
        ]
        self.register_buffer("column", torch.tensor([c for c, _ in places], dtype=torch.int64))
        self.register_buffer("code", torch.tensor([float(code) for _, code in places]))
        self._any_categorical = any(flags)
        history = History(encoder)
        statistics = [
            STATISTICS.index(name.removeprefix(f"{channel} ")) * C + c
            for c, (channel, at) in enumerate(zip(encoder.channels_, history.columns, strict=True))
            for name in history.names[at]
        ]
        self.register_buffer("positions", torch.tensor(statistics, dtype=torch.int64))
        of = f"scale {scale}: "
        fields = {
            "step": (
                1,
                "time of the open step" + ("" if self.width is None else f", the beginning of a bin of {self.width:g}"),
            ),
            "before": (1, "time of the step before it"),
            "first": (1, "time of the first step"),
            "steps": (1, "number of steps, the open one included"),
            "magnitude": (1, "sum of the sizes of the open step's inputs; not finite where float32 cannot hold one"),
            "carried_at": (C, "step of the last observation before the open step"),
            "number": (C, "number of observations before the open step"),
            "total": (C, "sum of the scaled observations before the open step, less the first"),
            "squares": (C, "sum of the squares of these differences"),
            "least": (C, "least of these differences"),
            "largest": (C, "largest of these differences"),
        }
        if self.width is not None:
            fields["bin_total"] = (C, "sum over the earlier times of the open bin")
            fields["bin_count"] = (C, "how many of those times have a value")
        floats = {
            "carried": "last observation before the open step",
            "first_value": "first scaled observation",
            "seen": "1 where the open step has an observation",
            "latest": "last observation, that of the open step included",
            "scaled": "the same, scaled",
        }
        self.fields = {name: layout.add(of + name, "double", size, text) for name, (size, text) in fields.items()}
        self.fields |= {name: layout.add(of + name, "float", C, text) for name, text in floats.items()}

    def advance(self, old: Fields, newest: Fields, state: Fields, t: Tensor) -> tuple[Fields, Tensor]:
        """Return the state of the scale after a sample at t (B, 1), and (B, 1) whether it opens a step.

        Args:
            old: the fields of `NewestTime` before the sample.
            newest: the fields of `NewestTime` after the sample.
            state: state of this scale before the sample.
            t: (B, 1) float64 time of the sample.
        """
        at = t if self.width is None else torch.floor(t / self.width + 1e-9) * self.width
        opens = (state["steps"] == 0) | (state["step"] != at)
        closed = opens & (state["seen"] > 0)
        after = {
            "step": at,
            "before": torch.where(opens, state["step"], state["before"]),
            "first": torch.where(state["steps"] == 0, at, state["first"]),
            "steps": state["steps"] + opens.double(),
            "carried": torch.where(opens, state["latest"], state["carried"]),
            "carried_at": torch.where(closed, state["step"], state["carried_at"]),
        }
        sums = Totals(newest["time_total"], newest["time_count"])
        if self.width is not None:
            earlier, complete = Totals(old["time_total"], old["time_count"]).mean()
            complete = complete & NewestTime.later(old, t)
            bins = Totals(state["bin_total"], state["bin_count"]).add(earlier, complete, self.categorical)
            bins = bins.cleared(opens)
            after["bin_total"], after["bin_count"] = bins
            sums = bins.add(*sums.mean(), self.categorical)
        values, seen = sums.mean()
        latest = torch.where(seen, values, after["carried"])
        after |= self._observed(state, state["scaled"], closed)
        after |= {"seen": seen.float(), "latest": latest, "scaled": self.scaling(latest)}
        step = self.read(after)
        return after | {"magnitude": self._magnitude(step)}, opens

    @staticmethod
    def _magnitude(step: OpenStep) -> Tensor:
        """Return (B, 1) the field that indicates inputs too large for float32."""
        return step.x.abs().sum(dim=-1, keepdim=True).double() + step.dt.unsqueeze(-1).double()

    def read(self, state: Fields) -> OpenStep:
        """Return the open step in its present state."""
        seen = state["seen"] > 0
        observed = state["number"] > 0
        known = seen | observed
        zero, one = torch.zeros(()), torch.ones(())
        parts = []
        if "values" in self.blocks:
            column = torch.where(known, state["scaled"], zero)[:, self.column]
            if self._any_categorical:
                here = (state["latest"][:, self.column] == self.code) & known[:, self.column]
                column = torch.where(self.categorical[self.column], torch.where(here, one, zero), column)
            parts.append(column)
        if "mask" in self.blocks:
            parts.append(state["seen"])
        if "since" in self.blocks:
            last = torch.where(observed, state["carried_at"], state["first"])
            elapsed = torch.where(seen, torch.zeros_like(last), state["step"] - last)
            parts.append(log1p((elapsed / self.time_scale).float().double()).float())
        elapsed = torch.where(state["steps"] > 1, state["step"] - state["before"], torch.zeros_like(state["step"]))
        dt = (elapsed / self.time_scale).float()[:, 0]
        history = self._history(self._observed(state, state["scaled"], seen))
        return OpenStep(torch.cat(parts, dim=-1), dt, history)

    @staticmethod
    def _observed(state: Fields, z: Tensor, seen: Tensor) -> Fields:
        """Return the running sums after adding the scaled values z (B, C) where `seen`, as in `Moments.add`."""
        first = torch.where(seen & (state["number"] == 0), z, state["first_value"])
        apart = torch.where(seen, z.double() - first.double(), torch.zeros((), dtype=torch.float64))
        return {
            "number": state["number"] + seen.double(),
            "total": state["total"] + apart,
            "squares": state["squares"] + apart * apart,
            "first_value": first,
            "least": torch.minimum(state["least"], apart),  # at most 0, the difference of the first from itself
            "largest": torch.maximum(state["largest"], apart),
        }

    def _history(self, sums: Fields) -> Tensor:
        some, first = sums["number"].clamp(min=1.0), sums["first_value"].double()
        shift = sums["total"] / some
        deviation = torch.sqrt((sums["squares"] / some - shift * shift).clamp(min=0.0))
        least, largest = first + sums["least"], first + sums["largest"]
        each = [first + shift, least, largest, deviation, first, log1p(sums["number"])]  # all 0 before the first value
        return torch.cat(each, dim=-1)[:, self.positions].float()


class StaticStep(nn.Module):
    """`SeriesEncoder.encode_static` in torch."""

    column: Tensor
    code: Tensor
    role: Tensor

    def __init__(self, encoder: SeriesEncoder) -> None:
        super().__init__()
        self.scaling = ScalingStep(encoder.static_scaling_)
        places: list[tuple[int, float, int]] = []  # feature, category, and 0 for value, 1 for category, 2 for flag
        for f, name in enumerate(encoder.static_names_):
            labels = encoder.categories_.get(name)
            places += [(f, 0.0, 0)] if labels is None else [(f, float(k), 1) for k in range(len(labels))]
            places += [(f, 0.0, 2)] if encoder.static_flags_[f] else []
        self.size = len(places)
        self.register_buffer("column", torch.tensor([place[0] for place in places], dtype=torch.int64))
        self.register_buffer("code", torch.tensor([place[1] for place in places]))
        self.register_buffer("role", torch.tensor([place[2] for place in places]))

    def forward(self, static: Tensor, known: Tensor) -> Tensor:
        """Return (B, F) encoded features from raw ones (B, ·); `known` (B, ·) is True for those that are known."""
        one, zero = torch.ones(()), torch.zeros(())
        scaled = torch.where(known, self.scaling(static), zero)[:, self.column]
        known = known[:, self.column]
        here = torch.where((static[:, self.column] == self.code) & known, one, zero)
        return torch.where(self.role == 0, scaled, torch.where(self.role == 1, here, torch.where(known, zero, one)))
