"""Converts any kind of wiring to the immutable graph from which cells are made."""

from __future__ import annotations

from typing import Any

from liquidtime import wirings


def is_wiring(value: object) -> bool:
    """Return whether `value` is a wiring of `liquidtime.compat.ncps`, of `ncps` itself, or of `liquidtime.wirings`."""
    return isinstance(value, wirings.Wiring) or (hasattr(value, "adjacency_matrix") and hasattr(value, "is_built"))


def graph_of(wiring: Any, input_size: int | None) -> wirings.Adjacency:
    """Return the immutable graph of a wiring, built for `input_size` inputs if that is set.

    Args:
        wiring: a wiring of `liquidtime.compat.ncps`, of `ncps` itself, or of `liquidtime.wirings`.
        input_size: D; None for the number of inputs for which the wiring was built.

    Raises:
        TypeError: not a wiring.
        ValueError: the wiring is not built and `input_size` is None, or it was built for another number of inputs.

    """
    if not is_wiring(wiring):
        raise TypeError(f"`wiring` must be a wiring; got {type(wiring).__name__}")
    inputs = input_size
    if inputs is None:
        inputs = wiring.input_size if isinstance(wiring, wirings.Wiring) else wiring.input_dim
    if inputs is None:
        raise ValueError("`wiring` is not built and the number of inputs is unknown. Pass it, or build the wiring.")
    if isinstance(wiring, wirings.Wiring):
        return wiring.build(inputs)
    if input_size is not None:
        wiring.build(input_size)
    layers = [wiring.get_neurons_of_layer(index) for index in range(wiring.num_layers)]
    return wirings.Adjacency(wiring.adjacency_matrix, wiring.sensory_adjacency_matrix, wiring.output_dim, layers)
