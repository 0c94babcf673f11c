"""Our results next to the paper's, from the result files only."""

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

QUOTED = "Quoted from a work with other inputs and settings; we do not know which of them makes the difference."
UNKNOWN = "We do not know why."
PERCENT = ("accuracy",)
_HEAD = "# Results\n\nMade by `liquidtime paper table --all` from the files in `results/`.\n"
LEGEND = """\
- *Ours*: mean ± sample standard deviation over n seeds, on the test part.
- *Interval*: lower and upper ends of the 95 % bootstrap intervals over test sequences, averaged over the seeds. In runs
  since 2026-11-18, windows of one rollout or drive are resampled together, and the interval is exact if all predictions
  are right; these runs also record the metric on test sequences that do not occur in training (docs/deviations.md).
- *Paper*: as printed, with standard deviations (ddof 0) over 5 runs; in italics if the paper quotes another work.
- `honest`: the epoch is chosen on a validation part, or none is chosen. The settings of rows labelled "tuned, also on
  these test stays" were chosen on data that include the test part, and the number of epochs of rows labelled "epochs of
  the paper" was chosen by the paper on test data.
- `published`: the last epoch, as in the paper's code.
- *Searched*: settings of the best of several trials by validation data, with the same number of trials for every model
  in the search (`liquidtime paper tune`).
- *Remarks* count seeds that stopped before the last epoch of their settings: early, because validation had stopped
  improving; at perfect validation; or at a negligible rate, when an exponentially falling learning rate had reached the
  lowest of its experiment (docs/reproducing.md) and validation no longer improved.
- Times per epoch are in separate tables below, where they were measured for all models in one run. The times in the
  result files are not comparable, because other work ran at the same time."""
STOPPED = {
    "early": "stopped early",
    "target": "stopped at perfect validation",
    "spent": "stopped at a negligible rate",
    "diverged": "diverged",
}
"""Remarks on why seeds stopped, by the reason in the result files."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of our table.

    Attributes:
        row: name of the row.
        title: title of the model, with the changes of its settings.
        protocol: protocol of the runs.
        values: figures of the test part, one per seed.
        low: mean lower end of the confidence intervals.
        high: mean upper end.
        stopped: number of seeds that stopped before their last epoch, by reason.
        penalised: mean with the L2 penalty, if the published protocol reports it; otherwise None.
        unseen: one figure per seed that recorded it, on test sequences that do not occur in training.
        paper: line of the paper; None if it has none.
        note: remark of the row.
        why: known reasons for a difference from the paper; empty if there are none; None for a row with other settings,
            which is not compared with it.

    """

    row: str
    title: str
    protocol: str
    values: list[float]
    low: float
    high: float
    stopped: dict[str, int]
    penalised: float | None
    unseen: list[float]
    paper: PaperRow | None
    note: str
    why: str | None

    @property
    def deviation(self) -> float | None:
        """Standard deviation over the seeds; None for one seed."""
        return stdev(self.values) if len(self.values) > 1 else None

    def differs(self, digits: int) -> bool:
        """Return whether the mean, rounded as printed, differs from the paper's by more than two of its deviations."""
        if self.paper is None or self.why is None:
            return False
        deviation = self.paper.deviation or 0.0
        return bool(abs(fmean(self.values) - self.paper.value) > 2 * deviation + 0.5 * 10**-digits)


def lines(experiment: Experiment, results: list[dict[str, Any]]) -> list[Line]:
    """Return our lines in the order of the experiment's protocols and rows, full runs first."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for record in results:
        groups.setdefault((record["key"]["protocol"], record["key"]["model"], _changed(record)), []).append(record)
    unknown = sorted({model for _, model, _ in groups} - set(experiment.rows))
    if unknown:
        raise ValueError(f"{experiment.name} has results of models that it does not have: {', '.join(unknown)}")
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
        unseen=[scale * record["figures"]["test_unseen"]["value"] for record in _with("test_unseen", records)],
        paper=next((line for line in experiment.published if line.model in row.model.paper), None),
        note=row.note,
        why=None if row.label or changed else row.why,
    )


def markdown(experiment: Experiment, out: str | Path = "results") -> str:
    """Return the table of an experiment: our lines next to the paper's, the paper's other lines, and the times."""
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
        remarks += [f"{count} {STOPPED[reason]}" for reason, count in line.stopped.items()]
        if line.penalised is not None:
            remarks.append(f"with the L2 penalty, as the paper reports it: {line.penalised:.{digits}f}")
        if line.unseen:
            n, N = len(line.unseen), len(line.values)
            seeds = "" if n == N else f" ({n} of {N} seeds)"
            remarks.append(f"on test sequences that do not occur in training: {fmean(line.unseen):.{digits}f}{seeds}")
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
    """Return whether a file is a page of results."""
    try:
        with file.open("rb") as opened:
            return not file.is_symlink() and opened.read(len(_HEAD)) == _HEAD.encode()
    except OSError:
        return False


def page(out: str | Path = "results") -> str:
    """Return the page of all experiments that have results or times."""
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
    return [
        "",
        "Under the honest protocol, these differ from the paper by more than two of its standard deviations:",
        "",
    ] + [
        f"- {line.title}: {fmean(line.values):.{digits}f}, paper {_paper(line.paper, digits)[0]}. "
        + " ".join(_reasons(experiment, line, ours))
        for line in far
    ]


def _reasons(experiment: Experiment, line: Line, ours: list[Line]) -> list[str]:
    """Return the known reasons for a difference, and the rows and protocols that say more, whether run or not."""
    reasons = [line.why or (QUOTED if line.paper is not None and line.paper.quoted else UNKNOWN)]
    done = {other.row: other for other in reversed(ours) if other.protocol == HONEST}  # full runs are first
    see = {name: experiment.rows[name].label for name in experiment.rows[line.row].see}
    if f"{line.row}_{SEARCHED}" in done or line.why == UNSAID:
        see[f"{line.row}_{SEARCHED}"] = SEARCHED
    for name, label in see.items():
        if name in done:
            figure = _mean(fmean(done[name].values), done[name].deviation, experiment.digits)
            reasons.append(f"The row `{label}` has {figure}.")
        else:
            reasons.append(f"Its row `{label}` was not run.")
    for other in ours:
        if other.row == line.row and other.protocol != HONEST:
            figure = _mean(fmean(other.values), other.deviation, experiment.digits)
            reasons.append(f"Under the protocol `{other.protocol}`, ours is {figure}.")
    return reasons


def _changed(record: dict[str, Any]) -> str:
    parts = {name: record["key"].get(name) for name in ("epochs", "limit")}
    return ", ".join(f"{name} {value}" for name, value in parts.items() if value is not None)


def _with(figure: str, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record for record in records if figure in record["figures"]]


def _mean_of(figure: str, records: list[dict[str, Any]]) -> float | None:
    """Return the mean of a figure over the records; None if one lacks it."""
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
