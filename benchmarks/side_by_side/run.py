"""Measures what is asked for and hands back a report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from benchmarks.side_by_side import contenders
from benchmarks.side_by_side.case import PRODUCT_SIZE, RAGGED, Case, Questions
from benchmarks.side_by_side.contenders import MATRIX_PRODUCT, contender
from benchmarks.side_by_side.machine import FOLDER, PACKAGES, machine_facts
from benchmarks.side_by_side.measure import timed_product, timed_sequence, timed_step, timed_training
from benchmarks.side_by_side.memory import peak_bytes
from benchmarks.side_by_side.report import CaseFigures, Report, SweepFigures
from benchmarks.side_by_side.shape import Shape, product_flops
from benchmarks.side_by_side.sweep import Sweep, measure_sweep
from benchmarks.side_by_side.timing import LEAST, Timed, interleaved
from liquidtime._checks import check_size
from liquidtime._provenance import commit, versions

REPEATS, QUICK_REPEATS = 15, 2
QUICK_PRODUCT = 32


def default_threads() -> list[int]:
    """Return 1 and 2, or 1 alone where there is one core."""
    return [1, 2] if (os.cpu_count() or 1) > 1 else [1]


def bench(
    questions: Questions,
    cases: Iterable[str] = (),
    *,
    repeats: int | None = None,
    threads: Sequence[int] | None = None,
    quick: bool = False,
    say: Callable[[str], None] = lambda text: None,
    keep: Callable[[Report], object] = lambda report: None,
) -> Report:
    """Measure side by side.

    Args:
        questions: what can be asked.
        cases: names of cases, sweeps or groups; none for all.
        repeats: rounds; 15, with `quick` 2.
        threads: numbers of threads; 1 and 2.
        quick: whether sizes are reduced until everything runs in seconds, to see that it runs; the figures then
            mean nothing.
        say: called with a line on what is being measured.
        keep: called with the report so far, after each case and sweep.

    Raises:
        ValueError: a name that is none, or a number below 1.

    """
    chosen = questions.select(cases)
    counts = sorted({check_size("threads", n) for n in (threads or default_threads())})
    rounds = check_size("repeats", repeats if repeats is not None else QUICK_REPEATS if quick else REPEATS)
    report = Report(machine_facts(), versions(PACKAGES), commit(FOLDER), counts, rounds, quick)
    for case in chosen.cases:
        shape = case.shape.reduced() if quick else case.shape
        say(f"{case.name}: {case.question}, {shape}")
        report.cases.append(_measure_case(case, shape, counts, rounds, quick))
        keep(report)
    for sweep in chosen.sweeps:
        say(f"{sweep.name}: {sweep.question}")
        report.sweeps.append(_measure_sweep(sweep.reduced() if quick else sweep, counts[0], rounds))
        keep(report)
    return report


def _measure_case(case: Case, shape: Shape, threads: list[int], repeats: int, quick: bool) -> CaseFigures:
    plain = [name.removesuffix(RAGGED) for name in case.contenders if name != MATRIX_PRODUCT]
    _, missing = contenders.split(plain)
    present = [name for name in case.contenders if name.removesuffix(RAGGED) not in missing]
    absent = {name: missing[name.removesuffix(RAGGED)] for name in case.contenders if name not in present}
    figures = CaseFigures(case.name, shape, missing=absent)
    if case.group == "memory":
        figures.peak_bytes = {name: peak_bytes(name, shape) for name in present}
        return figures
    size = QUICK_PRODUCT if quick else PRODUCT_SIZE
    runs = {name: _run(case, name, shape, size) for name in present}
    figures.times = interleaved(runs, threads=threads, repeats=repeats, least=0.0 if quick else LEAST)
    if MATRIX_PRODUCT in present:
        figures.flops = {MATRIX_PRODUCT: product_flops(size)}
        for name in present:
            count = None if name == MATRIX_PRODUCT else contender(name).flops
            if count is not None:
                figures.flops[name] = count(shape)
    return figures


def _run(case: Case, name: str, shape: Shape, size: int) -> Timed:
    if name == MATRIX_PRODUCT:
        return timed_product(size)
    entry = contender(name.removesuffix(RAGGED))
    if case.group == "step":
        return timed_step(entry, shape)
    if case.group == "sequence":
        return timed_sequence(entry, shape)
    return timed_training(entry, shape, ragged=name.endswith(RAGGED))


def _measure_sweep(sweep: Sweep, threads: int, repeats: int) -> SweepFigures:
    reasons = {model: sweep.why_missing(model) for model in sweep.models}
    missing = {model: reason for model, reason in reasons.items() if reason is not None}
    models = [model for model in sweep.models if model not in missing]
    return SweepFigures(sweep.name, measure_sweep(sweep, models, threads, repeats), missing)
