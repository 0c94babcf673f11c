"""The commands, one file each; torch is imported when a command runs, not before."""

from __future__ import annotations

import typer

from liquidtime.cli import info, paper

app = typer.Typer(
    name="liquidtime",
    help="Closed-form continuous-time and liquid networks for irregularly sampled time series.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("info")(info.info)
app.add_typer(paper.app, name="paper")


@app.callback()
def _commands() -> None:
    """Keep `liquidtime COMMAND` even while there is one command only."""


def main() -> None:
    """Run the command line."""
    app()
