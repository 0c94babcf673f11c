from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from liquidtime.cli.failing import command
from liquidtime.cli.options import (
    AsJson,
    Categorical,
    Channel,
    Cluster,
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
    id: Annotated[
        str | None, typer.Option("--id", help="Column with the series ids; not for a stored set, nor for one series.")
    ] = None,
    time: Annotated[str | None, typer.Option("--time", help="Column with the times; not for a stored set.")] = None,
    target: Target = None,
    labels: Labels = None,
    labels_id: LabelsId = None,
    auxiliary: Annotated[
        list[str] | None,
        typer.Option("--auxiliary", help="More label columns to learn as auxiliary targets; they are not predicted."),
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
        float | None, typer.Option("--horizon", help="Forecasts: the longest horizon, in the time unit.")
    ] = None,
    targets: Annotated[
        list[str] | None,
        typer.Option("--targets", help="Forecasts: the channels to forecast (default: all numeric ones)."),
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option("--known", help="Forecasts: channels whose future values are known, such as a timetable."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Train a CfC network alone, in seconds; any option for networks below implies it."
        ),
    ] = False,
    network: Annotated[
        str | None, typer.Option("--network", help="cfc, ltc, gru, … (docs/models.md lists all).")
    ] = None,
    n_estimators: Annotated[
        int | None, typer.Option("--n-estimators", help="Networks in the ensemble; their predictions are averaged.")
    ] = None,
    hidden_size: Annotated[int | None, typer.Option("--hidden-size", help="Units of the recurrent layer.")] = None,
    bin_width: Annotated[
        float | None,
        typer.Option("--bin-width", help="Combine the samples in each bin of this width, in the time unit."),
    ] = None,
    epochs: Annotated[int | None, typer.Option("--epochs", help="Passes over the training part.")] = None,
    batch_size: Annotated[int | None, typer.Option("--batch-size", help="Series per batch.")] = None,
    learning_rate: Annotated[float | None, typer.Option("--learning-rate", help="Highest learning rate.")] = None,
    validation_share: Annotated[
        float | None,
        typer.Option(
            "--validation-share", help="Share of the training part that is held out to choose the best epoch."
        ),
    ] = None,
    n_jobs: Annotated[
        int | None,
        typer.Option(
            "--n-jobs", help="Processes that train networks and folds, with one thread each; -1 for one per core."
        ),
    ] = None,
    device: Device = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=1,
            help="Processes on this machine, or of --cluster, that share every batch; see docs/scaling.md.",
        ),
    ] = None,
    cluster: Cluster = None,
    balanced: Annotated[bool, typer.Option("--balanced", help="Give every class the same total weight.")] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed.")] = 0,
    test_share: Annotated[
        float, typer.Option("--test-share", help="Share of the series to test on; 0 for no test.")
    ] = 0.2,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            help="Column with groups of series, in any table; a group is never split between training and test.",
        ),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            "--order", help="Column with the date or order of each series, in any table; the test uses the latest."
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option("--test", help="File with other series to test on, in the form of DATA.", show_default=False),
    ] = None,
    test_after: Annotated[
        str | None, typer.Option("--test-after", help="Test on the series that end at this time or later.")
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option("--folds", min=2, help="Cross-validate with this many folds, so that every series is tested."),
    ] = None,
    refit: Annotated[
        bool, typer.Option("--refit/--no-refit", help="After the test, train the saved model on all series.")
    ] = True,
    each_sample: Annotated[
        bool,
        typer.Option(
            "--each-sample", help="--target has a class for every sample; detected if it varies within a series."
        ),
    ] = False,
    weight: Annotated[
        str | None, typer.Option("--weight", help="Column with the weight of each series in training.")
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            "--threshold",
            help="Two classes: predict the second from this probability on. Instead of a number, a criterion by which "
            "it "
            "is chosen on held-out series: balanced_accuracy, f1, specificity=0.9, sensitivity=0.9, or cost=1:5 (false "
            "alarm : miss).",
        ),
    ] = None,
    intervals: Annotated[
        bool,
        typer.Option("--intervals", help="Regression by networks alone: also predict intervals, as stacks always do."),
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Discard an interrupted run with the same --out and start over.")
    ] = False,
    keep_neighbours: Annotated[
        bool,
        typer.Option(
            "--keep-neighbours",
            help="Store ids and outcomes of the training series in the model, so that `explain` can name similar ones.",
        ),
    ] = False,
    track: Annotated[
        list[str] | None,
        typer.Option(
            "--track",
            help="Log the run to a tracker: tensorboard, mlflow or wandb, also with a destination: "
            "tensorboard=FOLDER, mlflow=URI, wandb=PROJECT.",
        ),
    ] = None,
    strict: Strict = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Train, test and save a model on your own irregular series, and write a report.

    First prints what it understood of the data. Then trains on one part of the series and tests on the rest, next to
    gradient boosting and a guess (for forecasts, naive forecasts), all with 95 % confidence intervals. The model is a
    stack of CfC networks, trees, and convolutions or linear models, each weighted by how well it predicts training
    series that it has not seen; --quick trains a network alone. Finally, the model to save is trained on all series,
    with the same settings. An interrupted run resumes with --resume.
    The options are written next to the model, to <out>.run.yaml, which --config reads.
    An older model at --out is replaced and kept as <out>.previous. If anything else is there, the command refuses to
    run and changes nothing.

    Exit codes: 0 done, 1 failed, 2 wrong options or bad input, 130 and 143 interrupted.
    """
    from liquidtime.cli.config import write_config
    from liquidtime.cli.job import Job
    from liquidtime.cli.options import refuse_device
    from liquidtime.cli.printing import Printer
    from liquidtime.cli.ranked import check_workers, run_by_workers, run_in_ranks, run_on_cluster
    from liquidtime.cli.stored_tables import columns_of_training
    from liquidtime.tasks import find_task
    from liquidtime.training.devices import device_of

    check_workers(workers, n_jobs, cluster)
    refuse_device(cluster, device)
    device_of(device or "cpu")
    settings = {
        "network": network, "n_estimators": n_estimators, "hidden_size": hidden_size, "bin_width": bin_width,
        "epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate,
        "validation_fraction": validation_share, "n_jobs": n_jobs, "device": device,
        "class_weight": "balanced" if balanced else None, "threshold": threshold, "intervals": intervals or None,
        "horizon": horizon, "targets": listed(targets) or None, "known": listed(known) or None,
    }  # fmt: skip
    chosen = find_task(task, "--task")
    job = Job(
        data=data,
        columns=columns_of_training(
            data, chosen.in_time or chosen.in_pieces, id=id, time=time, channel=channel, value=value,
            values=tuple(listed(values)), static=tuple(listed(static)), categorical=tuple(listed(categorical)),
            time_unit=time_unit,
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
        settings={name: setting for name, setting in settings.items() if setting is not None},
        command=typed(),
    )  # fmt: skip
    result: dict[str, Any] | None
    if cluster is not None:
        result = run_on_cluster(job, as_json, workers or 1, cluster, debug)
    elif workers is not None and workers > 1:
        result = run_by_workers(job, as_json, workers, debug)
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
    """Return the command line, or an empty text if the program is not `liquidtime`."""
    import shlex
    import sys

    return f"liquidtime {shlex.join(sys.argv[1:])}" if Path(sys.argv[0]).name == "liquidtime" else ""
