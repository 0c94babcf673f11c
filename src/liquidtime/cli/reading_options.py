"""The options for reading tables, declared once for every command that reads one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from liquidtime.cli.config import Config
from liquidtime.cli.options import listed
from liquidtime.scoring.reading_options import ReadingOptions as ReadingOptions

_OPTIONS: dict[str, tuple[Any, str, str]] = {
    "separator": (str, "--separator", "Field separator of text files: ;, comma, tab, pipe, space (default: detected)."),
    "decimal": (str, "--decimal", "Decimal mark of numbers: . or , (default: detected)."),
    "encoding": (str, "--encoding", "Encoding of a text file, such as cp1252 (default: utf-8)."),
    "time_format": (str, "--time-format", "Format of the times, such as '%d/%m/%Y %H:%M' or 'epoch ms'."),
    "missing": (
        list[str], "--missing",
        "Number or word for values that were not observed, besides NA, null, - and ?; may be repeated.",
    ),
    "sheet": (str, "--sheet", "Sheet of a spreadsheet (default: the first)."),
    "query": (str, "--query", "SQL query, if DATA is a database: sqlite:///file, duckdb:///file or another URL."),
    "static_table": (str, "--static-table", "Table with one row per series; its columns become static features."),
    "static_id": (str, "--static-id", "Id column of the static table (default: the same as --id)."),
}  # fmt: skip


def with_reading(body: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter `reading` of a command by the options for reading tables and --config."""

    @functools.wraps(body)
    def run(**arguments: Any) -> None:
        context = arguments.pop("config")
        typed = {name: arguments.pop(name) for name in _OPTIONS}
        typed["missing"] = tuple(listed(typed["missing"]))
        body(**arguments, reading=ReadingOptions(**typed, context=context))

    signature, hints = inspect.signature(body), get_type_hints(body, include_extras=True)
    further = {
        name: Annotated[kind | None, typer.Option(option, help=text)] for name, (kind, option, text) in _OPTIONS.items()
    } | {"config": Config}
    parameters = [
        parameter.replace(annotation=hints[name])
        for name, parameter in signature.parameters.items()
        if name != "reading"
    ]
    place = next((k for k, parameter in enumerate(parameters) if parameter.name == "strict"), len(parameters))
    added = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=annotation)
        for name, annotation in further.items()
    ]
    run.__signature__ = signature.replace(parameters=[*parameters[:place], *added, *parameters[place:]])  # type: ignore[attr-defined]
    run.__annotations__ = {name: kind for name, kind in hints.items() if name != "reading"} | further
    return run
