"""Our results beside the paper's, made from the result files alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.experiments.experiment import HONEST, SEARCHED, UNSAID, Experiment
from liquidtime.paper.experiments.published import PaperRow
from liquidtime.paper.pages import epoch_times
from liquidtime.paper.pages.markdown import cells, head
from liquidtime.paper.pages.sections import SECTIONS, written
from liquidtime.paper.runner import read_results

QUOTED = "Quoted from a work with its own inputs and settings; which of them makes the difference we do not know."
UNKNOWN = "We do not know why."
PERCENT = ("accuracy",)
_HEAD = "# Results\n\nMade by `liquidtime paper table --all` from the files in `results/`.\n"
LEGEND = """\
Ours: mean ± standard deviation (of the sample) over n seeds, on the test part. Interval: the ends of the 95 %
bootstrap intervals over test sequences (runs since 2026-11-18: over rollouts or drives where sequences are windows of
them, and exact where every answer is right), averaged over the seeds. Paper: as printed, deviations with ddof 0 over
5 runs; in italics where the paper quotes another work. `honest`: the epoch is chosen on a validation part, or none is
chosen; rows that say "tuned, also on these test stays" have settings that were chosen on the test part too, and rows
with "epochs of the paper" a number of epochs that the paper chose on test data. Searched: settings of the best of a
number of trials on validation data, the same number for every model searched (`liquidtime paper tune`). Runs
since that date also record the metric on test sequences that do not occur in training (docs/deviations.md).
`published`: the last epoch, as in the paper's code. Remarks count the seeds that ended before the last epoch of their
settings: `early` for want of a better validation, `target` by a perfect one, `spent` when an exponentially falling
rate was down to the least of its experiment (docs/reproducing.md) and validation had ceased to rise, `diverged`. Time
per epoch stands below, where it was measured for all models in one run; the seconds in the result files are those of
runs beside other work and are not compared."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of our table.

    Attributes:
        row: its name.
        title: of the model, with what is not as its settings say.
        protocol: of the runs.
        values: of the test part, one per seed.
        low: lower ends of the intervals, averaged.
        high: upper ends.
        stopped: how many seeds ended before their last epoch, by reason.
        penalised: the mean with the L2 penalty, for a published protocol that reports it; else None.
        unseen: the mean on test sequences that do not occur in training, over the seeds that recorded it; else None.
        paper: the paper's line, None where it has none.
        note: of the row.
        why: what is known of a difference from the paper; empty where nothing is, None for a row with settings of its
            own, which is not held against it.

    """

    row: str
    title: str
    protocol: str
    values: list[float]
    low: float
    high: float
    stopped: dict[str, int]
    penalised: float | None
    unseen: float | None
    paper: PaperRow | None
    note: str
    why: str | None

    @property
    def deviation(self) -> float | None:
        """Standard deviation over the seeds, None for one."""
        return stdev(self.values) if len(self.values) > 1 else None

    def differs(self, digits: int) -> bool:
        """Whether the mean is more than two of the paper's deviations from its figure, as far as it is printed."""
        if self.paper is None or self.why is None:
            return False
        deviation = self.paper.deviation or 0.0
        return bool(abs(fmean(self.values) - self.paper.value) > 2 * deviation + 0.5 * 10**-digits)


