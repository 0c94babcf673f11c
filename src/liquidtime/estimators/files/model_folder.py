"""A trained model as a folder: config.json, model.safetensors, README.md, and manifest.json with their sha256.

Nothing is ever unpickled, no file outside the folder is read, and the requirements of config.json are compared with the
contents of the weights file before anything is built.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from liquidtime._checks import check_choice
from liquidtime._provenance import versions
from liquidtime.data import SeriesEncoder
from liquidtime.errors import unknown_choice
from liquidtime.estimators.files.model_card import model_card
from liquidtime.estimators.files.model_config import (
    FORMAT,
    STACKED_FORMAT,
    ModelFolderError,
    check_sizes,
    read_config,
    read_params,
    stored_params,
    tell_other_versions,
)
from liquidtime.estimators.files.rich_features import restored_summary, stored_summary
from liquidtime.estimators.network.front_end import FRONT_ENDS
from liquidtime.estimators.network.inputs import history_width
from liquidtime.estimators.network.piecewise import PiecewiseLinear
from liquidtime.files.bounded import LARGEST_HEADER, DamagedFolder, TensorEntry, tensor_entries
from liquidtime.files.contents import json_to_bytes, tensors_from_bytes, tensors_to_bytes
from liquidtime.files.folders import write_folder
from liquidtime.files.sealed import MANIFEST, SealedFolder
from liquidtime.training import isolated_rng
from liquidtime.training.checkpoint import compare_tensors, load_model_tensors, model_tensors

if TYPE_CHECKING:
    from liquidtime.estimators.faces.base import SeriesEstimator

Entry = TypeVar("Entry")
CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"
STACK, STACK_ARRAYS = "stack.json", "stack.safetensors"
"""The additional files of a stacked model in the folder of its networks."""
_MOST_CHANNELS = 100_000
_SHARED, _SPARE = 16, 1 << 22
"""No network reads its inputs with fewer weights than a sixteenth of inputs times units, small ones aside."""
_PICKLES = (".pkl", ".pickle", ".pt", ".pth", ".bin", ".joblib", ".ckpt", ".npy", ".npz")
_PICKLE_STARTS = (b"\x80", b"PK\x03\x04")
_LARGEST_CONFIG, _LARGEST_WEIGHTS, _LARGEST_OTHERS = 1 << 22, 1 << 34, 1 << 26


def save(
    model: SeriesEstimator,
    path: str | Path,
    metrics: Mapping[str, Any] | None = None,
    files: Mapping[str, bytes] | None = None,
    *,
    stack: Mapping[str, bytes] | None = None,
    parts: Sequence[str] = (),
    seed: int | None = None,
) -> None:
    """Write a fitted estimator, completely or not at all; an existing model is kept as `<name>.previous`.

    Args:
        model: fitted.
        path: the folder.
        metrics: figures to store with the model, ready for JSON.
        files: further files for the folder, by name.
        stack: `STACK` and `STACK_ARRAYS` of a stacked model that these are the networks of; None for networks alone.
        parts: of the stacked model, in words.
        seed: that was given to the stacked model; None for that of the networks.

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
        if name in (CONFIG, WEIGHTS, STACK, STACK_ARRAYS, CARD, MANIFEST) or Path(name).suffix.lower() in _PICKLES:
            raise ValueError(f"`files` must have other names than the model's own files and pickles; got {name!r}")
    encoders = [encoder.to_dict() for encoder in model.encoders_]
    config = {
        "format": FORMAT if stack is None else STACKED_FORMAT,
        "kind": model._kind,
        "params": stored_params(model.get_params(deep=False)),
        "encoders": [encoder["config"] for encoder in encoders],
        "learned": model._learned() | _whole_series(model),
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
    described = json_to_bytes(config)
    read_config(described)  # refuses, with the same message, what could not be read again
    own_files = {
        CONFIG: described,
        WEIGHTS: tensors_to_bytes(tensors),
        CARD: model_card(config, weights, model._purpose, parts, seed).encode(),
        **(stack or {}),
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
    if not (home / MANIFEST).exists():
        raise ModelFolderError(f"{home} is not a model folder: it has no {MANIFEST}")
    sealed = SealedFolder(home)
    for name in (CONFIG, WEIGHTS):
        if name not in sealed.entries:
            raise ModelFolderError(f"{home / MANIFEST} lists no {name}; it is not a model folder")
    size = sealed.size(WEIGHTS, _LARGEST_WEIGHTS)
    head = sealed.peek(WEIGHTS, min(size, LARGEST_HEADER + 8))
    if _is_pickle(head):
        raise ModelFolderError(f"{home / WEIGHTS} is a pickle under another name; pickles run code and are never read")
    config = read_config(sealed.read(CONFIG, _LARGEST_CONFIG))
    stacked = config["format"] == STACKED_FORMAT
    if {name in sealed.entries for name in (STACK, STACK_ARRAYS)} != {stacked}:
        raise ModelFolderError(
            f"{home / MANIFEST} must list {STACK} and {STACK_ARRAYS} if config.json describes a stacked model, format "
            f"{STACKED_FORMAT}, and neither otherwise; config.json has format {config['format']}"
        )
    own = (CONFIG, WEIGHTS, STACK, STACK_ARRAYS)
    sealed.check((name for name in sealed.entries if name not in own), _LARGEST_OTHERS)
    try:
        _refuse_misfits(config, _parts(tensor_entries(head, size), config), network)
        model = _rebuild(config, _parts(tensors_from_bytes(sealed.read(WEIGHTS, size)), config), network)
        whole = _stack_of(model, sealed) if stacked else model
    except DamagedFolder as error:
        raise ModelFolderError(f"{home}: {error}") from error
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, RuntimeError) as error:
        raise ModelFolderError(f"{home / CONFIG} does not describe a model: {error}") from error
    tell_other_versions(config["versions"])
    return whole


def _stack_of(networks: SeriesEstimator, sealed: SealedFolder) -> Any:
    """Return the stacked model that networks are a part of."""
    from liquidtime.estimators.stacking import folder

    if _is_pickle(sealed.peek(STACK_ARRAYS, 16)):
        raise ModelFolderError(f"{STACK_ARRAYS} is a pickle under another name; pickles run code and are never read")
    stack = folder.load(networks, sealed)
    stack.metrics_ = networks.metrics_
    return stack


def _whole_series(model: SeriesEstimator) -> dict[str, Any]:
    """Return the features of whole series that networks read, ready for JSON; nothing if they take single samples."""
    facts: dict[str, Any] = {} if model.front_end_ is None else {"front_end": model.front_end_}
    return facts if model.summary_ is None else facts | {"summary": stored_summary(model.summary_)}


def _estimator(
    config: Mapping[str, Any], arrays: Sequence[Mapping[str, Any]], network: Any
) -> tuple[SeriesEstimator, int]:
    """Return the estimator of a configuration, without networks, and the number of their outputs.

    Args:
        config: as `read_config` returned it.
        arrays: of each encoder, by name.
        network: the caller's function, where the stored one was a function.
    """
    from liquidtime.estimators.faces import ESTIMATORS

    if config["kind"] not in ESTIMATORS:
        raise unknown_choice("kind", config["kind"], ESTIMATORS)
    model: SeriesEstimator = ESTIMATORS[config["kind"]]()
    known = model.get_params(deep=False)
    params = read_params(config, known, network)
    if set(params) != set(known):
        missing, surplus = sorted(set(known) - set(params)), sorted(set(params) - set(known))
        raise ModelFolderError(f"config.json has other `params` than {config['kind']}: missing {missing}, {surplus}")
    model.set_params(**params)
    model._check_settings()
    model.encoders_ = [
        SeriesEncoder.from_dict({"config": described, "arrays": own})
        for described, own in zip(config["encoders"], arrays, strict=True)
    ]
    model.encoder_ = model.encoders_[0]
    model.front_end_ = config["learned"].get("front_end")
    if model.front_end_ is not None:
        check_choice("front_end", model.front_end_, FRONT_ENDS)
    summary = config["learned"].get("summary")
    model.summary_ = None if summary is None else restored_summary(summary, model.encoder_)
    _check_alike(model.encoders_)
    return model, model._relearn(config["learned"])


def _refuse_misfits(config: Mapping[str, Any], parts: Mapping[str, Mapping[str, TensorEntry]], network: Any) -> None:
    """Compare the requirements of a configuration with the header of the weights file, before anything is built.

    Networks of two layers at most are built for it, since further layers are like the second; their widths have been
    compared with the number of weights before.
    """
    E, members, pieces = len(config["encoders"]), config["members"], config["pieces"]
    listed = [parts[f"encoder-{place}"] for place in range(E)]
    if max(entry.elements for own in listed for entry in own.values()) > _MOST_CHANNELS:
        raise ModelFolderError(f"{WEIGHTS} has an encoder of more than {_MOST_CHANNELS:,} channels")
    stand_ins = [{name: np.ones(entry.shape) for name, entry in own.items()} for own in listed]
    model, outputs = _estimator(config, stand_ins, network)
    own = [parts[f"member-{member}"] for member in range(members)]
    elements = sum(entry.elements for part in own for entry in part.values())
    count = sum(len(part) for part in own)
    D, H, params = model.encoder_.input_size_, model.hidden_size, model.get_params(deep=False)
    check_sizes(params, members, D, min(pieces), outputs, elements, count, model.front_end_)
    check_sizes(params, 1, D, max(pieces), outputs, elements, count, model.front_end_)
    if isinstance(model.network, str) and _SHARED * elements + _SPARE < D * H:
        raise ModelFolderError(
            f"config.json asks for {D:,} inputs of {H:,} units; {WEIGHTS} holds {elements:,} numbers"
        )
    layers = model.num_layers
    for place in range(E):
        shapes = _shapes(model, outputs, pieces[place], min(layers, 2))
        if layers > 2:
            single = _shapes(model, outputs, pieces[place], 1)
            count = len(single) + (layers - 1) * (len(shapes) - len(single))
            for part in own[place::E]:
                if len(part) != count:
                    raise ModelFolderError(
                        f"config.json asks for {layers:,} layers, which are {count:,} tensors per network; {WEIGHTS} "
                        f"has {len(part):,} of one"
                    )
        else:
            for member in range(place, members, E):
                compare_tensors(shapes, own[member], f"{WEIGHTS}, member {member},")


def _shapes(model: SeriesEstimator, outputs: int, pieces: int, layers: int) -> dict[str, Any]:
    """Return the tensors of a network of this many layers."""
    probe = copy.copy(model)
    probe.num_layers = layers
    with isolated_rng(0):
        return dict(model_tensors(probe._make_network(outputs, model.encoder_, PiecewiseLinear(pieces))))


def _rebuild(config: Mapping[str, Any], parts: Mapping[str, Mapping[str, Tensor]], network: Any) -> SeriesEstimator:
    """Return the estimator of a configuration and its tensors, which `_refuse_misfits` has found to fit."""
    E, members = len(config["encoders"]), config["members"]
    arrays = [{name: array.numpy() for name, array in parts[f"encoder-{place}"].items()} for place in range(E)]
    model, outputs = _estimator(config, arrays, network)
    encoder = model.encoder_
    columns = encoder.input_size_ + history_width(encoder, model.summary_) + encoder.static_size_
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
        made.pieces.check(columns)
        model.networks_.append(made)
    model.trials_, model.results_, model.seed_, model.n_series_ = [], [], config["seed"], config["series"]
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


def _parts(tensors: Mapping[str, Entry], config: Mapping[str, Any]) -> dict[str, dict[str, Entry]]:
    """Return tensors, or entries of them, by owner: each "encoder-i" and each "member-i", all there and no other."""
    encoders, members = len(config["encoders"]), config["members"]
    parts: dict[str, dict[str, Entry]] = {}
    for where, tensor in tensors.items():
        owner, _, name = where.partition("/")
        if config["format"] == 1 and owner == "encoder":
            owner = "encoder-0"
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
    """Return whether bytes start like a pickle or its zip file, and not like a safetensors header."""
    return raw.startswith(_PICKLE_STARTS) and raw[8:9] != b"{"


def _refuse_pickles(home: Path) -> None:
    for entry in home.iterdir():
        if entry.suffix.lower() in _PICKLES:
            raise ModelFolderError(
                f"{entry} looks like a pickle; pickles run code when they are read, and a model folder has none. "
                "Remove it if the folder is yours."
            )


def _listed(names: Any) -> list[str] | None:
    return None if names is None else [str(name) for name in names]
