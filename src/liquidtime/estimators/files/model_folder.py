"""A trained model as a folder: config.json, model.safetensors, README.md, and manifest.json with their sha256.

Nothing is ever unpickled, no file outside the folder is read, and what config.json asks for is compared with what
the weights' file holds before anything is built.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from liquidtime._provenance import versions
from liquidtime.data import History, SeriesEncoder
from liquidtime.errors import unknown_choice
from liquidtime.estimators.files.model_card import model_card
from liquidtime.estimators.files.model_config import (
    FORMAT,
    ModelFolderError,
    check_sizes,
    read_config,
    read_params,
    stored_params,
)
from liquidtime.estimators.network.piecewise import PiecewiseLinear
from liquidtime.training import isolated_rng
from liquidtime.training.artifact import (
    MANIFEST,
    DamagedFolder,
    json_to_bytes,
    read_folder,
    tensors_from_bytes,
    tensors_to_bytes,
    write_folder,
)
from liquidtime.training.checkpoint import load_model_tensors, model_tensors

if TYPE_CHECKING:
    from liquidtime.estimators.faces.base import SeriesEstimator

CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"
_PICKLES = (".pkl", ".pickle", ".pt", ".pth", ".bin", ".joblib", ".ckpt", ".npy", ".npz")
_PICKLE_STARTS = (b"\x80", b"PK\x03\x04")
_LARGEST_CONFIG, _LARGEST_WEIGHTS = 1 << 26, 1 << 34


def save(
    model: SeriesEstimator,
    path: str | Path,
    metrics: Mapping[str, Any] | None = None,
    files: Mapping[str, bytes] | None = None,
) -> None:
    """Write a fitted estimator, whole or not at all; a model that is there already is kept as `<name>.previous`.

    Args:
        model: fitted.
        path: the folder.
        metrics: figures to store with it, ready for JSON.
        files: further files for the folder, by name.

    Raises:
        NotFittedError: it is not fitted.
        ValueError: a further file has a name that is the model's own, is not plain or would not be read again.
        FileExistsError: `path` holds other files.
        SaveFailed: the disk is full or refuses.

    """
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model, "networks_")
    extra = dict(files or {})
    for name in extra:
        if name in (CONFIG, WEIGHTS, CARD, MANIFEST) or Path(name).suffix.lower() in _PICKLES:
            raise ValueError(f"`files` must have other names than the model's own files and pickles; got {name!r}")
    encoders = [encoder.to_dict() for encoder in model.encoders_]
    config = {
        "format": FORMAT,
        "kind": model._kind,
        "params": stored_params(model.get_params(deep=False)),
        "encoders": [encoder["config"] for encoder in encoders],
        "learned": model._learned(),
        "members": len(model.networks_),
        "pieces": [network.pieces.pieces for network in model.networks_[: len(encoders)]],
        "features": getattr(model, "n_features_in_", None),
        "feature_names": _listed(getattr(model, "feature_names_in_", None)),
        "series": model.n_series_,
        "seed": model.seed_,
        "metrics": dict(metrics or {}),
        "versions": versions(),
    }
    tensors: dict[str, Tensor] = {}
    for place, encoder in enumerate(encoders):
        arrays = encoder["arrays"].items()
        tensors |= {f"encoder-{place}/{name}": torch.from_numpy(np.asarray(array)) for name, array in arrays}
    weights = []
    for place, network in enumerate(model.networks_):
        own = model_tensors(network)
        tensors |= {f"member-{place}/{name}": tensor for name, tensor in own.items()}
        weights.append(sum(tensor.numel() for tensor in own.values()))
    home = Path(path)
    home.absolute().parent.mkdir(parents=True, exist_ok=True)
    own_files = {
        CONFIG: json_to_bytes(config),
        WEIGHTS: tensors_to_bytes(tensors),
        CARD: model_card(config, weights, model._purpose).encode(),
    }
    write_folder(home.absolute(), own_files | extra)


def load(path: str | Path, *, network: Any = None) -> Any:
    """Return the estimator that `save` wrote to a folder.

    Args:
        path: the folder.
        network: the function that was the estimator's `network`, where that was not a name.

    Raises:
        FileNotFoundError: there is no such folder.
        ModelFolderError: a pickle in it, a newer format, missing or surplus tensors, other shapes, absurd sizes.
        DamagedFolder: a file that is missing, is not plain, lies outside or has another sha256.

    """
    home = Path(path)
    if not home.is_dir():
        raise FileNotFoundError(f"there is no model folder {home}")
    _refuse_pickles(home)
    _refuse_giants(home)
    files = read_folder(home)
    for name in (CONFIG, WEIGHTS):
        if name not in files:
            raise ModelFolderError(f"{home / MANIFEST} lists no {name}; it is not a model folder")
    if _is_pickle(files[WEIGHTS]):
        raise ModelFolderError(f"{home / WEIGHTS} is a pickle under another name; pickles run code and are never read")
    config = read_config(files[CONFIG])
    try:
        return _rebuild(config, tensors_from_bytes(files[WEIGHTS]), network)
    except DamagedFolder as error:
        raise ModelFolderError(f"{home}: {error}") from error
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError) as error:
        raise ModelFolderError(f"{home / CONFIG} does not describe a model: {error}") from error


def _rebuild(config: dict[str, Any], tensors: dict[str, Tensor], network: Any) -> SeriesEstimator:
    from liquidtime.estimators.faces import ESTIMATORS

    if config["kind"] not in ESTIMATORS:
        raise unknown_choice("kind", config["kind"], ESTIMATORS)
    params = read_params(config["params"], network)
    model: SeriesEstimator = ESTIMATORS[config["kind"]]()
    known = model.get_params(deep=False)
    if set(params) != set(known):
        missing, surplus = sorted(set(known) - set(params)), sorted(set(params) - set(known))
        raise ModelFolderError(f"config.json has other `params` than {config['kind']}: missing {missing}, {surplus}")
    model.set_params(**params)
    model._check_settings()
    E, members = len(config["encoders"]), config["members"]
    if config["format"] == 1:
        tensors = {re.sub("^encoder/", "encoder-0/", name): tensor for name, tensor in tensors.items()}
    parts = _parts(tensors, E, members)
    model.encoders_ = []
    for place, described in enumerate(config["encoders"]):
        arrays = {name: tensor.numpy() for name, tensor in parts.pop(f"encoder-{place}").items()}
        model.encoders_.append(SeriesEncoder.from_dict({"config": described, "arrays": arrays}))
    model.encoder_ = model.encoders_[0]
    _check_alike(model.encoders_)
    outputs = model._relearn(config["learned"])
    D, G, F = model.encoder_.input_size_, len(History(model.encoder_).names), model.encoder_.static_size_
    elements = sum(tensor.numel() for part in parts.values() for tensor in part.values())
    count = sum(len(part) for part in parts.values())
    check_sizes(params, members, D, min(config["pieces"]), outputs, elements, count)
    check_sizes(params, 1, D, max(config["pieces"]), outputs, elements, count)
    model.networks_ = []
    for member in range(members):
        with isolated_rng(0):
            pieces = PiecewiseLinear(config["pieces"][member % E])
            made = model._make_network(outputs, model._encoder_of(member), pieces).eval()
        own = parts[f"member-{member}"]
        for name, tensor in own.items():
            if tensor.dtype is not torch.float32 or not bool(torch.isfinite(tensor).all()):
                raise ModelFolderError(f"{WEIGHTS} has {name!r} of member {member} with other than finite float32")
        load_model_tensors(made, own, f"{WEIGHTS}, member {member},")
        made.pieces.check(D + G + F)
        model.networks_.append(made)
    model.results_, model.seed_, model.n_series_ = [], config["seed"], config["series"]
    model.metrics_ = config["metrics"]
    if config["features"] is not None:
        model.n_features_in_ = config["features"]
    if config["feature_names"] is not None:
        model.feature_names_in_ = np.array([str(name) for name in config["feature_names"]], dtype=object)
    return model


def _check_alike(encoders: Sequence[SeriesEncoder]) -> None:
    """Refuse encoders that differ in more than their time scale, or the first of several if it has bins."""
    first = encoders[0]
    for other in encoders[1:]:
        for name in ("blocks", "channels_", "static_names_", "categories_", "time_unit_"):
            if getattr(other, name) != getattr(first, name):
                raise ValueError(f"`encoders` must have the same {name.rstrip('_')}; two differ")
        if other.static_flags_.tolist() != first.static_flags_.tolist():
            raise ValueError("`encoders` must have the same static_flags; two differ")
        if first.bin_width is not None or other.bin_width is None:
            raise ValueError("`encoders` must have bins, all but the first, where there are several")


def _parts(tensors: Mapping[str, Tensor], encoders: int, members: int) -> dict[str, dict[str, Tensor]]:
    """Return the tensors by owner: each "encoder-i" and each "member-i", all there and no other."""
    parts: dict[str, dict[str, Tensor]] = {}
    for where, tensor in tensors.items():
        owner, _, name = where.partition("/")
        parts.setdefault(owner, {})[name] = tensor
    if members > len(tensors):
        raise ModelFolderError(f"config.json asks for {members:,} members; {WEIGHTS} has {len(tensors)} tensors in all")
    wanted = [
        *(f"encoder-{place}" for place in range(encoders)),
        *(f"member-{member}" for member in range(members)),
    ]
    for owner in wanted:
        if not parts.get(owner):
            raise ModelFolderError(f"{WEIGHTS} has no tensors of {owner!r}: some are missing")
    surplus = sorted(set(parts) - set(wanted))
    if surplus:
        raise ModelFolderError(f"{WEIGHTS} has tensors of {surplus[0]!r}, which config.json does not know: surplus")
    return parts


def _is_pickle(raw: bytes) -> bool:
    """Return whether bytes start as a pickle or its zip does, and not as a safetensors header that happens to."""
    return raw.startswith(_PICKLE_STARTS) and raw[8:9] != b"{"


def _refuse_pickles(home: Path) -> None:
    for entry in sorted(home.iterdir()):
        if entry.suffix.lower() in _PICKLES:
            raise ModelFolderError(
                f"{entry} looks like a pickle; pickles run code when they are read, and a model folder has none. "
                "Remove it if the folder is yours."
            )


def _refuse_giants(home: Path) -> None:
    for name, largest in ((CONFIG, _LARGEST_CONFIG), (WEIGHTS, _LARGEST_WEIGHTS), (CARD, _LARGEST_CONFIG)):
        file = home / name
        if file.is_file() and file.stat().st_size > largest:
            raise ModelFolderError(f"{file} has {file.stat().st_size:,} bytes; at most {largest:,} are read")


def _listed(names: Any) -> list[str] | None:
    return None if names is None else [str(name) for name in names]
