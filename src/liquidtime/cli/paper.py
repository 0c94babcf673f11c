from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Run the paper's experiments and print their tables.", no_args_is_help=True)

Out = Annotated[Path, typer.Option("--out", help="Folder of the result files.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("list")
def list_experiments(as_json: Json = False) -> None:
    """List the experiments with their protocols and models."""
    from liquidtime.paper.experiments import EXPERIMENTS

    found = {
        name: {
            "title": experiment.title,
            "metric": experiment.task.metric,
            "protocols": list(experiment.protocols),
            "models": {row: entry.title for row, entry in experiment.rows.items()},
        }
        for name, experiment in EXPERIMENTS.items()
    }
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    for name, facts in found.items():
        typer.echo(f"{name}: {facts['title']} ({facts['metric']})")
        typer.echo(f"  protocols  {', '.join(facts['protocols'])}")
        typer.echo(f"  models     {', '.join(facts['models'])}")


@app.command("run")
def run_experiment(
    experiment: Annotated[str, typer.Argument(help="Its name, see `list`.")],
    model: Annotated[list[str], typer.Option("--model", help="A model of the experiment; may be given again.")],
    seeds: Annotated[int, typer.Option(help="How many seeds to run.", min=1)] = 1,
    first_seed: Annotated[int, typer.Option(help="The first of them; the others follow it.", min=0)] = 0,
    protocol: Annotated[str, typer.Option(help="honest, published or another of the experiment's.")] = "honest",
    epochs: Annotated[int | None, typer.Option(help="In place of the settings'.", min=1)] = None,
    limit: Annotated[int | None, typer.Option(help="Only so many sequences of each part.", min=1)] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with the data.")] = None,
    out: Out = Path("results"),
    jobs: Annotated[int | None, typer.Option(help="Seeds side by side, one thread each.", min=1)] = None,
    as_json: Json = False,
) -> None:
    """Run seeds of a model; those with a result are skipped, those cut short go on."""
    from liquidtime.paper.datasets import DataNotFound
    from liquidtime.paper.runner import run
    from liquidtime.training import FolderInUse

    written = []
    for name in model:
        try:
            written += run(
                experiment,
                name,
                range(first_seed, first_seed + seeds),
                protocol=protocol,
                epochs=epochs,
                limit=limit,
                data_dir=data_dir,
                out=out,
                jobs=jobs,
                said=lambda text: typer.echo(text, err=as_json),
            )
        except (ValueError, ImportError, DataNotFound, FolderInUse) as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(2) from error
    if as_json:
        typer.echo(json.dumps([json.loads(path.read_text(encoding="utf-8")) for path in written], indent=1))


@app.command("table")
def print_table(
    experiment: Annotated[str | None, typer.Argument(help="Its name, see `list`.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Write the page of all experiments.")] = False,
    out: Out = Path("results"),
    page: Annotated[Path, typer.Option(help="The file that --all writes.")] = Path("RESULTS.md"),
    as_json: Json = False,
) -> None:
    """Print ours beside the paper's."""
    from liquidtime.errors import unknown_choice
    from liquidtime.paper import tables
    from liquidtime.paper.experiments import EXPERIMENTS
    from liquidtime.paper.results import read_results, write_text
    from liquidtime.paper.sections import SECTIONS

    if every == (experiment is not None):
        typer.echo("error: give the name of an experiment, or --all.", err=True)
        raise typer.Exit(2)
    known = list(dict.fromkeys([*EXPERIMENTS, *SECTIONS]))
    if experiment is not None and experiment not in known:
        typer.echo(f"error: {unknown_choice('experiment', experiment, known)}", err=True)
        raise typer.Exit(2)
    if as_json:
        found = {
            name: SECTIONS[name].rows(out)
            if name in SECTIONS
            else [vars(line) for line in tables.lines(EXPERIMENTS[name], read_results(out, name))]
            for name in (known if experiment is None else [experiment])
        }
        typer.echo(json.dumps(found, indent=1, default=vars, ensure_ascii=False))
    elif experiment in SECTIONS:
        typer.echo(SECTIONS[experiment].markdown(out), nl=False)
    elif experiment is not None:
        typer.echo(tables.markdown(EXPERIMENTS[experiment], out), nl=False)
    else:
        write_text(page, tables.page(out))
        typer.echo(f"{page} written")


@app.command("models")
def print_models(
    page: Annotated[Path | None, typer.Option(help="Write the table into this page, between its marks.")] = None,
    as_json: Json = False,
) -> None:
    """List every network with what it uses and what it costs, at 64 inputs and 64 hidden units."""
    from liquidtime.networks import facts
    from liquidtime.paper.results import write_text

    if page is not None:
        try:
            write_text(page, facts.renewed(page.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(2) from error
        typer.echo(f"{page} written")
    elif as_json:
        typer.echo(json.dumps([vars(one) for one in facts.facts()], indent=1, ensure_ascii=False))
    else:
        typer.echo(facts.markdown(), nl=False)


@app.command("figure")
def draw_figure(
    name: Annotated[str, typer.Argument(help="attention or tightness.")],
    data_dir: Annotated[Path | None, typer.Option(help="Folder with the data.")] = None,
    out: Out = Path("results"),
) -> None:
    """Draw a figure of the paper from what was run, into figures/ of the results."""
    from liquidtime.errors import unknown_choice
    from liquidtime.paper.datasets import DataNotFound
    from liquidtime.paper.figures import FIGURES, draw

    try:
        if name not in FIGURES:
            raise unknown_choice("figure", name, FIGURES)
        typer.echo(f"{draw(name, out, data_dir)} written")
    except (ValueError, ImportError, DataNotFound) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from error
