"""The main job: from a table to a trained, tested and saved model, with its report."""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liquidtime.cli.columns import Columns, labels_of
from liquidtime.cli.model_files import REPORT, JobRecord, save
from liquidtime.cli.printing import Printer

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from liquidtime.data import SeriesSet

TASKS = ("classify", "regress", "forecast")
_LONGEST_NAME = 220
"""Of a model folder, in bytes: the temporary names beside it are longer, and 255 is what file systems take."""


@dataclass(frozen=True)
class Job:
    """What `train` was asked to do.

    Args:
        data: the table of measurements.
        columns: what its columns mean.
        out: the model folder to write.
        task: one of `TASKS`.
        target: column of the labels; None for forecasts.
        labels: the table of labels; None where they stand in `data`.
        labels_id: column of ids in `labels`; None for the one in `data`.
        auxiliary: columns that stand beside the labels and are learned along.
        seed: of everything random.
        test_share: of the series that are tested on.
        resume: continue a run that was stopped.
        force: discard a run that was stopped and start over.
        strict: refuse data that needs a repair.
        settings: other arguments of the estimator.
        title: of the report.
        command: what was typed.
        attribution: whose data it is.
    """

    data: Path
    columns: Columns
    out: Path
    task: str
    target: str | None = None
    labels: Path | None = None
    labels_id: str | None = None
    auxiliary: tuple[str, ...] = ()
    seed: int = 0
    test_share: float = 0.2
    resume: bool = False
    force: bool = False
    strict: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    title: str = ""
    command: str = ""
    attribution: str = ""

    def __post_init__(self) -> None:
        from liquidtime._checks import check_choice

        check_choice("--task", self.task, TASKS)
        if self.task == "forecast" and (self.target is not None or self.labels is not None):
            raise ValueError("--task forecast predicts every channel of the series; leave out --target and --labels")
        if self.task == "forecast" and self.auxiliary:
            raise ValueError("--auxiliary is for --task classify and regress; a forecast learns every channel already")
        if self.target in self.auxiliary:
            raise ValueError(f"--auxiliary must be other columns than --target; got {self.target!r} for both")
        if self.resume and self.force:
            raise ValueError("--resume continues a stopped run and --force discards it; give one of them")
        if self.task != "forecast" and self.target is None:
            raise ValueError(f"--task {self.task} needs --target: the column that is to be predicted")


def run(job: Job, printer: Printer) -> dict[str, Any]:
    """Read, split, train, test, save and report; return the result, ready for JSON.

    Args:
        job: what to do.
        printer: where to say what is going on.
    """
    from liquidtime.data import align_labels, align_outcomes, check_target, read_frame
    from liquidtime.evaluation import compare, forecast_test, hold_out, report_data
    from liquidtime.training.run_folder import RunFolder

    started = time.monotonic()
    _refuse_early(job.out)
    run_folder = RunFolder(job.out)
    run_folder.refuse(resume=job.resume, discard=job.force)
    frame = read_frame(job.data)
    labels = _labels(job, frame)
    data = job.columns.read(frame, leave=(job.target, *job.auxiliary), strict=job.strict)
    y = further = None
    if labels is not None and job.target is not None:
        column = job.columns.id if job.labels is None else job.labels_id or job.columns.id
        data, y = align_labels(data, labels, id=column, target=job.target, strict=job.strict)
        y = check_target(y, len(data), job.task)
        if job.auxiliary:
            further = align_outcomes(data, labels, id=column, columns=job.auxiliary, missing=job.columns.missing)
    about = data.describe()
    printer.data(about, f"{job.data.name}, as understood:")
    train, test = hold_out(len(data), job.test_share, job.seed, y if job.task == "classify" else None)
    printer.line(f"training on {len(train):,} series, testing on {len(test):,} that it does not see")
    model = _estimator(job)
    if job.resume and not run_folder.path.exists():
        printer.line(f"there is no {run_folder.path.name} to resume; starting anew")
    inputs = (data[train],) if y is None else (data[train], y[train])
    along = {} if further is None else {"auxiliary": further[train]}
    fingerprint = _fingerprint(job, data, y, further, train)
    with run_folder.held(fingerprint, resume=job.resume, discard=job.force):
        try:
            model.fit(*inputs, **along, folder=run_folder.path, resume=job.resume)
        except Exception:
            if not run_folder.has_checkpoint():  # nothing to resume
                run_folder.clear()
            raise

        printer.line("testing, beside baselines from the same training part")
        name = _name(job)
        result: Any
        if y is None:
            result = forecast_test(model, name, data[test], seed=job.seed)
            comparison = result.comparison
        else:
            result = comparison = compare(model, name, (data[train], y[train]), (data[test], y[test]), job.seed)
        figures = comparison.to_dict()
        labels_id = job.labels_id or job.columns.id
        record = JobRecord(
            job.task, job.columns, job.target, labels_id, {"training": len(train), "test": len(test)}, figures,
            job.auxiliary,
        )  # fmt: skip
        page = None
        try:
            from liquidtime.evaluation.report import render

            page = render(
                report_data(
                    model, about, data, {"training": train, "test": test}, result, title=job.title or job.out.name,
                    target_name=job.target or "every channel", seed=job.seed, command=job.command,
                    attribution=job.attribution, settings=model.get_params(deep=False),
                )
            )  # fmt: skip
        except ImportError as error:
            printer.line(f"no report: {error}")
        save(model, job.out, record, page)
        left = run_folder.clear()
        if left:
            printer.line(
                f"{run_folder.path} stays: it has {left[0].name!r}, which no run wrote ({len(left)} such in all)"
            )
    caption = f"on {len(test):,} series of the test part, with 95 % intervals"
    printer.scores(figures, caption + (", in standard deviations" if y is None else ""))
    printer.line(f"model   {job.out}")
    if page is not None:
        printer.line(f"report  {job.out / REPORT}")
    return {
        "model": str(job.out),
        "report": str(job.out / REPORT) if page is not None else None,
        "task": job.task,
        "series": {"training": len(train), "test": len(test)},
        "notes": [str(note) for note in about.notes],
        "test": figures,
        "seconds": round(time.monotonic() - started, 1),
    }


