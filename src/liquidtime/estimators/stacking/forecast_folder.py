"""A stacked forecaster as a folder: that of its networks, and beside their files stack.json and stack.safetensors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from liquidtime.estimators.faces.forecaster import CfCForecaster
from liquidtime.estimators.files.model_config import LATER, stored_params
from liquidtime.estimators.files.model_folder import STACK, STACK_ARRAYS
from liquidtime.estimators.files.model_folder import save as save_networks
from liquidtime.estimators.forecast import Standard
from liquidtime.estimators.forecast.stored import read_blend, stored_blend
from liquidtime.estimators.stacking.fitting import NETWORKS, StackPart
from liquidtime.estimators.stacking.forecaster import NAMES, StackedForecaster, lag_features, numeric_places
from liquidtime.estimators.stacking.lag_models import Arrays, LagModels
from liquidtime.estimators.stacking.stored_numbers import figures_of, inputs_of, number_of, set_inputs
from liquidtime.files.contents import json_to_bytes, tensors_to_bytes

FORMAT = 1
_FIELDS = ("format", "kind", "params", "seed", "figures", "parts", "standard", "models", "blend", "inputs")


def save(
    model: StackedForecaster, path: str | Path, metrics: Mapping[str, Any] | None, files: Mapping[str, bytes] | None
) -> None:
    """Write a fitted stack; arguments as `StackedForecaster.save` takes them."""
    features = model._features
    standard = Standard(features.centre, features.scale, np.zeros(len(features.scale), dtype=np.bool_))
    models, arrays = model._lags.stored()
    params = stored_params(model.get_params(deep=False))
    for name in ("targets", "known"):
        params[name] = None if params[name] is None else [str(channel) for channel in params[name]]
    facts = {
        "format": FORMAT,
        "kind": type(model).__name__,
        "params": params,
        "seed": model.seed_,
        "figures": model.figures_,
        "parts": [{"name": part.name, "weight": part.weight, "figures": dict(part.figures)} for part in model.parts_],
        "standard": standard.to_dict(),
        "models": models,
        "blend": stored_blend(model.blend_),
        "inputs": inputs_of(model),
    }
    tensors = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
    stack = {STACK: json_to_bytes(facts), STACK_ARRAYS: tensors_to_bytes(tensors)}
    save_networks(model.cfc_, path, metrics, files, stack=stack, parts=model._facts()["parts"])


def restored(facts: Mapping[str, Any], arrays: Arrays, networks: Any) -> StackedForecaster:
    """Return the stack that a folder holds; the folder may come from an untrusted source.

    Args:
        facts: of `STACK`.
        arrays: of `STACK_ARRAYS`; they are taken out.
        networks: the estimator of the folder's networks.

    Raises:
        ValueError: what is not a stack, or does not fit together.

    """
    if set(facts) != set(_FIELDS):
        raise ValueError(f"{STACK} must have {', '.join(_FIELDS)}; got {', '.join(facts)}")
    if type(networks) is not CfCForecaster or networks._carried is not None:
        raise ValueError(f"{STACK} is of a {facts['kind']}, whose networks are not those of the folder")
    model = StackedForecaster(**_params(facts["params"]))
    model.seed_, model.figures_ = facts["seed"], figures_of(facts["figures"])
    names = [NETWORKS, *NAMES[1:]]
    if [part["name"] for part in facts["parts"]] != names:
        raise ValueError(f"`parts` must be {', '.join(names)}")
    model.parts_ = [
        StackPart(name, number_of("weight", part["weight"], 1.0 + 1e-6), figures_of(part["figures"]))
        for name, part in zip(names, facts["parts"], strict=True)
    ]
    features = lag_features(networks, Standard.from_dict(facts["standard"], len(numeric_places(networks))))
    C = len(networks.channels_)
    model.blend_ = read_blend(facts["blend"], C, NAMES)
    model._lags = LagModels.restored(facts["models"], arrays, C, *features.widths(networks.encoder_.static_size_))
    model._restore(networks, features)
    set_inputs(model, facts["inputs"])
    return model


def _params(params: Any) -> dict[str, Any]:
    known = StackedForecaster._get_param_names()
    if isinstance(params, dict):
        params = {**{name: value for name, value in LATER.items() if name in known}, **params}
    if not isinstance(params, dict) or set(params) != set(known):
        raise ValueError(f"{STACK} has other `params` than {StackedForecaster.__name__}")
    for name in ("n_networks", "n_splits", "random_state"):
        if type(params[name]) is not int and not (params[name] is None and name != "n_networks"):
            raise ValueError(f"`{name}` must be a whole number; got {params[name]!r}")
    for name in ("targets", "known"):
        listed = params[name]
        if listed is not None and not (isinstance(listed, list) and all(isinstance(one, str) for one in listed)):
            raise ValueError(f"`{name}` must be a list of names; got {listed!r}")
    return params
