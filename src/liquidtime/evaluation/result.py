from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liquidtime.evaluation.insight import Neighbours
from liquidtime.evaluation.job_record import JOB, REPORT, JobRecord
from liquidtime.evaluation.report import ReportData, render
from liquidtime.files.whole_files import write_file
from liquidtime.tasks import Comparison, Task
from liquidtime.tasks.figure_table import Figures, as_html, as_text, rows_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars

_ENDS = (("", "value"), ("_low", "low"), ("_high", "high"))


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """A trained model with its test results; printed as a table.

        result.figures["CfC"]["auc"]          value, low, high
        result.predictions                    predictions for the test part, one row per series or forecast
        result.report("report.html")          one HTML page
        result.save("model")                  model, report and job, for `lt.load` and `liquidtime predict`

    Args:
        task: task.
        reason: why this task was chosen, as text; "" if it was requested.
        model: estimator, fitted to all series after the test, or to the training part without `refit`.
        parts: rows of the series of each part, "training" and "test".
        comparison: the model, before it saw the test part, and the baselines on the test part; empty without a test.
        predictions: predictions for the test part, with the truth, as a polars data frame.
        contents: contents of the report; None without a test.
        record: record of the job for the model folder.
        neighbours: training series to search for similar ones, which the model folder stores; None for none.
    """

    task: Task
    reason: str
    model: Any
    parts: Mapping[str, npt.NDArray[np.int64]]
    comparison: Comparison
    predictions: polars.DataFrame
    contents: ReportData | None
    record: JobRecord
    neighbours: Neighbours | None = None

    @property
    def figures(self) -> Figures:
        """Test figures with 95 % confidence intervals, by model and metric."""
        return self.comparison.figures

    def page(self) -> str:
        """Return the report as the text of an HTML page.

        Raises:
            ImportError: matplotlib or jinja2 is not installed.
            ValueError: there was no test.

        """
        if self.contents is None:
            raise ValueError("there is no report, because nothing was tested with `test_share` 0")
        return render(self.contents)

    def report(self, path: str | Path) -> Path:
        """Write the report as one self-contained HTML file.

        Args:
            path: path of the file, which is replaced if it exists.

        Raises:
            ImportError: matplotlib or jinja2 is not installed.

        """
        file = Path(path)
        write_file(file.absolute(), self.page().encode())
        return file

    def save(self, path: str | Path, *, report: bool | None = None) -> None:
        """Write the model, its job and its report as one folder, completely or not at all.

        Args:
            path: path of the folder. An existing model is replaced, and kept as `<name>.previous`.
            report: whether to write the report, if anything was tested; None writes it if the packages for it are
                installed, and warns otherwise.

        Raises:
            FileExistsError: the folder holds other files.
            ImportError: `report=True` without matplotlib or jinja2.
            SaveFailed: the disk is full or not writable.

        """
        files = {JOB: self.record.to_bytes(), **({} if self.neighbours is None else self.neighbours.files())}
        if report is not False and self.contents is not None:
            try:
                files[REPORT] = self.page().encode()
            except ImportError as error:
                if report:
                    raise
                warnings.warn(f"the model is saved without its report: {error}", stacklevel=2)
        own: Mapping[str, Any] = next(iter(self.record.test.values()), {})
        metrics = {f"{metric}{end}": figure[key] for metric, figure in own.items() for end, key in _ENDS}
        self.model.save(path, metrics=metrics, files=files)

    @property
    def caption(self) -> str:
        """Text that says what the figures were measured on."""
        if self.contents is None:
            return "nothing was tested"
        unit = f", {self.task.unit}" if self.task.unit else ""
        tested = f"on {len(self.parts['test']):,} series of the test part{unit}, with 95 % confidence intervals"
        return f"{tested}; {self.record.split['test']}" if "test" in self.record.split else tested

    def _headline(self) -> str:
        name = self.record.target or self.task.unnamed_target
        of = f" of {name}" if name else ""
        taken = f" (task {self.task.name!r}, because {self.reason})" if self.reason else ""
        sizes = f"{len(self.parts['training']):,} series trained on, {len(self.parts['test']):,} tested on"
        seed = f", seed {self.contents.seed}" if self.contents is not None else ""
        return f"{self.task.title}{of}{taken}: {sizes}{seed}"

    def __repr__(self) -> str:
        if self.contents is None:
            return f"{self._headline()}"
        return f"{self._headline()}\n\n{as_text(rows_of(self.figures))}\n\n{self._below()}"

    def _below(self) -> str:
        saved = self.record.split.get("saved model")
        told = self.contents.verdict if self.contents is not None else ""
        lines = [f"{self.caption}; ↓: lower is better", told, f"the model is {saved}" if saved else ""]
        return "\n".join(line for line in lines if line)

    def _repr_html_(self) -> str:
        table = as_html(self.figures, self._below()) if self.contents is not None else ""
        return f"<div><p><b>{escape(self._headline())}</b></p>{table}</div>"
