"""Graphs of neurons: immutable recipes that can be built for any number of inputs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any

from liquidtime._checks import check_choice
from liquidtime.errors import nearest
from liquidtime.wirings.adjacency import Adjacency
from liquidtime.wirings.auto_ncp import AutoNCP
from liquidtime.wirings.fully_connected import FullyConnected
from liquidtime.wirings.ncp import NCP
from liquidtime.wirings.random import Random
from liquidtime.wirings.wiring import Wiring, neurons_of

__all__ = [
    "NCP",
    "Adjacency",
    "AutoNCP",
    "FullyConnected",
    "Random",
    "Wiring",
    "from_dict",
    "from_json",
    "neurons_of",
]

_TYPES: dict[str, type[Wiring]] = {
    "Adjacency": Adjacency,
    "AutoNCP": AutoNCP,
    "FullyConnected": FullyConnected,
    "NCP": NCP,
    "Random": Random,
}


def from_dict(d: Mapping[str, Any]) -> Wiring:
    """Return the wiring that `to_dict` wrote.

    Args:
        d: a dict with "type", the name of the class, and its arguments by name.

    Raises:
        ValueError: a type or key is unknown (the message names the nearest one), a key is missing, or a value is out of
            range.

    """
    if not isinstance(d, Mapping):
        raise TypeError(f"`d` must be a dict with the type and arguments of a wiring; got {type(d).__name__}")
    if "type" not in d:
        raise ValueError(f"`d` must have the key 'type', one of {', '.join(_TYPES)}; got the keys {sorted(d)}")
    name = d["type"]
    check_choice("type", name, _TYPES)
    arguments = {key: value for key, value in d.items() if key != "type"}
    parameters = signature(_TYPES[name]).parameters
    for key in arguments:
        if key not in parameters:
            raise ValueError(f"`{key}` is not a key of {name}{nearest(str(key), parameters)}")
    for key, parameter in parameters.items():
        if parameter.default is Parameter.empty and key not in arguments:
            raise ValueError(f"`d` must have the key {key!r} to make a {name}; got the keys {sorted(d)}")
    return _TYPES[name](**arguments)


def from_json(s: str) -> Wiring:
    """Return the wiring that `to_json` wrote.

    Raises:
        ValueError: the text is not JSON, or `from_dict` refuses it.

    """
    try:
        d = json.loads(s)
    except json.JSONDecodeError as error:
        raise ValueError(f"`s` must be JSON written by `to_json`: {error}") from None
    return from_dict(d)
