from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from liquidtime.bench import Report

_CASE = "Case, sweep or group, several with commas; see --list. All if left out."


def bench(
    case: Annotated[list[str] | None, typer.Option("--case", help=_CASE, show_default=False)] = None,
    repeats: Annotated[
        int | None, typer.Option(min=1, help="Rounds in which all take turns; 15, with --quick 2.", show_default=False)
    ] = None,
    threads: Annotated[
        str | None, typer.Option(help="Numbers of threads, with commas; 1,2.", show_default=False)
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Reduce all sizes, to see that everything runs; the figures mean nothing.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for bench.json and the plots.")] = Path("runs/bench"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON on standard output, all else on standard error.")
    ] = False,
    list_cases: Annotated[bool, typer.Option("--list", help="Say what can be measured, and stop.")] = False,
) -> None:
    """Measure side by side with what else is installed; ratios are from one run."""
    try:
        if list_cases:
            _list(_listed(case), as_json)
            return
        _bench(_listed(case), repeats, _numbers(threads), quick, out, as_json)
    except (ValueError, FileExistsError, NotADirectoryError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None


def _bench(
    cases: list[str], repeats: int | None, threads: list[int] | None, quick: bool, out: Path, as_json: bool
) -> None:
    from rich.console import Console

    from liquidtime.bench import bench as measure
    from liquidtime.bench import conclusions
    from liquidtime.bench.tables import tables

    out.mkdir(parents=True, exist_ok=True)
    report = measure(
        cases,
        repeats=repeats,
        threads=threads,
        quick=quick,
        say=lambda text: typer.echo(f"… {text}", err=True),
        keep=lambda report: report.save(out, conclusions(report)),
    )
    found = conclusions(report)
    files = [report.save(out, found), *_plots(report, out)]
    if as_json:
        typer.echo(json.dumps(report.to_dict() | {"conclusions": found}, ensure_ascii=False))
    else:
        console = Console(highlight=False)
        console.width = max(console.width, 110)
        console.print(tables(report))
    typer.echo("written: " + ", ".join(str(file) for file in files), err=True)


def _plots(report: Report, out: Path) -> list[Path]:
    if not report.sweeps:
        return []
    from liquidtime.bench.plots import plot

    try:
        return plot(report, out)
    except ImportError:
        typer.echo("no plots: matplotlib is not installed; pip install 'liquidtime[bench]'", err=True)
        return []


def _list(names: list[str], as_json: bool) -> None:
    from liquidtime.bench.cases import select
    from liquidtime.bench.tables import describe, limit

    cases, sweeps = select(names)
    if as_json:
        found = [(item.name, item.group, item.question) for item in cases]
        found += [(item.name, item.group, item.question) for item in sweeps]
        items = [dict(zip(("name", "group", "question"), item, strict=True)) for item in found]
        typer.echo(json.dumps(items, ensure_ascii=False))
        return
    for case in cases:
        typer.echo(f"{case.name:18}{case.group:10}{case.question}, {case.shape}")
        for target in case.targets:
            typer.echo(f"{'':28}  {describe(target)} {limit(target)}")
    for sweep in sweeps:
        typer.echo(f"{sweep.name:18}{sweep.group:10}{sweep.question}")


def _listed(given: list[str] | None) -> list[str]:
    return [name.strip() for text in given or [] for name in text.split(",") if name.strip()]


def _numbers(given: str | None) -> list[int] | None:
    if given is None:
        return None
    try:
        return [int(number) for number in given.split(",")]
    except ValueError:
        raise ValueError(f"`threads` must be whole numbers with commas, such as 1,2; got {given!r}") from None
