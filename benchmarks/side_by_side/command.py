"""The command line of every question: `ask(QUESTIONS, __doc__)`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.side_by_side.case import Case, Questions
from benchmarks.side_by_side.claims import conclusions
from benchmarks.side_by_side.plots import plot
from benchmarks.side_by_side.report import Report
from benchmarks.side_by_side.run import bench
from benchmarks.side_by_side.tables import describe, limit, tables
from liquidtime.cli.failing import command
from liquidtime.cli.options import AsJson, Debug, listed

Names = Annotated[
    list[str] | None,
    typer.Option("--case", help="Case, sweep or group, several with commas; see --list.", show_default="all"),
]
Repeats = Annotated[
    int | None, typer.Option(min=1, help="Rounds in which all take turns.", show_default="15, with --quick 2")
]
Threads = Annotated[str | None, typer.Option(help="Numbers of threads, with commas.", show_default="1,2")]
Quick = Annotated[
    bool, typer.Option("--quick", help="Reduce all sizes, to see that everything runs; the figures mean nothing.")
]
Out = Annotated[Path, typer.Option(help="Folder for bench.json and the plots.")]
List = Annotated[bool, typer.Option("--list", help="Print what can be measured, and stop.")]


def ask(questions: Questions, description: str | None) -> None:
    """Run the command line of some questions."""
    application(questions, description)()


def application(questions: Questions, description: str | None) -> typer.Typer:
    """Return the command line of some questions.

    Args:
        questions: what can be measured.
        description: what `--help` says.

    """
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

    @app.command(help=description)
    @command
    def measure(
        case: Names = None,
        repeats: Repeats = None,
        threads: Threads = None,
        quick: Quick = False,
        out: Out = Path("runs/bench"),
        as_json: AsJson = False,
        list_cases: List = False,
        debug: Debug = False,
    ) -> None:
        if list_cases:
            _list(questions.select(listed(case)), as_json)
            return
        out.mkdir(parents=True, exist_ok=True)
        report = bench(
            questions,
            listed(case),
            repeats=repeats,
            threads=_numbers(threads),
            quick=quick,
            say=lambda text: typer.echo(f"… {text}", err=True),
            keep=lambda report: report.save(out, conclusions(report, questions)),
        )
        files = [report.save(out, conclusions(report, questions)), *_plots(report, questions, out)]
        if as_json:
            typer.echo(files[0].read_text(encoding="utf-8"), nl=False)
        else:
            console = Console(highlight=False)
            console.width = max(console.width, 110)
            console.print(tables(report, questions))
        typer.echo("written: " + ", ".join(str(file) for file in files), err=True)

    return app


def _plots(report: Report, questions: Questions, out: Path) -> list[Path]:
    if not report.sweeps:
        return []
    try:
        return plot(report, questions, out)
    except ImportError:
        typer.echo("no plots: matplotlib is not installed; pip install 'liquidtime[bench]'", err=True)
        return []


def _list(questions: Questions, as_json: bool) -> None:
    if as_json:
        items = [{"name": item.name, "group": item.group, "question": item.question} for item in questions.items]
        typer.echo(json.dumps(items, ensure_ascii=False))
        return
    for item in questions.items:
        size = f", {item.shape}" if isinstance(item, Case) else ""
        typer.echo(f"{item.name:18}{item.group:10}{item.question}{size}")
        for target in item.targets if isinstance(item, Case) else ():
            typer.echo(f"{'':28}  {describe(target)} {limit(target)}")


def _numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise ValueError(f"`threads` must be whole numbers with commas, such as 1,2; got {text!r}") from None