def _refuse_early(out: Path) -> None:
    """Refuse, before any work, a place where the model could not be written in the end."""
    from liquidtime.training.artifact import MANIFEST, refuse_foreign

    if out.is_symlink() or (out.exists() and not (out.is_dir() and ((out / MANIFEST).is_file() or _is_empty(out)))):
        raise FileExistsError(f"--out {out} exists and is not a model folder; choose another name")
    if not out.absolute().parent.is_dir():
        raise FileNotFoundError(f"--out {out} must lie in a folder that exists; there is no {out.absolute().parent}")
    if len(os.fsencode(out.absolute().name)) > _LONGEST_NAME:
        raise ValueError(f"--out must have a name of at most {_LONGEST_NAME} bytes; got {out.absolute().name[:40]!r}…")
    refuse_foreign(out.absolute())


def _is_empty(folder: Path) -> bool:
    return not any(folder.iterdir())


def _labels(job: Job, frame: Any) -> Any:
    """Return the table of labels, with its columns checked before anything else is read; None for forecasts."""
    import narwhals as nw

    from liquidtime.data import read_frame
    from liquidtime.data.reading.columns import check_column

    if job.target is None:
        return None
    if job.labels is None:
        return labels_of(frame, job.columns, job.target, job.auxiliary)
    table = read_frame(job.labels)
    check_column(nw.from_native(table), "--target", job.target)
    for name in job.auxiliary:
        check_column(nw.from_native(table), "--auxiliary", name)
    return table


def _estimator(job: Job) -> Any:
    import sys

    import liquidtime as lt

    kind = {"classify": lt.CfCClassifier, "regress": lt.CfCRegressor, "forecast": lt.CfCForecaster}[job.task]
    return kind(random_state=job.seed, verbose=sys.stderr.isatty(), **job.settings)


def _name(job: Job) -> str:
    network = {"cfc": "CfC", "ltc": "LTC"}.get(job.settings.get("network", "cfc"), job.settings.get("network", ""))
    members = job.settings.get("n_estimators", 1)
    return f"{network}, {members} networks" if members > 1 else str(network)


def _fingerprint(job: Job, data: SeriesSet, y: Any, further: Any, train: npt.NDArray[np.int64]) -> str:
    """Return the sha256 of data and settings; a run continues only with the same."""
    import numpy as np

    digest = hashlib.sha256(json.dumps([job.task, job.settings, job.seed], sort_keys=True).encode())
    for part in (data.offsets, data.times, data.values, data.static, train):
        digest.update(np.ascontiguousarray(part).tobytes())
    digest.update(repr(None if y is None else y.tolist()).encode())
    if further is not None:
        digest.update(np.ascontiguousarray(further).tobytes())
    return digest.hexdigest()
