"""A stacked model as a folder: the folder of its networks, with stack.json and stack.safetensors added.

Trees, kernels and linear weights are plain arrays, and nothing is ever unpickled. The contents of each file are
bounded, and compared with the other file and with the networks, before they are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from liquidtime.baselines.features.temperature import Calibration
from liquidtime.errors import unknown_choice
from liquidtime.estimators.files.model_config import LATER, stored_params
from liquidtime.estimators.files.model_folder import STACK, STACK_ARRAYS
from liquidtime.estimators.files.model_folder import save as save_networks
from liquidtime.estimators.files.rich_features import restored_rich, stored_rich
from liquidtime.estimators.stacking import STACKED
from liquidtime.estimators.stacking.base import StackedEstimator
from liquidtime.estimators.stacking.fitting import (
    CONVOLUTIONS,
    NETWORKS,
    RICH,
    RUNNING,
    TABLES,
    FeaturePart,
    StackPart,
)
from liquidtime.estimators.stacking.forecast_folder import restored
from liquidtime.estimators.stacking.forecaster import StackedForecaster
from liquidtime.estimators.stacking.linear_part import LinearPart
from liquidtime.estimators.stacking.regressor import StackedRegressor
from liquidtime.estimators.stacking.stored_features import (
    restored_convolutions,
    restored_running,
    stored_convolutions,
)
from liquidtime.estimators.stacking.stored_numbers import figures_of, inputs_of, number_of, set_inputs
from liquidtime.estimators.stacking.target_scale import TargetScale
from liquidtime.estimators.stacking.tree_part import TreePart
from liquidtime.files.bounded import json_from_bytes
from liquidtime.files.contents import json_to_bytes, tensors_from_bytes, tensors_to_bytes
from liquidtime.files.sealed import SealedFolder

FORMAT = 2
_LARGEST, _LARGEST_ARRAYS, _MOST_VALUES = 1 << 24, 1 << 32, 1_000_000
_FIELDS = (
    "format",
    "kind",
    "params",
    "seed",
    "calibration",
    "scale",
    "figures",
    "parts",
    "features",
    "learners",
    "inputs",
)
_LATER: dict[str, Any] = {"learned": {}}
"""Fields that came later, and what models have that were made before."""
Arrays = dict[str, npt.NDArray[Any]]


def save(
    model: StackedEstimator, path: str | Path, metrics: Mapping[str, Any] | None, files: Mapping[str, bytes] | None
) -> None:
    """Write a fitted stack; arguments as `StackedEstimator.save` takes them."""
    facts: dict[str, Any] = {
        "format": FORMAT,
        "kind": type(model).__name__,
        "params": stored_params(model.get_params(deep=False)),
        "seed": model.seed_,
        "calibration": {**asdict(model.calibration_), "shares": model._shares.tolist()},
        "scale": list(model.scale_.offsets) if isinstance(model, StackedRegressor) else [],
        "figures": model.figures_,
        "parts": [{"name": part.name, "weight": part.weight, "figures": dict(part.figures)} for part in model.parts_],
        "features": {},
        "learners": {},
        "learned": model._learned(),
        "inputs": inputs_of(model),
    }
    arrays: Arrays = {}
    if RICH in model._features:
        facts["features"][RICH] = stored_rich(model._features[RICH])
    if CONVOLUTIONS in model._features:
        facts["features"][CONVOLUTIONS], kernels = stored_convolutions(model._features[CONVOLUTIONS])
        arrays |= {f"kernels/{name}": array for name, array in kernels.items()}
    if RUNNING in model._features:
        facts["features"][RUNNING] = {}  # it learns nothing but the channels, which the networks know
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


def load(networks: Any, sealed: SealedFolder) -> StackedEstimator | StackedForecaster:
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
    if facts.get("kind") == StackedForecaster.__name__:
        return _forecaster(networks, facts, sealed)
    if facts["format"] < FORMAT:
        raise ValueError(f"{STACK} has format {facts['format']}, with other temperatures; train the model again")
    facts = {**_LATER, **facts}
    if set(facts) != {*_FIELDS, *_LATER}:
        raise ValueError(f"{STACK} must have {', '.join(_FIELDS)}; got {', '.join(facts)}")
    if facts["kind"] not in STACKED:
        raise unknown_choice("kind", facts["kind"], STACKED)
    kind = STACKED[facts["kind"]]
    if type(networks) is not kind._face:
        raise ValueError(f"{STACK} is of a {facts['kind']}, whose networks are not those of the folder")
    arrays = _arrays(sealed)
    model: StackedEstimator = kind(**_params(facts["params"], kind))
    model._restore(networks)
    model._relearn(facts["learned"])
    model.seed_ = facts["seed"]
    _set_calibration(model, facts["calibration"], networks)
    if isinstance(model, StackedRegressor):
        model.scale_ = _scale(facts["scale"], max(1, networks.n_outputs_))
    model.figures_ = figures_of(facts["figures"])
    model.parts_ = [
        StackPart(str(part["name"]), number_of("weight", part["weight"], 1.0), figures_of(part["figures"]))
        for part in facts["parts"]
    ]
    model._features = _features(facts["features"], arrays, networks)
    model._feature_parts = _parts(facts["learners"], arrays, model, networks)
    _refuse_surplus(arrays)
    _check_weights(model)
    set_inputs(model, facts["inputs"])
    return model


def _forecaster(networks: Any, facts: Mapping[str, Any], sealed: SealedFolder) -> StackedForecaster:
    arrays = _arrays(sealed)
    model = restored(facts, arrays, networks)
    _refuse_surplus(arrays)
    return model


def _arrays(sealed: SealedFolder) -> Arrays:
    raw = sealed.read(STACK_ARRAYS, _LARGEST_ARRAYS)
    return {name: tensor.numpy() for name, tensor in tensors_from_bytes(raw).items()}


def _refuse_surplus(arrays: Arrays) -> None:
    if arrays:
        raise ValueError(f"{STACK_ARRAYS} has {next(iter(arrays))!r}, which {STACK} does not know: surplus")


def _params(params: Any, kind: type[StackedEstimator]) -> dict[str, Any]:
    known = kind._get_param_names()
    if not isinstance(params, dict):
        raise ValueError(f"{STACK} has invalid `params`")
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
    if not isinstance(stored, dict) or not set(stored) <= {RICH, CONVOLUTIONS, RUNNING}:
        raise ValueError(f"`features` must be {RICH}, {CONVOLUTIONS} or {RUNNING}")
    features: dict[str, Any] = {}
    if RICH in stored:
        features[RICH] = restored_rich(stored[RICH], networks.encoder_)
    if RUNNING in stored:
        features[RUNNING] = restored_running(networks.encoder_)
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


def _set_calibration(model: StackedEstimator, stored: Any, networks: Any) -> None:
    """Set the calibration from contents that may come from an untrusted file."""
    if not isinstance(stored, dict) or set(stored) != {"temperature", "trust", "shares"}:
        raise ValueError("`calibration` must have temperature, trust and shares")
    temperature, trust = number_of("temperature", stored["temperature"], 1e3), number_of("trust", stored["trust"], 1.0)
    K = len(networks.classes_) if hasattr(networks, "classes_") else 0
    shares = [number_of("shares", share, 1.0) for share in stored["shares"]]
    if not temperature > 1e-6 or not trust > 0 or len(shares) != K or (K and abs(sum(shares) - 1.0) > 1e-6):
        raise ValueError("`calibration` must have a temperature and a trust over 0, and shares of all classes")
    model.calibration_, model._shares = Calibration(temperature, trust), np.array(shares)


def _scale(stored: Any, W: int) -> TargetScale:
    if not isinstance(stored, list) or len(stored) != W:
        raise ValueError(f"`scale` must have one entry per target, {W}")
    offsets = tuple(None if offset is None else number_of("scale", offset, 1e300) for offset in stored)
    if any(offset is not None and offset <= 0 for offset in offsets):
        raise ValueError("`scale` must have offsets over 0, or none")
    return TargetScale(offsets)
