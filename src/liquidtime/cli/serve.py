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
            help="Model folder written by `train`, or folder written by `export --to onnx`.",
            show_default=False,
        ),
    ],
    host: Annotated[
        str,
        typer.Option("--host", help="Address to listen on. With 0.0.0.0, all addresses of this machine, set a token."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 for any free port.")
    ] = 8000,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            help="Where live series are stored: an SQLite file, or redis://host:port/0 or "
            "postgresql://user@host/database, "
            "which several machines can share (default: a file in your home folder).",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            "--workers", min=1, max=256, help="Number of server processes; more than one per core does not help."
        ),
    ] = 1,
    part: Annotated[
        Part, typer.Option("--part", help="Stacks: `networks` leaves out the other parts, which need whole series.")
    ] = Part.ALL,
    memory: Annotated[
        int | None,
        typer.Option(
            "--memory", min=2, help="Forecasters: number of values to remember per channel.", show_default=False
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the model in responses (default: the name of its folder).")
    ] = None,
    keep: Annotated[
        int,
        typer.Option(
            "--keep",
            min=1,
            max=10_000,
            help="How many of the newest samples of each series to remember, with predictions.",
        ),
    ] = 100,
    most_series: Annotated[
        int,
        typer.Option("--max-series", min=1, help="Largest number of live series; new series beyond it are refused."),
    ] = 100_000,
    oldest: Annotated[
        str | None,
        typer.Option(
            "--max-age",
            help="Forget a series this long after its newest sample: 90s, 30min, 12h, 7d (default: never).",
        ),
    ] = None,
    largest: Annotated[str, typer.Option("--max-body", help="Largest size of a request, such as 500kB.")] = "1MB",
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            help=f"File with the token that requests must carry; or set the environment variable {TOKEN}.",
            show_default=False,
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """Serve a trained model over HTTP: predictions for live series as their samples arrive, and for whole series.

    Live series survive a restart. The page at / shows them, and the page at /docs lists the requests.
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
            raise FileNotFoundError(
                f"--state {file} must be in a folder that exists; there is no {file.absolute().parent}"
            )
        if file.is_dir():
            raise IsADirectoryError(f"--state {file} is a folder; choose a file name")
    with launch.listen(host, port) as listening:
        folder = preparation.served_folder(model, preparation.cache_of(place), part, memory)
        settings = Settings(
            folder, place, name or model.resolve().name, keep, most_series, token=token,
            oldest=seconds, largest_body=size, only_local=not token and host in _LOCAL,
        )  # fmt: skip
        launch.run(settings, listening, workers, lambda: _say(printer, settings, host, listening.getsockname()[1]))


def _say(printer: Printer, settings: Settings, host: str, port: int) -> None:
    """Open the model and the state once, so that errors in them end the command, and print what is served where."""
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
        printer.line(f"  the state also has {others:,} series of other models, which are left unchanged")
    if note:
        printer.line(f"  note: {note}")
    if not settings.token and not settings.only_local:
        printer.line("  note: without a token, everyone who reaches this address can read and change series")
    sys.stdout.flush()


def _token(file: Path | None) -> str:
    """Return the token that requests must carry; empty if there is none."""
    if file is None:
        token = os.environ.get(TOKEN, "")
    else:
        with open(file, encoding="utf-8") as opened:
            token = opened.read(_LONGEST_TOKEN + 1).strip()
        if not token:
            raise ValueError(f"--token-file {file} is empty; it must contain the token")
    if len(token) > _LONGEST_TOKEN or not all("!" <= character <= "~" for character in token):
        raise ValueError(f"a token must consist of at most {_LONGEST_TOKEN} ASCII characters without spaces")
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
