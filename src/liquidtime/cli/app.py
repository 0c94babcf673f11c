"""The commands, one file each. PyTorch is imported when a command runs, not before."""

from __future__ import annotations

import os

import typer

from liquidtime.cli import demo, evaluate, explain, export, info, pack, paper, predict, search, serve, train

app = typer.Typer(
    name="liquidtime",
    help="Closed-form continuous-time and liquid networks for irregularly sampled time series.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("demo")(demo.demo)
app.command("train")(train.train)
app.command("search")(search.search)
app.command("predict")(predict.predict)
app.command("evaluate")(evaluate.evaluate)
app.command("explain")(explain.explain)
app.command("export")(export.export)
app.command("pack")(pack.pack)
app.command("serve")(serve.serve)
app.command("info")(info.info)
app.add_typer(paper.app, name="paper")


@app.callback()
def _before() -> None:
    """Let idle threads sleep: threads that spin while they wait slow down a shared machine."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read when torch is imported, which is later


def main() -> None:
    """Run the command line."""
    app()
