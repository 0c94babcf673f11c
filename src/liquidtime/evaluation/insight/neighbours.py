"""Similar series: training series whose final states in a model's networks are nearest, with their outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from liquidtime._checks import check_size
from liquidtime.data import SeriesSet
from liquidtime.estimators.network.inputs import SeriesBatches
from liquidtime.estimators.network.members import PREDICT_BATCH
from liquidtime.evaluation.insight.question import networks_of
from liquidtime.files.bounded import DamagedFolder, json_from_bytes
from liquidtime.files.contents import json_to_bytes, tensors_from_bytes, tensors_to_bytes
from liquidtime.files.sealed import SealedFolder

NAMES, STATES = "neighbours.json", "neighbours.safetensors"
"""Files of a model folder that stores training series."""
MOST_KEPT = 20_000
_FORMAT, _LARGEST = 1, 1 << 26
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Neighbour:
    """A training series that is similar to another series.

    Args:
        id: id of the training series.
        outcome: its class or value; None for forecasts.
        distance: distance between the two in the space of the networks' units, where 1 is the usual distance between
            two training series.
    """

    id: str
    outcome: str | float | None
    distance: float


@dataclass(frozen=True, eq=False, repr=False)
class SimilarSeries:
    """The training series most similar to one series, nearest first; displayed as a table in a notebook.

    Args:
        id: id of the series.
        neighbours: training series.
    """

    id: str
    neighbours: Sequence[Neighbour]

    def words(self) -> str:
        """Return a sentence about their outcomes."""
        outcomes = [one.outcome for one in self.neighbours if one.outcome is not None]
        if not outcomes:
            return f"Most similar to series {self.id}: {', '.join(one.id for one in self.neighbours)}."
        if all(isinstance(outcome, float) for outcome in outcomes):
            numbers = np.array(outcomes, dtype=np.float64)
            return (
                f"The {len(numbers)} training series most similar to series {self.id} had {np.median(numbers):.4g} "
                f"(median; {numbers.min():.4g} to {numbers.max():.4g})."
            )
        texts = [str(outcome) for outcome in outcomes]
        counts = sorted({text: texts.count(text) for text in texts}.items(), key=lambda pair: -pair[1])
        told = ", ".join(f"{count} × {text}" for text, count in counts)
        return f"Of the {len(texts)} training series most similar to series {self.id}: {told}."

    def rows(self) -> list[list[str]]:
        """Return the table: id, outcome, distance."""
        return [
            [one.id, "–" if one.outcome is None else _text(one.outcome), f"{one.distance:.2f}"]
            for one in self.neighbours
        ]

    def __repr__(self) -> str:
        lines = [f"  {id}: {outcome}, distance {distance}" for id, outcome, distance in self.rows()]
        return "\n".join([self.words(), *lines])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in ("training series", "outcome", "distance"))
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in self.rows())
        return f"<p>{escape(self.words())}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True, eq=False, repr=False)
class Neighbours:
    """Training series as points, stored to find similar ones.

        model.save("folder", files=lt.insight.Neighbours.of(model, data, y).files())
        lt.insight.Neighbours.read("folder").similar(model, new)

    The folder then contains the ids and outcomes of training series, for anyone who receives it. They are stored only
    on request.

    Args:
        ids: (S,) ids as texts.
        outcomes: (S,) classes as texts, or values; None for forecasts.
        states: (S, E) scaled final state of each series in the space of the networks' units.
        centre: (E,) vector that is subtracted before scaling.
        scale: (E,) divisor.
        spread: median distance between two training series.
    """

    ids: Sequence[str]
    outcomes: Sequence[str | float] | None
    states: Floats
    centre: Floats
    scale: Floats
    spread: float

    @staticmethod
    def of(model: Any, data: SeriesSet, outcomes: Any = None, *, most: int = MOST_KEPT, seed: int = 0) -> Neighbours:
        """Return training series as points of a fitted model.

        Args:
            model: fitted estimator of any task.
            data: series, usually those that it was fitted to.
            outcomes: (S,) their classes or values; None for forecasts.
            most: largest number of series to store, drawn at random.
            seed: random seed of the draw.

        Raises:
            ValueError: there are no series, or the number of outcomes is not that of the series.

        """
        check_size("most", most)
        if len(data) == 0:
            raise ValueError("`data` must have at least one series; got none")
        rng = np.random.default_rng(seed)
        known = None if outcomes is None else np.asarray(outcomes)
        if known is not None and known.shape != (len(data),):
            raise ValueError(f"`outcomes` must be (S,) = ({len(data)},); got {known.shape}")
        if len(data) > most:
            rows = np.sort(rng.choice(len(data), most, replace=False))
            data, known = data[rows], None if known is None else known[rows]
        points = _points(model, data)
        centre, scale = points.mean(axis=0), points.std(axis=0)
        scale = np.where(scale > 1e-6, scale, 1.0).astype(np.float32)
        states = (points - centre) / scale
        pairs = rng.integers(0, len(data), (2, 2000))
        distances = np.linalg.norm(states[pairs[0]] - states[pairs[1]], axis=1)[pairs[0] != pairs[1]]
        spread = float(np.median(distances)) if len(distances) else 1.0
        kept: list[str | float] | None = None
        if known is not None:
            numeric = known.dtype.kind == "f" and not hasattr(model, "predict_proba")
            kept = [float(value) if numeric else str(value) for value in known.tolist()]
        return Neighbours([str(id) for id in data.ids.tolist()], kept, states, centre, scale, spread or 1.0)

    def similar(self, model: Any, data: SeriesSet, k: int = 5) -> list[SimilarSeries]:
        """Return the k training series most similar to each series; a series with the same id is left out.

        Args:
            model: model of the points.
            data: series.
            k: number of similar series.

        Raises:
            ValueError: the points are of another model.

        """
        check_size("k", k)
        points = _points(model, data)
        if points.shape[1] != self.states.shape[1]:
            raise ValueError("the stored series belong to another model; store them again with this one")
        found = []
        names = np.array(self.ids)
        for id, point in zip(data.ids.tolist(), (points - self.centre) / self.scale, strict=True):
            distance = np.linalg.norm(self.states - point, axis=1) / self.spread
            order = [row for row in np.argsort(distance, kind="stable").tolist() if names[row] != str(id)][:k]
            near = [
                Neighbour(self.ids[row], None if self.outcomes is None else self.outcomes[row], float(distance[row]))
                for row in order
            ]
            found.append(SimilarSeries(str(id), near))
        return found

    def files(self) -> dict[str, bytes]:
        """Return their files for a model folder."""
        named = {"format": _FORMAT, "ids": list(self.ids), "outcomes": self.outcomes, "spread": self.spread}
        tensors = {"states": self.states, "centre": self.centre, "scale": self.scale}
        return {
            NAMES: json_to_bytes(named),
            STATES: tensors_to_bytes({name: torch.from_numpy(array) for name, array in tensors.items()}),
        }

    @staticmethod
    def read(folder: str | Path) -> Neighbours | None:
        """Return the series that a model folder stores; None if there are none.

        Raises:
            FileNotFoundError: there is no such folder.
            DamagedFolder: a file in it was changed.

        """
        sealed = SealedFolder(Path(folder))
        if NAMES not in sealed.entries:
            return None
        named = json_from_bytes(sealed.read(NAMES, _LARGEST), NAMES, 3 * MOST_KEPT + 100)
        tensors = tensors_from_bytes(sealed.read(STATES, _LARGEST))
        try:
            return _checked(named, {name: tensor.numpy() for name, tensor in tensors.items()})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedFolder(f"{Path(folder) / NAMES} does not describe series: {error}") from error

    def __repr__(self) -> str:
        return f"Neighbours({len(self.ids):,} training series)"


def _checked(names: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Neighbours:
    if names["format"] != _FORMAT:
        raise ValueError("it is of a newer format. Update liquidtime.")
    ids, outcomes, spread = names["ids"], names["outcomes"], float(names["spread"])
    states, centre, scale = arrays["states"], arrays["centre"], arrays["scale"]
    if states.ndim != 2 or centre.shape != scale.shape or centre.shape != states.shape[1:]:
        raise ValueError("`states`, `centre` and `scale` do not fit together")
    if not all(array.dtype == np.float32 and np.isfinite(array).all() for array in (states, centre, scale)):
        raise ValueError("`states` must be finite float32")
    if not (scale > 0).all() or not spread > 0:
        raise ValueError("`scale` and `spread` must be over 0")
    if len(ids) != len(states) or not all(isinstance(id, str) for id in ids):
        raise ValueError("`ids` must be texts, one for each series")
    if outcomes is not None and (
        len(outcomes) != len(ids) or not all(isinstance(outcome, str | float | int) for outcome in outcomes)
    ):
        raise ValueError("`outcomes` must be texts or numbers, one for each series")
    return Neighbours(ids, outcomes, states, centre, scale, spread)


def _points(model: Any, data: SeriesSet) -> Floats:
    """Return (S, E) the read-out's hidden units after each series, of the first network of every time scale."""
    networks = networks_of(model)
    series, parts = networks.encode(data), []
    with torch.inference_mode():
        for place in range(len(networks.encoders_)):
            network = networks.networks_[place]
            rows: torch.Tensor | None = None
            for sample in SeriesBatches(series.prepared(place), PREDICT_BATCH):
                units = network.units_after(*sample[:5])
                if rows is None:
                    rows = units.new_empty(len(series), units.shape[1])
                rows[sample.rows] = units
            assert rows is not None
            parts.append(rows.float().numpy())
    return np.concatenate(parts, axis=1)


def _text(outcome: str | float) -> str:
    return outcome if isinstance(outcome, str) else f"{outcome:.4g}"
