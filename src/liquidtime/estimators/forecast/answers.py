"""Compute forecasts from contexts: those of the members, mixed with naive forecasts, in the units of the channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from liquidtime.data.encoding.future_times import split_rows
from liquidtime.estimators.forecast.blend import Blend
from liquidtime.estimators.forecast.lesson import Standard
from liquidtime.estimators.forecast.network import Anchors, ForecastNetwork, Questions, parts_of
from liquidtime.estimators.network import PREDICT_BATCH, Prepared, SeriesBatches, SeriesNetwork
from liquidtime.estimators.network.finite import finite
from liquidtime.training.devices import moved, on_device

Values = npt.NDArray[np.float64]


class Forecast(NamedTuple):
    """Forecasts with their prediction intervals; (S, Q, C) each, or lists of (Q_i, C).

    Args:
        value: the forecasts.
        low: lower ends of the intervals.
        high: upper ends.
    """

    value: Any
    low: Any
    high: Any


class Answers:
    """The parts of forecasts, and their mixture.

    Args:
        parts: (R, Q, C, J) what each part says, in standard deviations.
        since: (R, Q, C) scaled times from each channel's last value to those asked for.
        names: of the J parts.
        blend: the mixture.
        standard: of the channels.
        sizes: of ragged times, how many each series has; None for all alike.
    """

    def __init__(
        self,
        parts: Values,
        since: Values,
        names: Sequence[str],
        blend: Blend,
        standard: Standard,
        sizes: list[int] | None = None,
    ) -> None:
        self._parts, self._since, self._names = parts, since, names
        self._blend, self._standard, self._sizes = blend, standard, sizes

    def mixture(self, intervals: float | None) -> Any:
        """Return the forecasts; with a share of values for intervals, a `Forecast`."""
        mixed = self._blend.mix(self._parts, self._since)
        if intervals is None:
            return self._own(mixed)
        levels = ((1 - intervals) / 2, (1 + intervals) / 2)
        ends = (self._own(mixed + self._blend.error(self._parts, self._since, level)) for level in levels)
        return Forecast(self._own(mixed), *ends)

    def sizes(self) -> Values:
        """Return (R, Q, C) the expected errors in the units of the channels; above 0."""
        return np.maximum(self._blend.size(self._parts, self._since), 1e-9) * self._standard.scale

    def parts(self) -> dict[str, tuple[Any, Any]]:
        """Return the forecast and the weight of each part, by name."""
        shares = self._blend.shares(self._since)
        own = self._parts * self._standard.scale[:, None] + self._standard.centre[:, None]
        return {
            name: (split_rows(own[..., j], self._sizes), split_rows(shares[..., j], self._sizes))
            for j, name in enumerate(self._names)
        }

    def part(self, name: str) -> Any:
        """Return the forecast of one part, shaped like that of the mixture."""
        return self._own(self._parts[..., self._names.index(name)])

    def _own(self, standard: Values) -> Any:
        return split_rows(finite(self._standard.back(standard)), self._sizes)


class AnswersInBlocks:
    """Forecasts for many series, computed block by block, so that memory does not grow with their number.

    Args:
        blocks: each makes the answers of some series, in order; one with ragged times says how many each has.
    """

    def __init__(self, blocks: Sequence[Callable[[], Any]]) -> None:
        self._blocks = blocks

    def mixture(self, intervals: float | None) -> Any:
        """Return the forecasts; with a share of values for intervals, a `Forecast`."""
        found = [block().mixture(intervals) for block in self._blocks]
        return _joined(found) if intervals is None else Forecast(*map(_joined, zip(*found, strict=True)))

    def parts(self) -> dict[str, tuple[Any, Any]]:
        """Return the forecast and the weight of each part, by name."""
        found = [block().parts() for block in self._blocks]
        return {
            name: (_joined([one[name][0] for one in found]), _joined([one[name][1] for one in found]))
            for name in found[0]
        }

    def part(self, name: str) -> Any:
        """Return the forecast of one part, shaped like that of the mixture."""
        return _joined([block().part(name) for block in self._blocks])


def _joined(blocks: Sequence[Any]) -> Any:
    return [row for block in blocks for row in block] if isinstance(blocks[0], list) else np.concatenate(blocks)


def network_and_naive(forecasts: Tensor, anchors: Anchors, questions: Questions) -> tuple[Values, Values]:
    """Return (R, Q, C, J) all `PARTS` for network forecasts (R, Q, C), and (R, Q, C) the time since the last values."""
    since = anchors.since.unsqueeze(1) + questions.gap.unsqueeze(-1)
    return parts_of(forecasts, anchors, questions).double().numpy(), since.double().numpy()


def said_of_series(
    networks: Sequence[SeriesNetwork], prepared: Prepared, anchors: Anchors, questions: Questions
) -> Tensor:
    """Return (S, Q, C) the mean forecast of the members for whole series, in standard deviations."""
    said = torch.empty(*questions.gap.shape, anchors.last.shape[1])
    there = on_device(networks, prepared.device)
    with torch.inference_mode():
        for sample in SeriesBatches(prepared, PREDICT_BATCH):
            seen = Anchors(*(column[sample.rows] for column in anchors))
            question = Questions(*(column[sample.rows] for column in questions))
            contexts = torch.stack([network(*sample[:5]).cpu() for network in there])
            said[sample.rows] = said_of_contexts(networks, contexts, seen, question)
    return said


def contexts_after(
    networks: Sequence[SeriesNetwork],
    prepared: Prepared,
    series: npt.NDArray[np.int64],
    places: npt.NDArray[np.int64],
) -> Tensor:
    """Return (M, R, K) the contexts of the members after the given steps of series.

    Args:
        networks: M members.
        prepared: the series, with the history after every step.
        series: (R,) positions of the series, in rising order.
        places: (R,) positions of the steps within their series.
    """
    first = networks[0]
    assert isinstance(first, ForecastNetwork)
    contexts = torch.empty(len(networks), len(series), first.read_out.out_features)
    begins = np.searchsorted(series, np.arange(len(prepared) + 1))
    counts = np.diff(begins)
    there = on_device(networks, prepared.device)
    with torch.inference_mode():
        for sample in SeriesBatches(prepared, PREDICT_BATCH, np.flatnonzero(counts)):
            rows = sample.rows.numpy()
            column = np.arange(counts[rows].max())
            inside = column < counts[rows][:, None]  # (B, k)
            asked = np.minimum(begins[rows][:, None] + column, begins[rows + 1][:, None] - 1)
            at, mask = torch.from_numpy(places[asked]), torch.from_numpy(inside)
            for member, network in enumerate(there):
                each = cast(ForecastNetwork, network).contexts(*sample[:5], moved(at, prepared.device)).cpu()
                contexts[member, torch.from_numpy(asked)[mask]] = each[mask]
    return contexts


def said_of_contexts(
    networks: Sequence[SeriesNetwork], contexts: Tensor, anchors: Anchors, questions: Questions
) -> Tensor:
    """Return (R, Q, C) the mean forecast of the members from their contexts (M, R, K), in standard deviations."""
    with torch.inference_mode():
        each = [
            cast(ForecastNetwork, network).decode(context, anchors, questions)
            for network, context in zip(networks, contexts, strict=True)
        ]
        return torch.stack(each).mean(dim=0)


def check_level(intervals: float | None) -> None:
    """Refuse a share of values that prediction intervals cannot contain."""
    if intervals is not None and not 0.0 < intervals <= 0.99:
        raise ValueError(f"`intervals` must be a share over 0 and at most 0.99, or None; got {intervals!r}")
