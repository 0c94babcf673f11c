from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from liquidtime.cli.failing import command
from liquidtime.cli.options import (
    AsJson,
    Categorical,
    Channel,
    Data,
    Debug,
    Device,
    Labels,
    LabelsId,
    Static,
    Strict,
    Target,
    TimeUnit,
    Value,
    Values,
    listed,
)
from liquidtime.cli.reading_options import ReadingOptions, with_reading


@command
@with_reading
def train(
    data: Data,
    reading: ReadingOptions,
    out: Annotated[Path, typer.Option("--out", help="Model folder to write.", show_default=False)],
    id: Annotated[str | None, typer.Option("--id", help="Column of the series' ids; a stored set needs none.")] = None,
    time: Annotated[str | None, typer.Option("--time", help="Column of the times; a stored set needs none.")] = None,
    target: Target = None,
    labels: Labels = None,
    labels_id: LabelsId = None,
    auxiliary: Annotated[
        list[str] | None,
        typer.Option("--auxiliary", help="Further label columns, used as auxiliary targets in training only."),
    ] = None,
    channel: Channel = None,
    value: Value = None,
    values: Values = None,
    static: Static = None,
    categorical: Categorical = None,
    time_unit: TimeUnit = None,
    task: Annotated[
        str,
        typer.Option("--task", help="classify, classify-samples, multi-label, regress, forecast or impute."),
    ] = "classify",
    horizon: Annotated[
        float | None, typer.Option("--horizon", help="Forecasts: how far ahead will be asked, in the time unit.")
    ] = None,
    targets: Annotated[
        list[str] | None, typer.Option("--targets", help="Forecasts: the channels to forecast (default: all numbers).")
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option("--known", help="Forecasts: channels whose future values are given, such as a timetable."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A CfC network alone, in seconds; so does any setting of networks below.")
    ] = False,
    network: Annotated[str | None, typer.Option("--network", help="cfc, ltc, gru, … (docs/models.md has all).")] = None,
    n_estimators: Annotated[
        int | None, typer.Option("--n-estimators", help="Networks in the ensemble; predictions are averaged.")
    ] = None,
    hidden_size: Annotated[int | None, typer.Option("--hidden-size", help="Units of the recurrent layer.")] = None,
    bin_width: Annotated[
        float | None, typer.Option("--bin-width", help="Gather samples in bins of this width, in the time unit.")
    ] = None,
    epochs: Annotated[int | None, typer.Option("--epochs", help="Passes over the training part.")] = None,
    batch_size: Annotated[int | None, typer.Option("--batch-size", help="Series per batch.")] = None,
    learning_rate: Annotated[float | None, typer.Option("--learning-rate", help="Highest learning rate.")] = None,
    validation_share: Annotated[
        float | None,
        typer.Option("--validation-share", help="Share of the training part held back to choose the epoch."),
    ] = None,
    n_jobs: Annotated[
        int | None,
        typer.Option("--n-jobs", help="Processes that train networks and folds, one thread each; -1 for one per core."),
    ] = None,
    device: Device = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="Ranks on this machine that share every batch; see docs/scaling.md."),
    ] = None,
    balanced: Annotated[bool, typer.Option("--balanced", help="Give every class the same weight.")] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed.")] = 0,
    test_share: Annotated[
        float, typer.Option("--test-share", help="Share of the series that are tested on; 0 tests nothing.")
    ] = 0.2,
    group: Annotated[
        str | None,
        typer.Option("--group", help="Column of any table: series of one group are never on both sides of a split."),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option("--order", help="Column of any table, when a series was taken: the latest are tested on."),
    ] = None,
    test: Annotated[
        Path | None, typer.Option("--test", help="File of other series to test on, like DATA.", show_default=False)
    ] = None,
    test_after: Annotated[
        str | None, typer.Option("--test-after", help="Test on series that end at this time or later.")
    ] = None,
    folds: Annotated[
        int | None, typer.Option("--folds", min=2, help="Cross-validate: test every series, in this many parts.")
    ] = None,
    refit: Annotated[
        bool, typer.Option("--refit/--no-refit", help="Train the saved model on all series after the test.")
    ] = True,
    each_sample: Annotated[
        bool,
        typer.Option("--each-sample", help="--target is a class of every sample; noticed where it varies in a series."),
    ] = False,
    weight: Annotated[
        str | None, typer.Option("--weight", help="Column that says how much a series counts in training.")
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            "--threshold",
            help="Of two classes, when to say the second: a probability, or what it is chosen by on held-out series: "
            "balanced_accuracy, f1, specificity=0.9, sensitivity=0.9, cost=1:5 (false alarm : miss).",
        ),
    ] = None,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="To regress by networks alone: measure intervals; stacks always do.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a run that was stopped.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Discard a stopped run of the same --out and start over.")
    ] = False,
    keep_neighbours: Annotated[
        bool,
        typer.Option(
            "--keep-neighbours",
            help="Keep ids and outcomes of training series with the model, for `explain` to name similar ones.",
        ),
    ] = False,
    track: Annotated[
        list[str] | None,
        typer.Option(
            "--track",
            help="Send the run to a tracker: tensorboard, mlflow or wandb, or with a destination: "
            "tensorboard=FOLDER, mlflow=URI, wandb=PROJECT.",
        ),
    ] = None,
    strict: Strict = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Train, test and save a model on your own irregular series, and write a report.

    Says first what it understood of the data. Then it trains on one part of the series and tests on the rest, beside
    gradient boosting and a guess, or the naive forecasts, all with 95 % confidence intervals. The model is a stack: CfC
    networks, trees and convolutions or linear models, weighted by how well they predict training series held out from
    them; --quick trains a network alone. The saved model is then trained on all series, by the same choices. A run that
    was stopped continues with --resume.
    What was typed is written beside the model, as <out>.run.yaml, which --config takes.
    A model at --out is replaced and kept as <out>.previous; anything else there is refused and left as it is.

    Exit codes: 0 done, 1 the work failed, 2 wrong use or bad input, 130 and 143 stopped.
    """
    from liquidtime.cli.config import write_config
    from liquidtime.cli.job import Job
    from liquidtime.cli.printing import Printer
    from liquidtime.cli.ranked import check_workers, run_by_workers, run_in_ranks
    from liquidtime.cli.stored_tables import columns_of_training
    from liquidtime.training.devices import device_of

    check_workers(workers, n_jobs)
    device_of(device or "cpu")
    given = {
        "network": network, "n_estimators": n_estimators, "hidden_size": hidden_size, "bin_width": bin_width,
        "epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate,
        "validation_fraction": validation_share, "n_jobs": n_jobs, "device": device,
        "class_weight": "balanced" if balanced else None, "threshold": threshold, "intervals": intervals or None,
        "horizon": horizon, "targets": listed(targets) or None, "known": listed(known) or None,
    }  # fmt: skip
    job = Job(
        data=data,
        columns=columns_of_training(
            data, id=id, time=time, channel=channel, value=value, values=tuple(listed(values)),
            static=tuple(listed(static)), categorical=tuple(listed(categorical)), time_unit=time_unit,
        ),
        reading=reading,
        out=out,
        task=task,
        target=target,
        labels=labels,
        labels_id=labels_id,
        auxiliary=tuple(listed(auxiliary)),
        seed=seed,
        test_share=test_share,
        group=group,
        order=order,
        each_sample=each_sample,
        weight=weight,
        test=test,
        test_after=test_after,
        folds=folds,
        refit=refit,
        resume=resume,
        force=force,
        quick=quick,
        strict=strict,
        keep_neighbours=keep_neighbours,
        track=tuple(listed(track)),
        settings={name: setting for name, setting in given.items() if setting is not None},
        command=typed(),
    )  # fmt: skip
    if workers is not None and workers > 1:
        result: dict[str, Any] | None = run_by_workers(job, as_json, workers, debug)
    else:
        result = run_in_ranks(job, as_json)
    if result is None:
        return
    printer = Printer(as_json)
    config = write_config(reading.context, out)
    if config is not None:
        printer.line(f"config  {config}")
    printer.result({**result, "config": None if config is None else str(config)})


def typed() -> str:
    """Return the command as it was typed, or nothing where it was not."""
    import shlex
    import sys

    return f"liquidtime {shlex.join(sys.argv[1:])}" if Path(sys.argv[0]).name == "liquidtime" else ""
