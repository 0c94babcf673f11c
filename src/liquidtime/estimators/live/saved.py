"""Live series on disk: JSON for their names and clocks, safetensors for their numbers, never pickle."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from liquidtime.data.encoding import Clock, SeriesEncoder
from liquidtime.data.encoding.sample import CLOCK_KINDS
from liquidtime.estimators.live.series import LiveSeries
from liquidtime.estimators.network import SeriesNetwork
from liquidtime.files.bounded import DamagedFolder
from liquidtime.files.contents import json_to_bytes, tensors_from_bytes, tensors_to_bytes
from liquidtime.files.folders import read_folder, write_folder

_FORMAT = 1
_NAMES, _NUMBERS = "streams.json", "streams.safetensors"
_LENGTHS = "lengths of "
Arrays = dict[str, npt.NDArray[Any]]


def save_series(path: Path, series: Mapping[Any, LiveSeries], model: str) -> None:
    """Write live series as a folder, completely or not at all.

    Args:
        path: the folder; one that is there and holds streams is replaced and kept as `<name>.previous`.
        series: by id.
        model: which model they are of.

    Raises:
        TypeError: an id that is neither a text nor a whole number.

    """
    ids, clocks, rows = [], [], []
    for id, each in series.items():
        if isinstance(id, bool) or not isinstance(id, str | int | np.integer):
            raise TypeError(f"ids must be texts or whole numbers to be saved; {id!r} is {type(id).__name__}")
        state = each.state
        ids.append(str(id) if isinstance(id, str) else int(id))
        clocks.append([state.clock.kind, state.clock.origin])
        flat: Arrays = {}
        _flatten((each.statics, state._replace(clock=None)), "", flat)  # type: ignore[arg-type]
        rows.append(flat)
    tensors: dict[str, Tensor] = {}
    for name in rows[0] if rows else ():
        parts = [row[name] for row in rows]
        if name.startswith("/1/memory"):  # as long as each series needs
            tensors[_LENGTHS + name] = torch.tensor([part.shape[0] if part.ndim else -1 for part in parts])
            tensors[name] = torch.from_numpy(np.concatenate([part.reshape(-1) for part in parts]))
        else:
            tensors[name] = torch.from_numpy(np.stack(parts))
    about = {"format": _FORMAT, "model": model, "ids": ids, "clocks": clocks}
    write_folder(path.absolute(), {_NAMES: json_to_bytes(about), _NUMBERS: tensors_to_bytes(tensors)})


def load_series(path: Path, start: Callable[[None], LiveSeries], model: str) -> dict[Any, LiveSeries]:
    """Return the live series of a folder by id.

    Args:
        path: the folder.
        start: makes a new series.
        model: which model they are to be of.

    Raises:
        FileNotFoundError: there is no such folder.
        ValueError: streams of another model.
        DamagedFolder: a file that is not as it was written, or does not hold live series.

    """
    files = read_folder(path)
    try:
        about, tensors = json.loads(files[_NAMES]), tensors_from_bytes(files[_NUMBERS])
        if about["format"] != _FORMAT:
            raise ValueError(f"the streams are of format {about['format']!r}, this version reads {_FORMAT}")
        ids, clocks = about["ids"], [_clock(*told) for told in about["clocks"]]
        same = about["model"] == model
        if not isinstance(ids, list) or any(isinstance(id, bool) or not isinstance(id, str | int) for id in ids):
            raise TypeError("ids must be texts or whole numbers")
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        begins = {
            name: np.concatenate([[0], np.cumsum(np.where(lengths < 0, 1, lengths))])  # -1 is a number without an axis
            for name, lengths in arrays.items()
            if name.startswith(_LENGTHS)
        }
    except (KeyError, TypeError, RecursionError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DamagedFolder(f"{path} does not hold live series: {error}") from error
    if not same:
        raise ValueError(f"the live series in {path} are of another model; load them into the model that saved them")
    if len(ids) != len(clocks) or len(set(ids)) != len(ids):
        raise DamagedFolder(f"{path} does not have one clock for each of its different ids")
    series: dict[Any, LiveSeries] = {}
    for k, (id, clock) in enumerate(zip(ids, clocks, strict=True)):
        fresh = start(None)
        outputs = torch.zeros(fresh.outputs_shape)
        template = (fresh.statics, fresh.state._replace(clock=None, outputs=outputs))  # type: ignore[arg-type]
        try:
            statics, state = _rebuilt(template, "", _Row(arrays, begins, k))
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise DamagedFolder(f"{path} does not hold the numbers of the live series {id!r}: {error}") from error
        fresh.restore(statics, state._replace(clock=clock))
        series[id] = fresh
    return series


def fingerprint_of(encoders: Sequence[SeriesEncoder], networks: Sequence[SeriesNetwork]) -> str:
    """Return a text that identifies this model."""
    digest = hashlib.sha256()
    for encoder in encoders:
        stored = encoder.to_dict()
        digest.update(json.dumps(stored["config"], sort_keys=True).encode())
        for name, array in sorted(stored["arrays"].items()):
            digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
    for network in networks:
        for name, tensor in network.state_dict().items():
            digest.update(name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


class _Row:
    """The numbers of one series among those of all.

    Args:
        arrays: by name, series after series.
        begins: where each series' numbers begin, where series have different numbers of them.
        position: of the series.
    """

    def __init__(self, arrays: Arrays, begins: Mapping[str, npt.NDArray[np.int64]], position: int) -> None:
        self._arrays, self._begins, self._position = arrays, begins, position

    def get(self, name: str, like: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return an array with the type and, if series agree in it, the shape of another one."""
        begins = self._begins.get(_LENGTHS + name)
        if begins is None:
            found = self._arrays[name][self._position]
            if found.shape != like.shape:
                raise ValueError(f"{name} has shape {found.shape} in place of {like.shape}")
        else:
            found = self._arrays[name][begins[self._position] : begins[self._position + 1]]
            if len(found) != begins[self._position + 1] - begins[self._position]:
                raise ValueError(f"{name} is too short")
            found = found.reshape(like.shape) if like.ndim == 0 else found
        if found.dtype != like.dtype:
            raise ValueError(f"{name} is of type {found.dtype} in place of {like.dtype}")
        return np.array(found)


