from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from liquidtime.cli.export import Part
from liquidtime.cli.failing import command
from liquidtime.cli.options import Debug

if TYPE_CHECKING:
    from liquidtime.cli.printing import Printer
    from liquidtime.serving import Settings

TOKEN = "LIQUIDTIME_TOKEN"
_LONGEST_TOKEN = 4096
_LOCAL = ("localhost", "127.0.0.1", "::1")
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}


@command
def serve(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="Model folder made by `train`, or folder of `export --to onnx`.",
            show_default=False,
        ),
    ],
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on. 0.0.0.0 is all of this machine's: set a token then.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 for a free one.")] = 8000,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            help="Where live series are kept: a file (SQLite), redis://host:port/0 or postgresql://user@host/database, "
            "which several machines can share. A file in your home folder if left out.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=256, help="Processes; one for each core at most.")
    ] = 1,
    part: Annotated[
        Part, typer.Option("--part", help="Of a stack: its networks alone, as its other parts read whole series.")
    ] = Part.ALL,
    memory: Annotated[
        int | None,
        typer.Option("--memory", min=2, help="Of a forecaster: values per channel to remember.", show_default=False),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the model in answers; its folder's if left out.")
    ] = None,
    keep: Annotated[
        int,
        typer.Option("--keep", min=1, max=10_000, help="Newest samples of each series to remember, with predictions."),
    ] = 100,
    most_series: Annotated[
        int, typer.Option("--max-series", min=1, help="Series to keep; a further one is refused.")
    ] = 100_000,
    oldest: Annotated[
        str | None,
        typer.Option(
            "--max-age",
            help="Forget a series this long after its newest sample: 90s, 30min, 12h, 7d. Never if left out.",
        ),
    ] = None,
    largest: Annotated[str, typer.Option("--max-body", help="Largest request: 500kB, 1MB.")] = "1MB",
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            help=f"File with the token that requests must bear; or put it into the variable {TOKEN}.",
            show_default=False,
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """Serve a trained model over HTTP: predictions for live series as their samples arrive, and for whole series.

    Live series outlive a restart. A page at / shows them, one at /docs says what can be sent.
    """
    from liquidtime.cli.printing import Printer

    try:
        import uvicorn  # noqa: F401

        from liquidtime.serving import app, launch, preparation  # noqa: F401
        from liquidtime.serving.stores import sqlite_file
    except ModuleNotFoundError as error:
        raise ImportError(f"`serve` needs the package {error.name!r}: pip install 'liquidtime[serve]'") from error
    from liquidtime.serving import Settings

    printer = Printer(as_json=False)
    token = _token(token_file)
    seconds, size = _age(oldest), _size(largest)
    place = state or preparation.default_state()
    file = sqlite_file(place)
    if file is not None:
        if state is None:
            file.absolute().parent.mkdir(parents=True, exist_ok=True)
        if not file.absolute().parent.is_dir():
            raise FileNotFoundError(f"--state {file} must lie in a folder that exists")
        if file.is_dir():
            raise IsADirectoryError(f"--state {file} must be a file; it is a folder")
    with launch.listen(host, port) as listening:
        folder = preparation.served_folder(model, preparation.cache_of(place), part, memory)
        settings = Settings(
            folder, place, name or model.resolve().name, keep, most_series, token=token,
            oldest=seconds, largest_body=size, only_local=not token and host in _LOCAL,
        )  # fmt: skip
        launch.run(settings, listening, workers, lambda: _say(printer, settings, host, listening.getsockname()[1]))


def _say(printer: Printer, settings: Settings, host: str, port: int) -> None:
    """Open model and state once, so that what is wrong with them ends the command, and say what is served where."""
    from liquidtime.serving.launch import service_of
    from liquidtime.serving.stores import sqlite_file

    service = service_of(settings)
    try:
        others, note = service.store.of_others(), service.store.note()
        count, kind = service.store.count(), service.store.kind
    finally:
        service.store.close()
    shown = f"[{host}]" if ":" in host else host
    file = sqlite_file(settings.state)
    kept = str(file) if file is not None else kind
    printer.line(f"serving {service.model.name} on http://{shown}:{port}")
    printer.line(f"  live series: http://{shown}:{port}/   operations: http://{shown}:{port}/docs")
    printer.line(f"  state in {kept}: {count:,} series of this model")
    for fact, text in service.model.description.get("facts", {}).items():
        printer.line(f"  {fact}: {text}")
    if others:
        printer.line(f"  {others:,} series of other models are there too; they are left as they are")
    if note:
        printer.line(f"  note: {note}")
    if not settings.token and not settings.only_local:
        printer.line("  note: without a token, everyone who reaches this address can read and change series")
    sys.stdout.flush()


def _token(file: Path | None) -> str:
    """Return the token that requests must bear; empty for none."""
    if file is None:
        token = os.environ.get(TOKEN, "")
    else:
        with open(file, encoding="utf-8") as opened:
            token = opened.read(_LONGEST_TOKEN + 1).strip()
        if not token:
            raise ValueError(f"--token-file {file} must hold the token; it is empty")
    if len(token) > _LONGEST_TOKEN or not all("!" <= character <= "~" for character in token):
        raise ValueError(f"a token must have at most {_LONGEST_TOKEN} characters, all ASCII and none of them a space")
    return token


def _age(text: str | None) -> float | None:
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h|d)\s*", text)
    if match is None or float(match[1]) <= 0:
        raise ValueError(f"--max-age must be a number with a unit, such as 90s, 30min, 12h or 7d; got {text!r}")
    return float(match[1]) * _SECONDS[match[2]]


def _size(text: str) -> int:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(kb|mb|gb|)\s*", text.lower())
    if match is None or not 100 <= (size := float(match[1]) * _BYTES[match[2]]) <= 10**9:
        raise ValueError(f"--max-body must be 100 bytes to 1 GB, such as 500kB or 1MB; got {text!r}")
    return int(size)
