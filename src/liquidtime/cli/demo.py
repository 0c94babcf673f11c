from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from liquidtime.cli.failing import command
from liquidtime.cli.options import AsJson, Debug

if TYPE_CHECKING:
    from liquidtime.cli.job import Job

BIN_WIDTH, BATCH_SIZE, NETWORKS, TEST_SHARE = 60.0, 64, 3, 0.3
"""Bins of an hour are enough for two days of intensive care, and make the demo quick."""


@command
def demo(
    out: Annotated[Path, typer.Option("--out", help="Model folder to write.")] = Path("demo-model"),
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Passes over the training part.")] = 6,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed.")] = 0,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Replace a model at --out that is not the demo's, and discard an interrupted run."
        ),
    ] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Train and test on real data that comes with the package: death in hospital, for 1,000 intensive-care stays."""
    from liquidtime.cli.columns import Columns
    from liquidtime.cli.job import Job, run
    from liquidtime.cli.printing import Printer
    from liquidtime.datasets import physionet2012_sample as sample
    from liquidtime.training.run_folder import RunFolder

    printer = Printer(as_json)
    printer.line("the same with your own files:")
    printer.line(
        "  liquidtime train records.parquet --id record_id --time minutes --channel parameter --value value "
        f"--labels outcomes.parquet --target in_hospital_death --static {','.join(sample.STATIC)} --missing -1 "
        f"--time-unit min --bin-width {BIN_WIDTH:g} --batch-size {BATCH_SIZE} --n-estimators {NETWORKS} "
        f"--epochs {epochs} --seed {seed} --test-share {TEST_SHARE} --out {out}"
    )
    job = Job(
        data=[sample.RECORDS],
        columns=Columns(
            "record_id", "minutes", "parameter", "value", static=sample.STATIC, missing=(-1.0,), time_unit="min"
        ),
        out=out,
        task="classify",
        target="in_hospital_death",
        labels=sample.OUTCOMES,
        seed=seed,
        test_share=TEST_SHARE,
        settings={"epochs": epochs, "bin_width": BIN_WIDTH, "batch_size": BATCH_SIZE, "n_estimators": NETWORKS},
        title="Death in hospital, from the first 48 hours in intensive care",
        command="liquidtime demo",
        attribution=sample.ATTRIBUTION,
        resume=not force and RunFolder(out).path.exists(),
        force=force,
    )
    if not force:
        _refuse_others(job)
    printer.result(run(job, printer))


def _refuse_others(job: Job) -> None:
    """Refuse a model folder with another model than the demo's, which would become `<out>.previous`."""
    from liquidtime.scoring.model_files import columns_of, read_record

    if not job.out.is_dir() or not any(job.out.iterdir()):
        return
    record = read_record(job.out)
    columns = columns_of(record)
    known = None if columns is None else dataclasses.replace(columns, reading={})
    if record is None or (known, record.target) != (job.columns, job.target):
        raise FileExistsError(
            f"--out {job.out} holds a model that is not the demo's; choose another name, or replace it with --force"
        )