def _flatten(value: Any, name: str, out: Arrays) -> None:
    """Take apart tuples and data classes down to arrays and numbers, each under its name."""
    if value is None:
        return
    if isinstance(value, Tensor):
        out[name] = value.numpy()
    elif isinstance(value, np.ndarray):
        out[name] = value
    elif isinstance(value, int | float):
        out[name] = np.array(value, dtype=np.float64)
    else:
        for part, inner in _parts(value):
            _flatten(inner, f"{name}/{part}", out)


def _rebuilt(template: Any, name: str, row: _Row) -> Any:
    """Return the inverse of `_flatten`, in the form of another object of the same kind."""
    if template is None:
        return None
    if isinstance(template, Tensor):
        return torch.from_numpy(row.get(name, template.numpy()))
    if isinstance(template, np.ndarray):
        return row.get(name, template)
    if isinstance(template, int | float):
        return type(template)(row.get(name, np.array(0.0)))
    parts = {part: _rebuilt(inner, f"{name}/{part}", row) for part, inner in _parts(template)}
    if dataclasses.is_dataclass(template):
        return dataclasses.replace(template, **parts)  # type: ignore[type-var]
    return type(template)(**parts) if hasattr(template, "_fields") else tuple(parts.values())


def _parts(value: Any) -> list[tuple[str, Any]]:
    if dataclasses.is_dataclass(value):
        return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    if hasattr(value, "_fields"):
        return list(zip(value._fields, value, strict=True))
    assert isinstance(value, Sequence), type(value)
    return [(str(k), inner) for k, inner in enumerate(value)]


def _clock(kind: Any, origin: Any) -> Clock:
    whole = origin is None or (isinstance(origin, int) and not isinstance(origin, bool))
    if kind not in CLOCK_KINDS or not whole:
        raise TypeError(f"{kind!r} from {origin!r} is not a clock")
    return Clock(kind, origin)
