"""The newest values of the channels to forecast, updated by one sample, as elementwise torch; see `Recent`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from liquidtime.export.encoding_step import Fields
from liquidtime.export.layout import Layout


class Newest(NamedTuple):
    """The newest values of C channels, including the open step; (B, C) each, with float32 values.

    Args:
        value: the last values.
        time: when these were observed.
        known: whether there is a value.
        open: whether it belongs to the open step.
        number: number of values so far.
    """

    value: Tensor
    time: Tensor
    known: Tensor
    open: Tensor
    number: Tensor


class RecentStep(nn.Module):
    """The last N values of each of C channels before the open step, the newest last.

    Args:
        layout: layout to which fields are added.
        places: positions of the channels.
        capacity: N.
        reach: how far back forecasts look.
    """

    places: Tensor

    def __init__(self, layout: Layout, places: Sequence[int], capacity: int, reach: float) -> None:
        super().__init__()
        C = len(places)
        self.register_buffer("places", torch.tensor(list(places), dtype=torch.int64))
        self.channels, self.capacity, self.reach = C, capacity, reach
        held = f"the {capacity} newest values of each channel before the open step"
        lost = f"values dropped within {reach:g} of the newest, the range that forecasts use; 0 unless very dense"
        self.fields = {
            "times": layout.add("recent: times", "double", C * capacity, f"when {held} were observed"),
            "total": layout.add("recent: total", "double", C, "sum of all values of each channel before the open step"),
            "lost": layout.add("recent: lost", "double", 1, lost),
            "values": layout.add("recent: values", "float", C * capacity, held),
        }

    def advance(self, state: Fields, values: Tensor, closed: Tensor, step: Tensor, number: Tensor) -> Fields:
        """Return the state after a sample.

        Args:
            state: state before it.
            values: (B, all channels) values of the step that was open before the sample.
            closed: (B, all channels) True for values of that step if the sample closes it.
            step: (B, 1) time of that step.
            number: (B, all channels) number of values before that step.
        """
        value, on, count = (part[:, self.places] for part in (values, closed, number))
        zero = torch.zeros((), dtype=torch.float64)
        times, kept = self._table(state["times"]), self._table(state["values"])
        pushed = on.unsqueeze(-1)
        newest = torch.where(on, step, zero).unsqueeze(-1)
        needed = on & (count >= self.capacity) & (times[:, :, 1] > step - self.reach)
        later = torch.where(pushed, torch.cat([times[:, :, 1:], newest], dim=-1), times)
        after = torch.where(pushed, torch.cat([kept[:, :, 1:], value.unsqueeze(-1)], dim=-1), kept)
        size = self.channels * self.capacity
        return {
            "times": later.reshape(-1, size),
            "total": state["total"] + torch.where(on, value.double(), zero),
            "lost": state["lost"] + needed.double().sum(dim=-1, keepdim=True),
            "values": after.reshape(-1, size),
        }

    def slope(self, state: Fields, newest: Newest, width: float) -> Tensor:
        """Return (B, C) the slope from an older value to the newest, 0 if there is none; see `Past.slope`."""
        times, values, there = self._older(state, newest)
        old = there & (times <= (newest.time - width).unsqueeze(-1))
        oldest = there & ~self._shifted(there, 1)
        chosen = old & ~self._shifted(old, -1)
        chosen = chosen | (oldest & (old.double().sum(dim=-1, keepdim=True) == 0))
        some = chosen.double().sum(dim=-1) > 0
        zero = torch.zeros((), dtype=torch.float64)
        then, was = (torch.where(chosen, part.double(), zero).sum(dim=-1) for part in (times, values))
        apart = torch.where(some, newest.time - then, torch.ones((), dtype=torch.float64))
        return torch.where(some & newest.known, (newest.value.double() - was) / apart, zero)

    def at(self, state: Fields, newest: Newest, time: Tensor) -> tuple[Tensor, Tensor]:
        """Return (B, C) the newest values at or before a time (B, 1), and whether there are any."""
        times, values, there = self._all_before(state, newest)
        early = there & (times <= time.unsqueeze(-1))
        open_one = newest.open & (newest.time <= time)
        chosen = early & ~self._shifted(early, -1)
        zero = torch.zeros((), dtype=torch.float64)
        was = torch.where(chosen, values.double(), zero).sum(dim=-1)
        found = chosen.double().sum(dim=-1) > 0
        return torch.where(open_one, newest.value.double(), was), open_one | found

    def _table(self, flat: Tensor) -> Tensor:
        return flat.reshape(-1, self.channels, self.capacity)

    def _all_before(self, state: Fields, newest: Newest) -> tuple[Tensor, Tensor, Tensor]:
        """Return (B, C, N) times and values before the open step, and a mask of the places that are filled."""
        place = torch.arange(self.capacity, dtype=torch.float64)
        before = newest.number - newest.open.double()
        there = place >= (self.capacity - before).unsqueeze(-1)
        return self._table(state["times"]), self._table(state["values"]), there

    def _older(self, state: Fields, newest: Newest) -> tuple[Tensor, Tensor, Tensor]:
        """Return the same without the newest value, unless that belongs to the open step."""
        times, values, there = self._all_before(state, newest)
        is_last = torch.arange(self.capacity) == self.capacity - 1
        return times, values, there & (newest.open.unsqueeze(-1) | ~is_last)

    @staticmethod
    def _shifted(flags: Tensor, by: int) -> Tensor:
        """Return (B, C, N) the flags `by` places before; False past the ends."""
        none = torch.zeros_like(flags[:, :, :1])
        return torch.cat([none, flags[:, :, :-1]], dim=-1) if by > 0 else torch.cat([flags[:, :, 1:], none], dim=-1)
