from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from liquidtime.cli.failing import command
from liquidtime.cli.options import AsJson, Debug, listed

app = typer.Typer(help="Run the paper's experiments and print their tables.", no_args_is_help=True)

Out = Annotated[Path, typer.Option("--out", help="Folder with the result files.")]
DataDir = Annotated[Path | None, typer.Option(help="Folder with the data sets.")]


@app.command("list")
@command
def list_experiments(as_json: AsJson = False, debug: Debug = False) -> None:
    """List the experiments with their protocols and models."""
    from liquidtime.paper.experiments import EXPERIMENTS

    table = {
        name: {
            "title": experiment.title,
            "metric": experiment.task.metric,
            "protocols": list(experiment.protocols),
            "models": {row: entry.title for row, entry in experiment.rows.items()},
        }
        for name, experiment in EXPERIMENTS.items()
    }
    if as_json:
        typer.echo(json.dumps(table, indent=2, ensure_ascii=False))
        return
    for name, facts in table.items():
        typer.echo(f"{name}: {facts['title']} ({facts['metric']})")
        typer.echo(f"  protocols  {', '.join(facts['protocols'])}")
        typer.echo(f"  models     {', '.join(facts['models'])}")


@app.command("run")
@command
def run_experiment(
    experiment: Annotated[str, typer.Argument(help="Name of the experiment; `list` shows all.")],
    model: Annotated[list[str], typer.Option("--model", help="Model to run, or several, separated by commas.")],
    seeds: Annotated[int, typer.Option(help="How many seeds to run.", min=1)] = 1,
    first_seed: Annotated[int, typer.Option(help="The first seed; the others are the numbers after it.", min=0)] = 0,
    protocol: Annotated[str, typer.Option(help="honest, published, or another protocol of the experiment.")] = "honest",
    epochs: Annotated[
        int | None, typer.Option(help="Number of epochs, instead of the one in the settings.", min=1)
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Largest number of sequences in each part.", min=1)] = None,
    data_dir: DataDir = None,
    out: Out = Path("results"),
    jobs: Annotated[
        int | None, typer.Option(help="Number of seeds that run at once, with one thread each.", min=1)
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Run a model with several seeds. Seeds that have a result are skipped; interrupted ones are resumed."""
    from liquidtime.paper.runner import run

    files = []
    for name in listed(model):
        files += run(
            experiment,
            name,
            range(first_seed, first_seed + seeds),
            protocol=protocol,
            epochs=epochs,
            limit=limit,
            data_dir=data_dir,
            out=out,
            jobs=jobs,
            log=lambda text: typer.echo(text, err=as_json),
        )
    if as_json:
        typer.echo(json.dumps([json.loads(path.read_text(encoding="utf-8")) for path in files], indent=1))


@app.command("tune")
@command
def tune_models(
    experiment: Annotated[str, typer.Argument(help="Name of the experiment; `list` shows all.")],
    model: Annotated[list[str], typer.Option("--model", help="Model to search, or several, separated by commas.")],
    epochs: Annotated[
        int | None, typer.Option(help="Number of epochs, instead of the one in the trials.", min=1)
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Largest number of sequences in each part.", min=1)] = None,
    data_dir: DataDir = None,
    out: Out = Path("results"),
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Try random settings on the validation part, equally many for each model; MODEL_searched uses the best."""
    from liquidtime.paper.runner import tune

    searches = {}
    for name in listed(model):
        records, best = tune(
            experiment,
            name,
            epochs=epochs,
            limit=limit,
            data_dir=data_dir,
            out=out,
            log=lambda text: typer.echo(text, err=as_json),
        )
        searches[name] = {"trials": records, "best": best["trial"]}
        if not as_json:
            settings = ", ".join(f"{field} {value}" for field, value in best["settings"].items())
            typer.echo(f"{name}: trial {best['trial']}, {best['metric']} {best['validation']:.4g} ({settings})")
    if as_json:
        typer.echo(json.dumps(searches, indent=1))


@app.command("table")
@command
def print_table(
    experiment: Annotated[str | None, typer.Argument(help="Name of the experiment; `list` shows all.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Write a page with all experiments.")] = False,
    out: Out = Path("results"),
    page: Annotated[Path, typer.Option(help="File that --all writes.")] = Path("RESULTS.md"),
    force: Annotated[bool, typer.Option("--force", help="Replace --page if it is another file.")] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Print our results next to those of the paper."""
    from liquidtime._checks import check_choice
    from liquidtime.files.places import check_file
    from liquidtime.paper import pages
    from liquidtime.paper.experiments import EXPERIMENTS
    from liquidtime.paper.runner import read_results, write_text

    if every == (experiment is not None):
        raise ValueError("give the name of an experiment, or --all.")
    if every and not as_json:
        check_file(page, replace=force or pages.is_page(page), argument="--page")
    known = list(dict.fromkeys([*EXPERIMENTS, *pages.SECTIONS]))
    if experiment is not None:
        check_choice("experiment", experiment, known)
    if as_json:
        tables = {
            name: pages.SECTIONS[name].rows(out)
            if name in pages.SECTIONS
            else [vars(line) for line in pages.lines(EXPERIMENTS[name], read_results(out, name))]
            for name in (known if experiment is None else [experiment])
        }
        typer.echo(json.dumps(tables, indent=1, default=vars, ensure_ascii=False))
    elif experiment in pages.SECTIONS:
        typer.echo(pages.SECTIONS[experiment].markdown(out), nl=False)
    elif experiment is not None:
        typer.echo(pages.markdown(EXPERIMENTS[experiment], out), nl=False)
    else:
        write_text(page, pages.page(out))
        typer.echo(f"{page} written")


@app.command("models")
@command
def print_models(
    page: Annotated[Path | None, typer.Option(help="Write the table into this page, between its markers.")] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """List every network with its inputs and its cost, for 64 inputs and 64 hidden units."""
    from liquidtime.networks import facts
    from liquidtime.paper.runner import write_text

    if page is not None:
        write_text(page, facts.renewed(page.read_text(encoding="utf-8")))
        typer.echo(f"{page} written")
    elif as_json:
        typer.echo(json.dumps([vars(one) for one in facts.facts()], indent=1, ensure_ascii=False))
    else:
        typer.echo(facts.markdown(), nl=False)


@app.command("figure")
@command
def draw_figure(
    name: Annotated[str, typer.Argument(help="Name of the figure, such as attention, driving or driving-lap.")],
    data_dir: DataDir = None,
    out: Out = Path("results"),
    debug: Debug = False,
) -> None:
    """Draw a figure of the paper from the results and write it to the folder figures/ of the results."""
    from liquidtime._checks import check_choice
    from liquidtime.paper.pages import ANIMATIONS, FIGURES, draw

    check_choice("figure", name, [*FIGURES, *ANIMATIONS])
    typer.echo(f"{draw(name, out, data_dir)} written")
