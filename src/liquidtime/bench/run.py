"""Measures what is asked for and hands back a report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from liquidtime._checks import check_size
from liquidtime.bench import contenders
from liquidtime.bench.cases import PRODUCT_SIZE, RAGGED, Case, select
from liquidtime.bench.contenders import MATRIX_PRODUCT, contender
from liquidtime.bench.machine import commit, machine_facts, versions
from liquidtime.bench.measure import product_run, sequence_run, step_run, training_run
from liquidtime.bench.memory import peak_bytes
from liquidtime.bench.report import CaseFigures, Report, SweepFigures
from liquidtime.bench.shape import Shape, product_flops
from liquidtime.bench.sweeps import Sweep, measure_sweep
from liquidtime.bench.timing import LEAST, Run, interleaved

REPEATS, QUICK_REPEATS = 15, 2
QUICK_PRODUCT = 32


def default_threads() -> list[int]:
    """Return 1 and 2, or 1 alone where there is one core."""
    return [1, 2] if (os.cpu_count() or 1) > 1 else [1]


def bench(
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
        cases: names of cases, sweeps or groups; none for all.
        repeats: rounds; 15, with `quick` 2.
        threads: numbers of threads; 1 and 2.
        quick: whether sizes are reduced until everything runs in seconds, to see that it runs; the figures then
            mean nothing.
        say: is told what is being measured.
        keep: is given the report so far, after each case and sweep.

    Raises:
        ValueError: a name that is none, or a number below 1.

    """
    chosen, sweeps = select(cases)
    counts = sorted({check_size("threads", n) for n in (threads or default_threads())})
    rounds = check_size("repeats", repeats if repeats is not None else QUICK_REPEATS if quick else REPEATS)
    report = Report(machine_facts(), versions(), commit(), counts, rounds, quick)
    for case in chosen:
        shape = case.shape.reduced() if quick else case.shape
        say(f"{case.name}: {case.question}, {shape}")
        report.cases.append(_measure_case(case, shape, counts, rounds, quick))
        keep(report)
    for sweep in sweeps:
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


def _run(case: Case, name: str, shape: Shape, size: int) -> Run:
    if name == MATRIX_PRODUCT:
        return product_run(size)
    entry = contender(name.removesuffix(RAGGED))
    if case.group == "step":
        return step_run(entry, shape)
    if case.group == "sequence":
        return sequence_run(entry, shape)
    return training_run(entry, shape, ragged=name.endswith(RAGGED))


def _measure_sweep(sweep: Sweep, threads: int, repeats: int) -> SweepFigures:
    reasons = {model: sweep.why_missing(model) for model in sweep.models}
    missing = {model: reason for model, reason in reasons.items() if reason is not None}
    models = [model for model in sweep.models if model not in missing]
    return SweepFigures(sweep.name, measure_sweep(sweep, models, threads, repeats), missing)
