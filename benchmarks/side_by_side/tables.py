"""A report as tables that a person can read."""

from __future__ import annotations

from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from benchmarks.side_by_side.case import Questions, Target
from benchmarks.side_by_side.claims import Claim, claims, growths, order_costs, rate_fraction
from benchmarks.side_by_side.contenders import MATRIX_PRODUCT
from benchmarks.side_by_side.report import CaseFigures, Report
from benchmarks.side_by_side.sweep import ORDERS

_DASH = "–"
_WIDTH = 14


def tables(report: Report, questions: Questions) -> Group:
    """Return all that was measured: times, memory, targets, growth, and who was left out."""
    return Group(*_parts(report, questions))


def _parts(report: Report, questions: Questions) -> Iterator[Table | Text]:
    yield Text(heading(report), style="bold")
    for figures in report.cases:
        yield Text(f"\n{figures.name}: {questions.case(figures.name).question}, {figures.shape}", style="bold")
        yield _figures(report, figures)
    if report.cases:
        yield Text("\nWhat must be reached", style="bold")
        yield _targets(report, questions)
    if report.sweeps:
        yield Text("\nCost grows with size to the power of … (in brackets what the paper states)", style="bold")
        yield _growth(report, questions)
        costs = order_costs(report)
        if costs:
            found = ", ".join(f"{method} {cost:.2f} ({ORDERS[method]})" for method, cost in costs.items())
            yield Text(f"A solver step in parts of Euler's, in brackets its order: {found}")
    for name, reason in report.missing().items():
        yield Text(f"left out: {name}, {reason}")
    if report.quick:
        yield Text("Sizes were reduced to see that everything runs: these figures say nothing about speed.")


def heading(report: Report) -> str:
    """Return the machine in a line."""
    machine = report.machine
    parts = [machine["processor"], f"{machine['cores']} cores", f"torch {report.versions['torch']}"]
    parts.append(f"kernel {machine['kernel_instructions'] or 'not built'}")
    if machine["load_average"] is not None:
        parts.append(f"load {machine['load_average'][0]:.1f} at the start")
    return ", ".join(parts)


def describe(target: Target) -> str:
    """Return what a target is about, in words."""
    return {
        "speedup": f"{target.subject} faster than {target.other}",
        "time": f"{target.subject}, time in parts of {target.other}",
        "threads": f"{target.subject}, two threads faster than one",
        "rate": f"{target.subject}, part of the torch.mm rate",
        "memory": f"{target.subject}, peak MB above the inputs",
    }[target.measure]


def limit(target: Target) -> str:
    """Return what a target asks for, such as "≥ 2×"."""
    sign = "≤" if target.at_most else "≥"
    return f"{sign} {target.limit:g}{_unit(target)}"


def _unit(target: Target) -> str:
    return {"speedup": "×", "threads": "×", "memory": " MB"}.get(target.measure, "")


def _table() -> Table:
    return Table(box=SIMPLE_HEAD, pad_edge=False)


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def _targets(report: Report, questions: Questions) -> Table:
    table = _table()
    table.add_column("case")
    table.add_column("what", no_wrap=True)
    for n in report.threads:
        table.add_column(_threads(n), justify="right")
    table.add_column("target", justify="right")
    table.add_column("reached")
    last = ""
    for claim in claims(report, questions):
        cells = [_value(claim, n) for n in report.threads]
        name = "" if claim.case == last else claim.case
        table.add_row(name, describe(claim.target), *cells, limit(claim.target), _verdict(claim))
        last = claim.case
    return table


def _value(claim: Claim, threads: int) -> str:
    value = claim.values.get(threads)
    return _DASH if value is None else f"{value:.3g}{_unit(claim.target)}"


def _verdict(claim: Claim) -> Text:
    if claim.reason:
        return Text(claim.reason, style="dim")
    if claim.reached is None:
        return Text("not judged", style="dim")
    return Text("yes", style="green") if claim.reached else Text("no", style="red")


def _figures(report: Report, figures: CaseFigures) -> Table:
    table = _table()
    table.add_column("", min_width=_WIDTH)
    if figures.peak_bytes:
        table.add_column("peak", justify="right", min_width=_WIDTH)
        for name, found in figures.peak_bytes.items():
            table.add_row(name, f"{found / 1e6:.1f} MB")
        return table
    first = next((name for name in figures.times if name != MATRIX_PRODUCT), None)
    for n in report.threads:
        table.add_column(_threads(n), justify="right", min_width=_WIDTH)
    table.add_column(f"times {first}", justify="right", min_width=_WIDTH)
    if figures.flops:
        table.add_column(f"of the {MATRIX_PRODUCT} rate", justify="right")
    most = max(report.threads)
    base = None if first is None else figures.best(first, most)
    for name in figures.times:
        own, fraction = figures.best(name, most), rate_fraction(figures, name, most)
        table.add_row(
            name,
            *(_seconds(figures.best(name, n)) for n in report.threads),
            _DASH if own is None or base is None else f"{own / base:.3g}×",
            *([_DASH if fraction is None else f"{fraction:.2f}"] if figures.flops else []),
        )
    return table


def _seconds(value: float | None) -> str:
    if value is None:
        return _DASH
    if value < 1e-3:
        return f"{value * 1e6:.3g} µs"
    return f"{value * 1e3:.4g} ms" if value < 1 else f"{value:.3g} s"


def _growth(report: Report, questions: Questions) -> Table:
    table = _table()
    table.add_column("")
    for sweep in report.sweeps:
        table.add_column(sweep.name, justify="right")
    found = {(growth.model, growth.sweep): growth for growth in growths(report, questions)}
    for model in dict.fromkeys(model for model, _ in found):
        cells = []
        for sweep in report.sweeps:
            growth = found.get((model, sweep.name))
            if growth is None or growth.exponent is None:
                cells.append(_DASH)
            else:
                cells.append(f"{growth.exponent:.2f} ({_DASH if growth.paper is None else f'{growth.paper:g}'})")
        table.add_row(model, *cells)
    return table
