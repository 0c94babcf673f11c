"""What follows from the figures: each target with the value found, and the exponents with the paper's."""

from __future__ import annotations

import dataclasses
from typing import Any

from benchmarks.side_by_side.case import Questions, Target
from benchmarks.side_by_side.contenders import MATRIX_PRODUCT
from benchmarks.side_by_side.exponents import fitted
from benchmarks.side_by_side.report import CaseFigures, Report, SweepFigures
from benchmarks.side_by_side.sweep import ORDERS, Sweep


@dataclasses.dataclass(frozen=True)
class Claim:
    """One target and what was found.

    Args:
        case: its name.
        target: what was to be reached.
        values: by number of threads; of "threads" and "memory" there is one, under the largest.
        reached: at the largest number of threads; None where there is no value or sizes were reduced.
        reason: why there is no value, or an empty text.

    """

    case: str
    target: Target
    values: dict[int, float]
    reached: bool | None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as JSON has it."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class Growth:
    """How the cost of a model grows with a size: the fitted exponent beside the paper's, where it states one."""

    sweep: str
    axis: str
    model: str
    exponent: float | None
    paper: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the growth as JSON has it."""
        return dataclasses.asdict(self)


def rate_fraction(figures: CaseFigures, name: str, threads: int) -> float | None:
    """Return a contender's operations a second in parts of those of torch.mm in the same rounds."""
    own, product = figures.best(name, threads), figures.best(MATRIX_PRODUCT, threads)
    if own is None or product is None or name not in figures.flops:
        return None
    return (figures.flops[name] / own) / (figures.flops[MATRIX_PRODUCT] / product)


def target_values(figures: CaseFigures, target: Target, threads: list[int]) -> dict[int, float]:
    """Return the value of a target for each number of threads for which there is one."""
    most = max(threads)
    if target.measure == "memory":
        found = figures.peak_bytes.get(target.subject)
        return {} if found is None else {most: found / 1e6}
    if target.measure == "threads":
        one, two = figures.best(target.subject, 1), figures.best(target.subject, 2)
        return {} if one is None or two is None else {most: one / two}
    values: dict[int, float | None] = {}
    for n in threads:
        if target.measure == "rate":
            values[n] = rate_fraction(figures, target.subject, n)
            continue
        own, other = figures.best(target.subject, n), figures.best(target.other, n)
        if own is None or other is None:
            values[n] = None
        else:
            values[n] = own / other if target.measure == "time" else other / own
    return {n: value for n, value in values.items() if value is not None}


def claims(report: Report, questions: Questions) -> list[Claim]:
    """Return every target of the cases that were measured."""
    return [
        _claim(report, figures, target) for figures in report.cases for target in questions.case(figures.name).targets
    ]


def _claim(report: Report, figures: CaseFigures, target: Target) -> Claim:
    values = target_values(figures, target, report.threads)
    most = max(report.threads)
    reached = None
    if most in values and not report.quick:
        reached = values[most] <= target.limit if target.at_most else values[most] >= target.limit
    reason = ""
    if not values:
        absent = [figures.missing[name] for name in (target.subject, target.other) if name in figures.missing]
        reason = "; ".join(dict.fromkeys(absent)) or "needs --threads 1,2"
    return Claim(figures.name, target, values, reached, reason)


def growths(report: Report, questions: Questions) -> list[Growth]:
    """Return the exponents of every sweep that was measured."""
    return [growth for figures in report.sweeps for growth in _growths(figures, questions.sweep(figures.name))]


def _growths(figures: SweepFigures, sweep: Sweep) -> list[Growth]:
    found = []
    for model in figures.times:
        law = fitted(figures.costs(model))
        found.append(Growth(sweep.name, sweep.axis, model, None if law is None else law.exponent, sweep.models[model]))
    return found


def order_costs(report: Report) -> dict[str, float]:
    """Return what solvers of each order cost, in parts of the first order's, at the most steps that all were given."""
    figures = next((figures for figures in report.sweeps if figures.name == "solver-K"), None)
    if figures is None or not all(figures.times.get(method) for method in ORDERS):
        return {}
    most = max(set.intersection(*(set(figures.times[method]) for method in ORDERS)))
    costs = {method: figures.costs(method)[most] for method in ORDERS}
    return {method: costs[method] / costs["euler"] for method in ORDERS}


def conclusions(report: Report, questions: Questions) -> dict[str, Any]:
    """Return all that follows from the figures, as JSON has it."""
    return {
        "claims": [claim.to_dict() for claim in claims(report, questions)],
        "growth": [growth.to_dict() for growth in growths(report, questions)],
        "order_costs": order_costs(report),
        "missing": report.missing(),
    }
