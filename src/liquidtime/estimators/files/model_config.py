"""config.json of a model folder: its contents, and the checks before anything is built from it."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from liquidtime._provenance import versions
from liquidtime.estimators.network.front_end import least_weights as front_end_weights
from liquidtime.files.bounded import DamagedFolder, json_from_bytes
from liquidtime.networks import entry_of

FORMAT = 3
"""Format 1 had one encoder, under `encoder`, and one number of pieces; `read_config` returns it as a later one. Formats
1 and 2 had fewer parameters: see `ADDED`."""
ADDED: dict[str, Any] = {"budget": "quick", "front_end": None, "targets": None}
"""Parameters that were added with format 3, and their values for models of earlier formats."""
HERE = ("n_jobs", "device")
"""Parameters that depend on the machine, not on the model, and are not stored."""
LATER: dict[str, Any] = {
    "n_jobs": None,
    "device": "cpu",
    "known": None,
    "per_step": False,
    "threshold": None,
    "intervals": False,
    "labels": None,
    "summary": None,
}
"""Parameters that came later and are left out by models of any format that were made before."""
STACKED_FORMAT = 4
"""Format 3 for the networks of a stacked model: versions that know no stacks refuse it."""
_FIELDS = {
    "format": int,
    "kind": str,
    "params": dict,
    "encoders": list,
    "learned": dict,
    "members": int,
    "pieces": list,
    "features": (int, type(None)),
    "feature_names": (list, type(None)),
    "series": int,
    "seed": int,
    "metrics": dict,
    "versions": dict,
}
_MOST_VALUES, _MOST_CHARACTERS, _MOST_ENCODERS = 250_000, 1 << 24, 64
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+_-]{0,63}")
_TEXTS = "a list of different texts"


class VersionWarning(UserWarning):
    """A model was made with another major version of a package that computes its numbers."""


class ModelFolderError(DamagedFolder):
    """A model folder is inconsistent or impossible."""


def stored_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return an estimator's parameters for JSON."""
    stored = {name: value for name, value in params.items() if name not in HERE}
    if not isinstance(stored.get("network", ""), str):
        stored["network"] = {"callable": getattr(stored["network"], "__qualname__", type(stored["network"]).__name__)}
    if not isinstance(stored["random_state"], int | np.integer | None):
        stored["random_state"] = None
    if isinstance(stored.get("class_weight"), Mapping):
        pairs = stored["class_weight"].items()
        stored["class_weight"] = {"pairs": [[_plain(label), float(weight)] for label, weight in pairs]}
    return {name: _plain(value) for name, value in stored.items()}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def read_config(raw: bytes) -> dict[str, Any]:
    """Return the contents of config.json, after checking the types of all fields.

    Raises:
        ModelFolderError: not JSON, a newer format, a field that is missing, unknown or of another type.

    """
    try:
        stored = json_from_bytes(raw, "config.json", _MOST_VALUES)
    except DamagedFolder as error:
        raise ModelFolderError(str(error)) from error
    config: dict[str, Any] = stored if isinstance(stored, dict) else {}
    if not _is(config.get("format"), int):
        raise ModelFolderError("config.json has no `format`; it is not of a model folder")
    if config["format"] > STACKED_FORMAT:
        raise ModelFolderError(
            f"config.json has format {config['format']}; this version reads up to {STACKED_FORMAT}. Update liquidtime."
        )
    written = config["format"]
    if written == 1 and {"encoder", "pieces"} <= set(config) and "encoders" not in config:
        config = {**config, "encoders": [config["encoder"]], "pieces": [config["pieces"]]}
        del config["encoder"]
    missing, surplus = sorted(set(_FIELDS) - set(config)), sorted(set(config) - set(_FIELDS))
    if missing or surplus or written < 1:
        raise ModelFolderError(f"config.json is not of format {written}: missing {missing}, unknown {surplus}")
    for name, kind in _FIELDS.items():
        if not _is(config[name], kind):
            raise ModelFolderError(f"config.json has a `{name}` of type {type(config[name]).__name__}")
    encoders, pieces = config["encoders"], config["pieces"]
    if not all(_is(count, int) and count >= 0 for count in pieces):
        raise ModelFolderError(f"config.json has `pieces` {pieces}; whole numbers of at least 0 are needed")
    if not 1 <= len(encoders) == len(pieces) <= config["members"]:
        raise ModelFolderError(
            f"config.json has {len(encoders)} encoders, the pieces of {len(pieces)} and {config['members']} members; "
            "at least one encoder is needed, the pieces of each, and a member for each"
        )
    if len(encoders) > _MOST_ENCODERS:
        raise ModelFolderError(f"config.json has {len(encoders):,} encoders; at most {_MOST_ENCODERS} are read")
    for encoder in encoders:
        _check_encoder(encoder)
    for name, number in config["versions"].items():
        if not isinstance(number, str) or not _VERSION.fullmatch(number):
            raise ModelFolderError(f"config.json has `versions` with other than a version of {name[:40]!r}")
    for name in ("params", "encoders", "learned"):
        _check_finite(name, config[name])
    _check_classes(config["learned"].get("classes"))
    return config


def tell_other_versions(stored: Mapping[str, str]) -> None:
    """Warn if a model was made with another major version of a package that computes its numbers."""
    now = versions()
    other = [
        f"{name} {stored[name]} (here {now[name]})"
        for name in ("liquidtime", "torch", "numpy")
        if name in stored and stored[name].partition(".")[0] != now[name].partition(".")[0]
    ]
    if other:
        warnings.warn(
            f"the model was made with {', '.join(other)}; its predictions may differ slightly. Test it on data of "
            "your own.",
            VersionWarning,
            stacklevel=4,
        )


