from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from liquidtime.cli.failing import command
from liquidtime.cli.options import AsJson, Debug

BIN_WIDTH, BATCH_SIZE, NETWORKS, TEST_SHARE = 60.0, 64, 3, 0.3
"""Hours suffice for two days of intensive care, and make the demo quick."""


@command
def demo(
    out: Annotated[Path, typer.Option("--out", help="Model folder to write.")] = Path("demo-model"),
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Passes over the training part.")] = 6,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of everything random.")] = 0,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Run the main job on bundled real data: death in hospital, from two days of 1,000 stays in intensive care."""
    import shutil

    from liquidtime.cli.columns import Columns
    from liquidtime.cli.job import Job, run
    from liquidtime.cli.printing import Printer
    from liquidtime.datasets import physionet2012_sample as sample

    printer = Printer(as_json)
    printer.line("the same as, with your own files:")
    printer.line(
        "  liquidtime train records.parquet --id record_id --time minutes --channel parameter --value value "
        f"--labels outcomes.parquet --target in_hospital_death --static {','.join(sample.STATIC)} --missing -1 "
        f"--time-unit min --bin-width {BIN_WIDTH:g} --batch-size {BATCH_SIZE} --n-estimators {NETWORKS} "
        f"--epochs {epochs} --seed {seed} --test-share {TEST_SHARE} --out {out}"
    )
    shutil.rmtree(out.absolute().with_name(f"{out.absolute().name}.run"), ignore_errors=True)
    job = Job(
        data=sample.RECORDS,
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
    )
    printer.result(run(job, printer))
