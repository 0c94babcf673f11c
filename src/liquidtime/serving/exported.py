"""Reads a folder written by `liquidtime export --to onnx`, without torch."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

FORMATS = (1,)
FILES = ("step.onnx", "series.onnx", "model.json")
FORECAST = "forecast.onnx"
"""The third file of a forecaster."""
_LARGEST = {"manifest.json": 1 << 16, "model.json": 1 << 26}
_LARGEST_MODEL = 1 << 31
TASKS = ("classification", "multi-label", "regression", "forecasting")
_Count = Annotated[int, Meta(ge=0, le=1 << 26)]
_Above0 = Annotated[float, Meta(gt=0.0, le=1e300)]


class _Column(Struct):
    name: str
    categories: list[str] | None


class _Field(Struct):
    name: str
    start: _Count


class _State(Struct):
    format: int
    doubles: _Count
    floats: _Count
    fields: list[_Field]


class _Described(Struct, kw_only=True):
    """The parts of model.json that a service reads."""

    model: str
    task: str
    classes: list[int | float | str | bool] | None
    threshold: float | None
    outputs: Annotated[int, Meta(ge=1, le=1 << 20)]
    time_unit: str | None
    nanoseconds_per_time_unit: _Above0 | None
    channels: list[_Column]
    static: list[_Column]
    state: _State
    facts: dict[str, str] = {}


class _Forecaster(_Described, kw_only=True):
    targets: list[str]
    known_channels: list[str]
    horizon: _Above0
    calendar: bool


def is_exported(folder: Path) -> bool:
    """Return whether a folder contains an export, judging by the names of its files."""
    return all((folder / name).is_file() for name in FILES)


def read_exported(folder: Path) -> dict[str, bytes]:
    """Return the files of an exported folder by name, each compared with the manifest of the folder.

    Raises:
        ValueError: a file is missing, was changed, or is too large for such a file.

    """
    try:
        sealed = json.loads(_read(folder / "manifest.json"))["files"]
        names = (*FILES, FORECAST) if FORECAST in sealed else FILES
        files = {name: _read(folder / name) for name in names}
        for name, content in files.items():
            if hashlib.sha256(content).hexdigest() != sealed[name]["sha256"]:
                raise ValueError(f"{folder / name} does not have the sha256 in manifest.json; export the model again")
    except (KeyError, TypeError, RecursionError, UnicodeDecodeError, json.JSONDecodeError, OSError) as error:
        reason = getattr(error, "strerror", None) or f"{type(error).__name__} {error}"
        raise ValueError(f"{folder} is not a complete folder of `liquidtime export --to onnx`: {reason}") from error
    return files


def read_description(content: bytes, folder: Path) -> dict[str, Any]:
    """Return the contents of model.json, or refuse a model that this version cannot serve.

    Raises:
        ValueError: another format, or not a description of a model.

    """
    try:
        described = json.loads(content)
        version = described["format"]
        if version not in FORMATS:
            raise ValueError(
                f"{folder} has format {version}; this version serves {', '.join(map(str, FORMATS))}; export it again"
            )
        if not isinstance(described.get("model"), str):
            raise ValueError(
                f"{folder} was exported by an older version, without the identity of the model; export it again"
            )
        if described["task"] not in TASKS:
            raise ValueError(f"{folder} contains a model for {described['task']}, which cannot be served")
        msgspec.convert(described, _Forecaster if described["task"] == "forecasting" else _Described)
    except (
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        UnicodeDecodeError,
        json.JSONDecodeError,
        msgspec.ValidationError,
    ) as error:
        raise ValueError(f"{folder / 'model.json'} does not describe a model: {error}") from error
    assert isinstance(described, dict)
    return described


def identity_of(described: dict[str, Any]) -> str:
    """Return a text that identifies this model, whenever and wherever it was exported."""
    state = described["state"]
    columns = [[each["name"], each["categories"]] for block in ("channels", "static") for each in described[block]]
    told = [described[name] for name in ("format", "model", "task", "classes", "outputs", "time_unit")]
    facts = [*told, columns, state["format"], state["doubles"], state["floats"]]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


def _read(path: Path) -> bytes:
    size, largest = path.stat().st_size, _LARGEST.get(path.name, _LARGEST_MODEL)
    if size > largest:
        raise ValueError(f"{path} has {size:,} bytes; at most {largest:,} are allowed")
    return path.read_bytes()