def lines(experiment: Experiment, results: list[dict[str, Any]]) -> list[Line]:
    """Return our lines, in the order of the experiment's protocols and rows, full runs first."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for record in results:
        groups.setdefault((record["key"]["protocol"], record["key"]["model"], _changed(record)), []).append(record)
    unknown = sorted({model for _, model, _ in groups} - set(experiment.rows))
    if unknown:
        raise ValueError(f"results of {experiment.name} are of models that it does not have: {', '.join(unknown)}")
    protocols, rows = list(experiment.protocols), list(experiment.rows)
    order = sorted(
        groups, key=lambda group: (protocols.index(group[0]), bool(group[2]), rows.index(group[1]), group[2])
    )
    return [_line(experiment, group, groups) for group in order]


def _line(
    experiment: Experiment, group: tuple[str, str, str], groups: dict[tuple[str, str, str], list[dict[str, Any]]]
) -> Line:
    protocol, model, changed = group
    records = groups[group]
    scale = 100.0 if experiment.task.metric in PERCENT else 1.0
    tests = [record["figures"]["test"] for record in records]
    row = experiment.rows[model]
    stopped: dict[str, int] = {}
    for record in records:
        if record["stopped"] != "finished":
            stopped[record["stopped"]] = stopped.get(record["stopped"], 0) + 1
    return Line(
        row=model,
        title=f"{row.title} [{changed}]" if changed else row.title,
        protocol=protocol,
        values=[scale * test["value"] for test in tests],
        low=scale * fmean(test["low"] for test in tests),
        high=scale * fmean(test["high"] for test in tests),
        stopped=stopped,
        penalised=_mean_of("test_with_penalty", records) if protocol != HONEST else None,
        unseen=None if (unseen := _mean_of("test_unseen", _with("test_unseen", records))) is None else scale * unseen,
        paper=next((line for line in experiment.published if line.model in row.model.paper), None),
        note=row.note,
        why=None if row.label or changed else row.why,
    )


def markdown(experiment: Experiment, out: str | Path = "results") -> str:
    """Return the table of an experiment: our lines with the paper's beside, the paper's other lines, and the times."""
    return _table(experiment, read_results(Path(out), experiment.name), epoch_times.read(out).get(experiment.name))


def _table(experiment: Experiment, results: list[dict[str, Any]], times: dict[str, Any] | None) -> str:
    ours = lines(experiment, results)
    digits = experiment.digits
    unit = "%" if experiment.task.metric in PERCENT else experiment.task.metric
    names = ["model", "protocol", f"ours ({unit})", "n", "interval"]
    names += [f"paper ({unit})", "min/epoch", "remarks"]
    text = head(*names)
    for line in ours:
        remarks = [line.note] if line.note else []
        remarks += [f"{count} {reason}" for reason, count in line.stopped.items()]
        if line.penalised is not None:
            remarks.append(f"with the L2 penalty, as the paper reports it: {line.penalised:.{digits}f}")
        if line.unseen is not None:
            remarks.append(f"on test sequences that do not occur in training: {line.unseen:.{digits}f}")
        text.append(
            cells(
                line.title,
                line.protocol,
                _mean(fmean(line.values), line.deviation, digits),
                str(len(line.values)),
                f"{line.low:.{digits}f}…{line.high:.{digits}f}",
                *_paper(line.paper, digits),
                "; ".join(remarks),
            )
        )
    beside = {line.paper for line in ours}
    for row in experiment.published:
        if row not in beside:
            text.append(cells(row.model, "", "–", "", "", *_paper(row, digits), ""))
    text += _differences(experiment, ours)
    if times is not None:
        text += ["", epoch_times.table(times).rstrip("\n")]
    return "\n".join(text) + "\n"


def is_page(file: Path) -> bool:
    """Return whether a file is such a page."""
    try:
        with file.open("rb") as opened:
            return not file.is_symlink() and opened.read(len(_HEAD)) == _HEAD.encode()
    except OSError:
        return False


def page(out: str | Path = "results") -> str:
    """Return the page of all experiments that have a result, or times of their models."""
    parts = [_HEAD, LEGEND, ""]
    timed = epoch_times.read(out)
    for experiment in EXPERIMENTS.values():
        if experiment.name in SECTIONS:
            continue
        results, times = read_results(Path(out), experiment.name), timed.get(experiment.name)
        if results or times is not None:
            command = f"liquidtime paper run {experiment.name} --model MODEL --seeds N --protocol {HONEST}"
            parts += [f"## {experiment.title}", "", f"`{command}`", "", _table(experiment, results, times)]
    return "\n".join(parts + written(Path(out)))


def _differences(experiment: Experiment, ours: list[Line]) -> list[str]:
    digits = experiment.digits
    far = [line for line in ours if line.protocol == HONEST and line.differs(digits)]
    if not far:
        return []
    return ["", "More than two of its deviations from the paper, under the honest protocol:", ""] + [
        f"- {line.title}: {fmean(line.values):.{digits}f}, paper {_paper(line.paper, digits)[0]}. "
        + " ".join(_reasons(experiment, line, ours))
        for line in far
    ]


def _reasons(experiment: Experiment, line: Line, ours: list[Line]) -> list[str]:
    """Return what is known of a difference, and which rows and protocols tell more, were they run or not."""
    reasons = [line.why or (QUOTED if line.paper is not None and line.paper.quoted else UNKNOWN)]
    done = {other.row for other in ours if other.protocol == HONEST}
    for name in experiment.rows[line.row].see:
        label = experiment.rows[name].label
        reasons.append(f"See the row `{label}`." if name in done else f"Its row `{label}` was not run.")
    if f"{line.row}_{SEARCHED}" in done:
        reasons.append(f"See the row `{SEARCHED}`.")
    elif line.why == UNSAID:
        reasons.append(f"Its row `{SEARCHED}` was not run.")
    for other in ours:
        if other.row == line.row and other.protocol != HONEST:
            figure = _mean(fmean(other.values), other.deviation, experiment.digits)
            reasons.append(f"Under the protocol `{other.protocol}` ours is {figure}.")
    return reasons


def _changed(record: dict[str, Any]) -> str:
    parts = {name: record["key"].get(name) for name in ("epochs", "limit")}
    return ", ".join(f"{name} {value}" for name, value in parts.items() if value is not None)


def _with(figure: str, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record for record in records if figure in record["figures"]]


def _mean_of(figure: str, records: list[dict[str, Any]]) -> float | None:
    """Return the mean of a figure that all of the records have; None where one lacks it."""
    if not records or len(_with(figure, records)) < len(records):
        return None
    return fmean(record["figures"][figure]["value"] for record in records)


def _mean(mean: float, deviation: float | None, digits: int) -> str:
    return f"{mean:.{digits}f}" if deviation is None else f"{mean:.{digits}f} ± {deviation:.{digits}f}"


def _paper(row: PaperRow | None, digits: int) -> tuple[str, str]:
    if row is None:
        return "–", "–"
    value = _mean(row.value, row.deviation, digits)
    return f"*{value}* ({row.quoted})" if row.quoted else value, "–" if row.minutes is None else f"{row.minutes:g}"
