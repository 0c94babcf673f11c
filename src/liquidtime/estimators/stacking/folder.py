"""A stacked model as a folder: that of its networks, and beside their files stack.json and stack.safetensors.

Trees, kernels and linear weights are plain arrays; nothing is ever unpickled, and what either file says is bounded and
compared with the other and with the networks before it is used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from liquidtime.errors import unknown_choice
from liquidtime.estimators.files.model_config import LATER
from liquidtime.estimators.files.model_folder import STACK, STACK_ARRAYS
from liquidtime.estimators.files.model_folder import save as save_networks
from liquidtime.estimators.stacking import STACKED
from liquidtime.estimators.stacking.base import StackedEstimator
from liquidtime.estimators.stacking.fitting import CONVOLUTIONS, NETWORKS, RICH, TABLES, FeaturePart, StackPart
from liquidtime.estimators.stacking.linear_part import LinearPart
from liquidtime.estimators.stacking.stored_features import (
    restored_convolutions,
    restored_rich,
    stored_convolutions,
    stored_rich,
)
from liquidtime.estimators.stacking.tree_part import TreePart
from liquidtime.training.artifact import json_to_bytes, tensors_from_bytes, tensors_to_bytes
from liquidtime.training.bounded import json_from_bytes
from liquidtime.training.sealed import SealedFolder

FORMAT = 1
_LARGEST, _LARGEST_ARRAYS, _MOST_VALUES = 1 << 24, 1 << 32, 1_000_000
_FIELDS = ("format", "kind", "params", "seed", "temperature", "figures", "parts", "features", "learners", "inputs")
_LATER: dict[str, Any] = {"learned": {}}
"""Fields that came later, and what models have that were made before."""
Arrays = dict[str, npt.NDArray[Any]]


def save(
    model: StackedEstimator, path: str | Path, metrics: Mapping[str, Any] | None, files: Mapping[str, bytes] | None
) -> None:
    """Write a fitted stack; arguments as `StackedEstimator.save` takes them."""
    seed = model.random_state
    facts: dict[str, Any] = {
        "format": FORMAT,
        "kind": type(model).__name__,
        "params": model.get_params(deep=False) | {"random_state": int(seed) if isinstance(seed, int) else None},
        "seed": model.seed_,
        "temperature": model.temperature_,
        "figures": model.figures_,
        "parts": [{"name": part.name, "weight": part.weight, "figures": dict(part.figures)} for part in model.parts_],
        "features": {},
        "learners": {},
        "learned": model._learned(),
        "inputs": {
            "features": getattr(model, "n_features_in_", None),
            "names": [str(name) for name in getattr(model, "feature_names_in_", ())] or None,
        },
    }
    arrays: Arrays = {}
    if RICH in model._features:
        facts["features"][RICH] = stored_rich(model._features[RICH])
    if CONVOLUTIONS in model._features:
        facts["features"][CONVOLUTIONS], kernels = stored_convolutions(model._features[CONVOLUTIONS])
        arrays |= {f"kernels/{name}": array for name, array in kernels.items()}
    for name, part in model._feature_parts.items():
        facts["learners"][name] = []
        for place, learner in enumerate(part.learners):
            about, own = learner.stored()
            facts["learners"][name].append(about)
            arrays |= {f"{name}/{place}/{key}": array for key, array in own.items()}
    tensors = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
    stack = {STACK: json_to_bytes(facts), STACK_ARRAYS: tensors_to_bytes(tensors)}
    save_networks(
        model.cfc_,
        path,
        metrics,
        files,
        stack=stack,
        parts=model._facts()["parts"],
        seed=facts["params"]["random_state"],
    )


def load(networks: Any, sealed: SealedFolder) -> StackedEstimator:
    """Return the stack of a folder whose networks have been read.

    Args:
        networks: their estimator.
        sealed: the folder.

    Raises:
        ValueError: what is not a stack, or does not fit together.
        DamagedFolder: a file that is too large or not as it was written.

    """
    facts = json_from_bytes(sealed.read(STACK, _LARGEST), STACK, _MOST_VALUES)
    if not isinstance(facts, dict) or type(facts.get("format")) is not int:
        raise ValueError(f"{STACK} has no `format`; it is not of a stacked model")
    if facts["format"] > FORMAT:
        raise ValueError(f"{STACK} has format {facts['format']}; this version reads up to {FORMAT}. Update liquidtime.")
    facts = {**_LATER, **facts}
    if set(facts) != {*_FIELDS, *_LATER}:
        raise ValueError(f"{STACK} must have {', '.join(_FIELDS)}; got {', '.join(facts)}")
    if facts["kind"] not in STACKED:
        raise unknown_choice("kind", facts["kind"], STACKED)
    kind = STACKED[facts["kind"]]
    if type(networks) is not kind._face:
        raise ValueError(f"{STACK} is of a {facts['kind']}, whose networks are not those of the folder")
    raw = sealed.read(STACK_ARRAYS, _LARGEST_ARRAYS)
    arrays = {name: tensor.numpy() for name, tensor in tensors_from_bytes(raw).items()}
    model: StackedEstimator = kind(**_params(facts["params"], kind))
    model._restore(networks)
    model._relearn(facts["learned"])
    model.seed_ = facts["seed"]
    model.temperature_ = _number("temperature", facts["temperature"], 1e3)
    model.figures_ = _figures(facts["figures"])
    model.parts_ = [
        StackPart(str(part["name"]), _number("weight", part["weight"], 1.0), _figures(part["figures"]))
        for part in facts["parts"]
    ]
    model._features = _features(facts["features"], arrays, networks)
    model._feature_parts = _parts(facts["learners"], arrays, model, networks)
    if arrays:
        raise ValueError(f"{STACK_ARRAYS} has {next(iter(arrays))!r}, which {STACK} does not know: surplus")
    _check_weights(model)
    _set_inputs(model, facts["inputs"])
    return model


def _params(params: Any, kind: type[StackedEstimator]) -> dict[str, Any]:
    known = kind._get_param_names()
    if not isinstance(params, dict):
        raise ValueError(f"{STACK} has `params` that are none")
    later = {name: value for name, value in LATER.items() if name in known}
    params = {**later, **params}
    if set(params) != set(known):
        raise ValueError(f"{STACK} has other `params` than {kind.__name__}")
    for name in ("n_networks", "n_splits", "random_state"):
        if type(params[name]) is not int and not (params[name] is None and name != "n_networks"):
            raise ValueError(f"`{name}` must be a whole number; got {params[name]!r}")
    checked: dict[str, Any] = params
    return checked


def _features(stored: Any, arrays: Arrays, networks: Any) -> dict[str, Any]:
    """Return the fitted features by table; their arrays are taken out."""
    if not isinstance(stored, dict) or not set(stored) <= {RICH, CONVOLUTIONS}:
        raise ValueError(f"`features` must be {RICH} or {CONVOLUTIONS}")
    features: dict[str, Any] = {}
    if RICH in stored:
        features[RICH] = restored_rich(stored[RICH], networks.encoder_)
    if CONVOLUTIONS in stored:
        own = _taken(arrays, "kernels/")
        features[CONVOLUTIONS] = restored_convolutions(stored[CONVOLUTIONS], own, networks.encoder_)
    return features


def _parts(stored: Any, arrays: Arrays, model: StackedEstimator, networks: Any) -> dict[str, FeaturePart]:
    """Return the parts that read features by name; their arrays are taken out."""
    if not isinstance(stored, dict) or not set(stored) <= set(TABLES):
        raise ValueError(f"`learners` must be of {', '.join(TABLES)}")
    K = len(networks.classes_) if hasattr(networks, "classes_") else 0
    count = 1 if K else max(1, networks.n_outputs_)
    parts = {}
    for name, learners in stored.items():
        table = TABLES[name]
        if table not in model._features or not isinstance(learners, list) or len(learners) != count:
            raise ValueError(f"{name} must have its features, and one learner per target, {count}")
        width = len(model._features[table].names_)
        restored: list[TreePart | LinearPart] = []
        for place, facts in enumerate(learners):
            own = _taken(arrays, f"{name}/{place}/")
            if name == "convolutions":
                restored.append(LinearPart.restored(facts, own, K, width))
            else:
                restored.append(TreePart.restored(name, facts, own, K, width))
        parts[name] = FeaturePart(table, tuple(restored))
    return parts


def _taken(arrays: Arrays, prefix: str) -> Arrays:
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    for name in own:
        del arrays[prefix + name]
    return own


def _check_weights(model: StackedEstimator) -> None:
    weights = {part.name: part.weight for part in model.parts_}
    used = {name for name, weight in weights.items() if weight > 0}
    if len(weights) != len(model.parts_) or NETWORKS not in weights or used - {NETWORKS} != set(model._feature_parts):
        raise ValueError("`parts` must be different ones, the networks among them, and those with weight be stored")
    if abs(sum(weights.values()) - 1.0) > 1e-6:
        raise ValueError("the weights of `parts` must sum to one")


def _set_inputs(model: StackedEstimator, inputs: Any) -> None:
    if type(inputs["features"]) is int:
        model.n_features_in_ = inputs["features"]
    if isinstance(inputs["names"], list):
        model.feature_names_in_ = np.array([str(name) for name in inputs["names"]], dtype=object)


def _number(name: str, number: Any, most: float) -> float:
    if not isinstance(number, int | float) or isinstance(number, bool) or not 0 <= number <= most:
        raise ValueError(f"`{name}` must be a number from 0 to {most:g}; got {number!r}")
    return float(number)


def _figures(stored: Any) -> dict[str, float]:
    if not isinstance(stored, dict) or not all(
        isinstance(value, int | float) and math.isfinite(value) for value in stored.values()
    ):
        raise ValueError("`figures` must be finite numbers by name")
    return {str(name): float(value) for name, value in stored.items()}
