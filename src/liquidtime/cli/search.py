from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
def search(
    data: Data,
    reading: ReadingOptions,
    id: Annotated[str, typer.Option("--id", help="Column with the series ids.", show_default=False)],
    time: Annotated[str, typer.Option("--time", help="Column with the times.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="Model folder to write.", show_default=False)],
    trials: Annotated[
        int, typer.Option("--trials", min=1, help="Trials in total, including those of an interrupted search.")
    ] = 50,
    storage: Annotated[
        str | None,
        typer.Option(
            "--storage",
            help="Database for the trials: sqlite:///search.db on a local disk, or postgresql://host/name (default: "
            "trials are not kept).",
        ),
    ] = None,
    name: Annotated[str, typer.Option("--name", help="Name of the study in the database.")] = "liquidtime",
    space: Annotated[
        list[str] | None,
        typer.Option("--space", help="Values to try: hidden_size=16..128:log or network=cfc,gru; may be repeated."),
    ] = None,
    prune: Annotated[bool, typer.Option("--prune/--no-prune", help="Stop trials that do worse than others.")] = True,
    device: Device = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="Processes that run trials (default: 1; one per CPU of a cluster)."),
    ] = None,
    cluster: Cluster = None,
    page: Annotated[
        Path | None, typer.Option("--page", help="HTML page about the search to write (default: <out>.search.html).")
    ] = None,
    target: Target = None,
    labels: Labels = None,
    labels_id: LabelsId = None,
    channel: Channel = None,
    value: Value = None,
    values: Values = None,
    static: Static = None,
    categorical: Categorical = None,
    time_unit: TimeUnit = None,
    task: Annotated[
        str, typer.Option("--task", help="classify, classify-samples, multi-label, regress or forecast.")
    ] = "classify",
    network: Annotated[
        str | None, typer.Option("--network", help="cfc, ltc, gru, … (docs/models.md lists all).")
    ] = None,
    n_estimators: Annotated[int | None, typer.Option("--n-estimators", help="Networks in the ensemble.")] = None,
    epochs: Annotated[int | None, typer.Option("--epochs", help="Passes over the training part; not searched.")] = None,
    batch_size: Annotated[int | None, typer.Option("--batch-size", help="Series per batch; not searched.")] = None,
    balanced: Annotated[bool, typer.Option("--balanced", help="Give every class the same total weight.")] = False,
    horizon: Annotated[
        float | None, typer.Option("--horizon", help="Forecasts: the longest horizon, in the time unit.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed.")] = 0,
    test_share: Annotated[
        float, typer.Option("--test-share", help="Share of the series to test on, which no trial sees; 0 for no test.")
    ] = 0.2,
    group: Annotated[
        str | None, typer.Option("--group", help="Column with groups of series; a group is never split.")
    ] = None,
    order: Annotated[
        str | None,
        typer.Option("--order", help="Column with the date or order of each series; the test uses the latest."),
    ] = None,
    weight: Annotated[
        str | None, typer.Option("--weight", help="Column with the weight of each series in training.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted training of the best model.")] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Replace the page of an earlier search, and discard an interrupted training of the best model.",
        ),
    ] = False,
    strict: Strict = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Search for the best settings of a network with Optuna, then train, test and save a model with them.

    Each trial trains on three quarters of the training part and is scored on the rest. The test part is used once, to
    test the model with the best settings. With --storage, the same command continues an interrupted search until there
    are --trials in total, and several machines can share one database: machines on which you type the command, or those
    of --cluster. If the training of the best model was interrupted, add --resume. Writes the model, its report, and a
    page about the search.

    Exit codes: 0 done, 1 failed, 2 wrong options or bad input, 130 interrupted.
    """
    from liquidtime.cli.columns import Columns
    from liquidtime.cli.job import Job, run
    from liquidtime.cli.options import refuse_device
    from liquidtime.cli.printing import Printer
    from liquidtime.cli.train import typed
    from liquidtime.data.reading import sources_of
    from liquidtime.files.places import check_file
    from liquidtime.training.devices import device_of
    from liquidtime.tuning.page import is_page

    refuse_device(cluster, device)
    device_of(device or "cpu")
    where = page or out.absolute().with_name(f"{out.absolute().name}.search.html")
    own = storage is not None and is_page(where)  # of the same search before it was interrupted
    inputs = (*sources_of(data), labels, reading.static_table)
    check_file(where, replace=force or own, endings=(".html", ".htm"), inputs=inputs, argument="--page")
    settings = {
        "network": network, "n_estimators": n_estimators, "epochs": epochs, "batch_size": batch_size, "device": device,
        "class_weight": "balanced" if balanced else None, "horizon": horizon,
    }  # fmt: skip
    job = Job(
        data=data,
        columns=Columns(
            id, time, channel, value, tuple(listed(values)), tuple(listed(static)), tuple(listed(categorical)),
            (), time_unit,
        ),
        reading=reading,
        out=out,
        task=task,
        target=target,
        labels=labels,
        labels_id=labels_id,
        seed=seed,
        test_share=test_share,
        group=group,
        order=order,
        weight=weight,
        resume=resume,
        force=force,
        strict=strict,
        quick=True,
        settings={setting: value for setting, value in settings.items() if value is not None},
        search={
            "trials": trials, "storage": storage, "name": name, "space": _space(space), "prune": prune,
            "workers": workers, "cluster": cluster,
        },
        search_report=where,
        command=typed(),
    )  # fmt: skip
    printer = Printer(as_json)
    printer.result(run(job, printer))


def _space(texts: list[str] | None) -> dict[str, str] | None:
    """Return the values to try, as text, by setting."""
    if not texts:
        return None
    pairs = [text.partition("=") for text in texts]
    for text, (setting, equals, values) in zip(texts, pairs, strict=True):
        if not equals or not setting.strip() or not values.strip():
            raise ValueError(
                f"--space must be a setting and the values to try, such as hidden_size=16..128; got {text!r}"
            )
    return {setting.strip().replace("-", "_"): values.strip() for setting, _, values in pairs}
