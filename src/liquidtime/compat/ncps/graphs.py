"""From a wiring of any kind to the immutable graph that cells are made of."""

from __future__ import annotations

from typing import Any

from liquidtime import wirings


def is_wiring(given: object) -> bool:
    """Return whether `given` is a wiring of `liquidtime.compat.ncps`, of `ncps` itself, or of `liquidtime.wirings`."""
    return isinstance(given, wirings.Wiring) or (hasattr(given, "adjacency_matrix") and hasattr(given, "is_built"))


def graph_of(wiring: Any, input_size: int | None) -> wirings.Adjacency:
    """Return the immutable graph of a wiring, which is built for `input_size` inputs if that is given.

    Args:
        wiring: of `liquidtime.compat.ncps`, of `ncps` itself, or of `liquidtime.wirings`.
        input_size: D; None takes the number that the wiring was built for.

    Raises:
        TypeError: something that is no wiring.
        ValueError: a wiring that is not built, without `input_size`, or built for another number.

    """
    if not is_wiring(wiring):
        raise TypeError(f"`wiring` must be a wiring; got {type(wiring).__name__}")
    inputs = input_size
    if inputs is None:
        inputs = wiring.input_size if isinstance(wiring, wirings.Wiring) else wiring.input_dim
    if inputs is None:
        raise ValueError("`wiring` is not built and the number of inputs is not given. Give it, or build the wiring.")
    if isinstance(wiring, wirings.Wiring):
        return wiring.build(inputs)
    if input_size is not None:
        wiring.build(input_size)
    layers = [wiring.get_neurons_of_layer(index) for index in range(wiring.num_layers)]
    return wirings.Adjacency(wiring.adjacency_matrix, wiring.sensory_adjacency_matrix, wiring.output_dim, layers)
