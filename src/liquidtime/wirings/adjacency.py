"""A graph of neurons as matrices: the result of building any wiring, and itself a wiring for any graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime._checks import check_size, named_arguments
from liquidtime.errors import wrong_shape
from liquidtime.wirings.wiring import Layers, Wiring, one_layer

Polarity = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Adjacency(Wiring):
    """A wiring with the given synapses.

        adjacency[i, j] = +1: neuron i excites neuron j,   -1: it inhibits it,   0: no synapse

    Args:
        adjacency: (H, H) polarity of the synapse from neuron i (row) to neuron j (column).
        sensory: (D, H) polarity of the synapse from input i (row) to neuron j (column).
        output_size: number of motor neurons; None for H.
        layers: the neurons of each layer in the order in which signals flow, each neuron in exactly one layer; None for
            a single layer.

    Raises:
        ValueError: shapes or entries of the matrices are wrong, there are more outputs than neurons, or `layers` does
            not contain every neuron exactly once.

    """

    adjacency: Polarity
    sensory: Polarity
    output_size: int
    layers: Layers

    @named_arguments
    def __init__(
        self,
        adjacency: Any,
        sensory: Any,
        output_size: int | None = None,
        layers: Iterable[Iterable[int]] | None = None,
    ) -> None:
        adjacency, sensory = _polarity("adjacency", adjacency), _polarity("sensory", sensory)
        H, D = adjacency.shape[0], sensory.shape[0]
        if adjacency.shape != (H, H) or H == 0:
            raise ValueError(
                f"`adjacency` must be square, of shape (H, H) with H at least 1; got {adjacency.shape}. "
                "Rows are the neurons where synapses start, columns the neurons where they end."
            )
        if sensory.shape != (D, H):
            raise wrong_shape("sensory", "(D, H)", ("D", H), sensory.shape, "One row per input, one column per neuron.")
        outputs = H if output_size is None else check_size("output_size", output_size)
        if outputs > H:
            raise ValueError(f"`output_size` must be at most the number of neurons, {H}; got {outputs}")
        parts = one_layer(H) if layers is None else _partition(layers, H)
        self._set(
            adjacency=_read_only(adjacency),
            sensory=_read_only(sensory),
            output_size=outputs,
            layers=parts,
            units=H,
            input_size=D,
        )

    @property
    def synapse_count(self) -> int:
        """Number of synapses between neurons."""
        return int(np.count_nonzero(self.adjacency))

    @property
    def sensory_synapse_count(self) -> int:
        """Number of synapses from the inputs."""
        return int(np.count_nonzero(self.sensory))

    def build(self, input_size: int) -> Adjacency:
        """Return this wiring itself, if it has `input_size` inputs."""
        if check_size("input_size", input_size) != self.input_size:
            raise ValueError(
                f"`wiring` was made for {self.input_size} inputs; got input_size {input_size}. "
                f"Use {self.input_size} inputs, or build a wiring for {input_size}."
            )
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the matrices as nested lists; `wirings.from_dict` is the inverse."""
        return {
            "type": "Adjacency",
            "adjacency": self.adjacency.tolist(),
            "sensory": self.sensory.tolist(),
            "output_size": self.output_size,
            "layers": [list(layer) for layer in self.layers],
        }

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Adjacency) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (
            f"Adjacency(units={self.units}, input_size={self.input_size}, output_size={self.output_size}, "
            f"synapses={self.synapse_count}, sensory_synapses={self.sensory_synapse_count})"
        )

    def __reduce__(self) -> tuple[type[Adjacency], tuple[Any, ...]]:
        # Uses the constructor because a copied array would be writeable again.
        return Adjacency, (np.array(self.adjacency), np.array(self.sensory), self.output_size, self.layers)

    def _key(self) -> tuple[object, ...]:
        shape = (self.input_size, self.units)
        return shape, self.adjacency.tobytes(), self.sensory.tobytes(), self.output_size, self.layers


def _polarity(argument: str, entries: Any) -> Polarity:
    try:
        matrix = np.asarray(entries)
    except ValueError:
        raise ValueError(f"`{argument}` must be a matrix; its rows have different lengths.") from None
    if matrix.dtype.kind not in "iuf":
        raise TypeError(f"`{argument}` must be a matrix of -1, 0 and 1; got {matrix.dtype}")
    if matrix.ndim != 2:
        raise ValueError(f"`{argument}` must be a matrix; got shape {matrix.shape}")
    bad = ~np.isin(matrix, (-1, 0, 1))
    if bad.any():
        i, j = (int(index) for index in np.argwhere(bad)[0])
        raise ValueError(
            f"`{argument}` must have entries -1, 0 and 1 only; {int(bad.sum())} of {matrix.size} are not. "
            f"The first is {matrix[i, j]} at [{i}, {j}]. Weights belong to the network."
        )
    return matrix.astype(np.int8)


def _read_only(matrix: Polarity) -> Polarity:
    # Memory of a bytes object, unlike an array's own, cannot be made writeable again.
    return np.frombuffer(matrix.tobytes(), dtype=np.int8).reshape(matrix.shape)


def _partition(layers: Iterable[Iterable[int]], units: int) -> Layers:
    parts = tuple(tuple(check_size("layers", i, least=0) for i in layer) for layer in layers)
    listed = [i for layer in parts for i in layer]
    beyond = sorted({i for i in listed if i >= units})
    twice = sorted({i for i in listed if listed.count(i) > 1})
    missing = sorted(set(range(units)) - set(listed))
    for fault, neurons in (
        ("are not neurons", beyond),
        ("are there more than once", twice),
        ("are missing", missing),
    ):
        if neurons:
            raise ValueError(
                f"`layers` must contain each neuron of 0…{units - 1} exactly once; {neurons} {fault}. "
                "Leave `layers` out for a single layer."
            )
    if not all(parts):
        raise ValueError(f"`layers` must not contain empty layers; layer {parts.index(())} is empty. Leave it out.")
    return parts