def _check_finite(name: str, value: Any) -> None:
    """Refuse numbers that are infinite, NaN or too long to compute with, at any depth."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, float) and not math.isfinite(item):
            raise ModelFolderError(f"config.json has `{name}` with the number {item}; finite ones are needed")
        elif isinstance(item, int) and abs(item) >= 1 << 64:
            raise ModelFolderError(f"config.json has `{name}` with a whole number of more than 64 bits")


def _check_classes(classes: Any) -> None:
    """Refuse texts of which an array, as wide as its longest everywhere, would be far larger than they are."""
    texts = [item for item in classes if isinstance(item, str)] if isinstance(classes, list) else []
    if texts and max(map(len, texts)) * len(texts) > _MOST_CHARACTERS:
        raise ModelFolderError(
            f"config.json has {len(texts):,} classes, the longest of {max(map(len, texts)):,} characters: too much"
        )


def read_params(config: Mapping[str, Any], known: Collection[str], network: Any) -> dict[str, Any]:
    """Return an estimator's parameters from those stored.

    Args:
        config: as `read_config` returned it; its `params` are as `stored_params` returned them.
        known: the names of those that the estimator has.
        network: the caller's function, where the stored one was a function.
    """
    added = {name: value for name, value in ADDED.items() if name in known} if config["format"] < 3 else {}
    later = {name: value for name, value in LATER.items() if name in known}
    params: dict[str, Any] = later | added | config["params"]
    if isinstance(params.get("network"), dict):
        if network is None:
            raise ModelFolderError(
                f"the model's network is the function {params['network'].get('callable')!r}, and functions are never "
                "stored. Pass it: load(path, network=...)."
            )
        params["network"] = network
    elif network is not None:
        raise ModelFolderError(f"the model's network is {params.get('network')!r}; leave `network` out")
    weight = params.get("class_weight")
    if isinstance(weight, dict):
        params["class_weight"] = {label: float(value) for label, value in weight["pairs"]}
    return params


def check_sizes(
    params: Mapping[str, Any],
    members: int,
    D: int,
    pieces: int,
    outputs: int,
    elements: int,
    tensors: int,
    front_end: str | None = None,
) -> None:
    """Refuse a configuration that needs more weights or tensors than its file has, before anything is built from it.

    Args:
        params: of the estimator.
        members: networks.
        D: inputs of a network.
        pieces: of its read-out.
        outputs: likewise.
        elements: numbers in the file.
        tensors: that they are in.
        front_end: of the networks.
    """
    H, U, layers, R = (params[name] for name in ("hidden_size", "backbone_units", "num_layers", "read_out_units"))
    if isinstance(params["network"], str):
        entry, D = entry_of(params["network"]), D if front_end is None else 2 * H
        least, least_tensors = entry.least_weights(D, H, U, layers), entry.least_tensors(layers)
    else:
        H, U, least, least_tensors = 1, 1, layers, layers  # a function sets its own sizes
    if front_end is not None:
        least += front_end_weights(params["hidden_size"])
    least = members * (least + R * (3 * H + pieces + outputs))
    if members * least_tensors > tensors:
        raise ModelFolderError(
            f"config.json asks for at least {members * least_tensors:,} tensors (`members` {members}, `num_layers` "
            f"{layers}), but model.safetensors holds {tensors:,}"
        )
    if least > elements:
        raise ModelFolderError(
            f"config.json asks for at least {least:,} weights (`members` {members}, `num_layers` {layers}, "
            f"`hidden_size` {H}, `backbone_units` {U}, `read_out_units` {R}, `pieces` {pieces}), but "
            f"model.safetensors holds {elements:,} numbers"
        )


def _check_encoder(encoder: Any) -> None:
    if not isinstance(encoder, dict):
        raise ModelFolderError(f"config.json has an encoder of type {type(encoder).__name__}")
    for name in ("channels", "static_names"):
        if not _texts(encoder.get(name)):
            raise ModelFolderError(f"config.json has an encoder whose `{name}` are not {_TEXTS}")
    categories = encoder.get("categories")
    if not isinstance(categories, dict) or not all(_texts(labels) for labels in categories.values()):
        raise ModelFolderError(f"config.json has an encoder whose `categories` are not each {_TEXTS}")
    known = {*encoder["channels"], *encoder["static_names"]}
    if not set(categories) <= known:
        raise ModelFolderError("config.json has an encoder with categories of what it does not have")
    flags = encoder.get("static_flags")
    if not isinstance(flags, list) or not all(isinstance(flag, bool) for flag in flags):
        raise ModelFolderError("config.json has an encoder whose `static_flags` are not truth values")
    if not isinstance(encoder.get("time_unit"), str | None):
        raise ModelFolderError("config.json has an encoder whose `time_unit` is not a text")
    for name in ("clip", "bin_width", "time_scale"):
        value = encoder.get(name)
        if not (_is(value, (int, float)) or (value is None and name != "time_scale")):
            raise ModelFolderError(f"config.json has an encoder whose `{name}` is not a number")
    if not isinstance(encoder.get("log"), bool) and not _texts(encoder.get("log")):
        raise ModelFolderError("config.json has an encoder whose `log` is neither a truth value nor names")
    if not _texts(encoder.get("blocks")):
        raise ModelFolderError(f"config.json has an encoder whose `blocks` are not {_TEXTS}")


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value) and len(set(value)) == len(value)


def _is(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and (not isinstance(value, bool) or kind is bool)
