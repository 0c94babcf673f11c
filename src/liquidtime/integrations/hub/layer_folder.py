"""A layer as a folder: config.json with its arguments, model.safetensors, README.md, and manifest.json."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from liquidtime import wirings
from liquidtime._provenance import versions
from liquidtime.estimators.files.model_card import FRONT_MATTER
from liquidtime.estimators.files.model_config import ModelFolderError
from liquidtime.estimators.files.model_folder import CARD, CONFIG, WEIGHTS
from liquidtime.files.bounded import LARGEST_HEADER, DamagedFolder, TensorEntry, json_from_bytes, tensor_entries
from liquidtime.files.contents import json_to_bytes, tensors_from_bytes, tensors_to_bytes
from liquidtime.files.folders import write_folder
from liquidtime.files.sealed import SealedFolder
from liquidtime.layers import LTC, CfC, Recurrent
from liquidtime.training import isolated_rng
from liquidtime.training.checkpoint import compare_tensors, load_model_tensors, model_tensors
from liquidtime.wirings import Wiring

KINDS: dict[str, type[Recurrent]] = {"CfC": CfC, "LTC": LTC}
FORMAT = 1
_LARGEST_CONFIG, _LARGEST_WEIGHTS, _MOST_VALUES, _SPARE = 1 << 22, 1 << 34, 1 << 20, 1 << 22


def save_layer(layer: Recurrent, path: Path) -> None:
    """Write a layer, completely or not at all.

    Args:
        layer: a `CfC` or an `LTC`.
        path: the folder; an existing folder with a model is replaced and kept as `<name>.previous`.

    Raises:
        TypeError: another type of layer, an argument that is not plain, or parts that do not result from its arguments.

    """
    kind = type(layer).__name__
    if KINDS.get(kind) is not type(layer):
        raise TypeError(f"only CfC and LTC layers can be saved with their arguments; got {kind}")
    constructor_arguments: Any = layer.constructor_arguments
    arguments = {name: _plain(name, value) for name, value in constructor_arguments.items()}
    tensors = {name: tensor.cpu().contiguous() for name, tensor in model_tensors(layer).items()}
    try:
        compare_tensors(_empty(kind, arguments), tensors, "the layer")
    except ValueError as error:
        raise TypeError(
            f"the layer was changed after its construction, so its arguments do not describe it: {error}"
        ) from None
    config = {"format": FORMAT, "layer": kind, "arguments": arguments, "versions": versions()}
    count = sum(tensor.numel() for tensor in tensors.values())
    files = {
        CONFIG: json_to_bytes(config),
        WEIGHTS: tensors_to_bytes(tensors),
        CARD: _card(kind, arguments, count).encode(),
    }
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    write_folder(path.absolute(), files)


def is_layer_folder(path: Path) -> bool:
    """Return whether a folder contains a layer, and not an estimator, according to its config."""
    return "layer" in _config(SealedFolder(path))


def load_layer(path: Path) -> Recurrent:
    """Return the layer that `save_layer` wrote, in training mode like a new layer.

    Raises:
        ModelFolderError: the format is newer, the layer does not have an argument, or the tensors do not fit.
        DamagedFolder: a file is missing or has another sha256.

    """
    sealed = SealedFolder(path)
    config = _config(sealed)
    if (
        config.get("format") != FORMAT
        or config.get("layer") not in KINDS
        or not isinstance(config.get("arguments"), dict)
    ):
        raise ModelFolderError(
            f"{CONFIG} must have format {FORMAT}, a layer of {', '.join(KINDS)} and its arguments; got format "
            f"{config.get('format')!r}, layer {str(config.get('layer'))[:40]!r}"
        )
    size = sealed.size(WEIGHTS, _LARGEST_WEIGHTS)
    entries = tensor_entries(sealed.peek(WEIGHTS, min(size, LARGEST_HEADER + 8)), size)
    try:
        _refuse_large(config["arguments"], entries)
        compare_tensors(_empty(config["layer"], config["arguments"]), entries, WEIGHTS)
        with isolated_rng(0):
            layer = _made(config["layer"], config["arguments"])
        tensors = tensors_from_bytes(sealed.read(WEIGHTS, size))
        for name, tensor in tensors.items():
            if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
                raise ValueError(f"{WEIGHTS} has {name!r} with numbers that are not finite")
        kinds = {tensor.dtype for tensor in tensors.values() if tensor.is_floating_point()}
        if len(kinds) == 1:
            layer = layer.to(kinds.pop())
        load_model_tensors(layer, tensors, WEIGHTS)
    except (ValueError, TypeError, KeyError, OverflowError, RuntimeError) as error:
        raise ModelFolderError(f"{path / CONFIG} does not describe a layer: {error}") from error
    return layer


def _config(sealed: SealedFolder) -> dict[str, Any]:
    config = json_from_bytes(sealed.read(CONFIG, _LARGEST_CONFIG), CONFIG, _MOST_VALUES)
    if not isinstance(config, dict):
        raise DamagedFolder(f"{CONFIG} must be an object; got {type(config).__name__}")
    return config


def _plain(name: str, value: Any) -> Any:
    """Return an argument as a value for JSON, or refuse it."""
    if isinstance(value, Wiring):
        return value.to_dict()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple):
        return [_plain(name, item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"`{name}` of the layer is a {type(value).__name__}, which is code and cannot be saved; pass a name"
    )


def _made(kind: str, arguments: Mapping[str, Any]) -> Recurrent:
    known = inspect.signature(KINDS[kind].__init__).parameters
    for name in arguments:
        if name not in known:
            raise ValueError(f"{kind} has no argument {name[:40]!r}")
    options = dict(arguments)
    if options.get("wiring") is not None:
        options["wiring"] = wirings.from_dict(options["wiring"])
    if isinstance(options.get("switch_times"), list):
        options["switch_times"] = tuple(options["switch_times"])
    return KINDS[kind](**options)


def _empty(kind: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tensors of a layer with these arguments, without allocating memory for them."""
    with isolated_rng(0), torch.device("meta"):
        return dict(model_tensors(_made(kind, arguments)))


def _refuse_large(arguments: Mapping[str, Any], entries: Mapping[str, TensorEntry]) -> None:
    """Refuse sizes that cannot belong to the file of weights, before anything of that size is allocated."""
    elements = sum(entry.elements for entry in entries.values())
    for name, value in arguments.items():
        if type(value) is int and value > (len(entries) if name.endswith("layers") else elements):
            raise ValueError(f"`{name}` is {value:,}; {WEIGHTS} has {elements:,} numbers in {len(entries)} tensors")
    wiring = arguments.get("wiring") or {}
    sizes = [value for name, value in wiring.items() if type(value) is int and name != "seed"]
    if any(value * value > 64 * elements + _SPARE for value in sizes):
        raise ValueError(f"`wiring` has too many neurons for {WEIGHTS} with {elements:,} numbers")


def _card(kind: str, arguments: Mapping[str, Any], weights: int) -> str:
    rows = "\n".join(f"| {name} | {str(value)[:80].replace('|', ' ')} |" for name, value in arguments.items())
    return (
        f"{FRONT_MATTER}# A layer {kind}\n\nA layer of {weights:,} weights over irregularly sampled sequences.\n\n"
        f'```python\nimport liquidtime as lt\n\nlayer = lt.{kind}.from_pretrained("owner/name")\n'
        "y, h = layer(x, dt=dt)\n```\n\n"
        f"| argument | value |\n|---|---|\n{rows}\n\n`manifest.json` has the sha256 of every file.\n"
    )
