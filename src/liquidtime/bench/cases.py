"""What is asked: the cases, who takes part in each, and what must be reached."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from liquidtime.bench.contenders import LOOP, MATRIX_PRODUCT
from liquidtime.bench.networks import CELLS
from liquidtime.bench.shape import Shape
from liquidtime.bench.sweeps import SWEEPS, Sweep
from liquidtime.errors import unknown_choice

XOR = Shape(128, 32, 1, 192, 128)
WALKER2D = Shape(256, 64, 17, 64, 256)
PHYSIONET = Shape(128, 200, 82, 256, 64, layers=2)
SMALL = Shape(32, 32, 8, 32, 32)
TINY = Shape(16, 100, 4, 19, 19)
CONTINUOUS = Shape(64, 74, 74, 64, 64)
WIRED = Shape(128, 32, 16, 64, outputs=8)
ONE_SAMPLE = Shape(1, 1, 17, 64, 128)
ONE_SERIES = Shape(1, 1000, 17, 64, 128)
LONG = Shape(1, 20000, 17, 64, 128)
EVERY_CELL = Shape(64, 64, 16, 64, 64)

PRODUCT_SIZE = 1024
RAGGED = " ragged"
"""What is put behind a contender's name where its series have lengths spread over 1…T."""


@dataclasses.dataclass(frozen=True)
class Target:
    """What a contender must reach.

    Args:
        measure: "speedup", how many times faster than another; "time", its time in parts of another's; "threads", how
            many times faster with two threads than with one; "rate", its part of the machine's matrix-product rate;
            "memory", its peak in MB.
        limit: at least this, of "time" and "memory" at most.
        subject: whose.
        other: against whom, of "speedup" and "time".

    """

    measure: str
    limit: float
    subject: str = "native"
    other: str = ""

    @property
    def at_most(self) -> bool:
        """Whether the limit is the largest value that reaches it, and not the smallest."""
        return self.measure in ("time", "memory")


@dataclasses.dataclass(frozen=True)
class Case:
    """One side-by-side measurement.

    Args:
        name: as it is asked for.
        group: "training", "step", "sequence", "cells", "ragged" or "memory": what one repetition does.
        question: in words.
        shape: the sizes.
        contenders: names in `CONTENDERS`; those with " ragged" behind them run on lengths spread over 1…T.
        targets: what must be reached.

    """

    name: str
    group: str
    question: str
    shape: Shape
    contenders: tuple[str, ...]
    targets: tuple[Target, ...] = ()


_CFC = ("native", "native bf16", "reference", "ncps.CfC", "nn.LSTM", "nn.GRU")


def _training(name: str, what: str, shape: Shape, speedup: float, bf16: float | None = None) -> Case:
    targets = [Target("speedup", speedup, other="ncps.CfC")]
    if bf16 is not None:
        targets.append(Target("speedup", bf16, "native bf16", "ncps.CfC"))
    targets += [Target("rate", 0.75), Target("threads", 1.7)]
    return Case(name, "training", f"a training step, {what}", shape, (MATRIX_PRODUCT, *_CFC), tuple(targets))


def _small(name: str, what: str, shape: Shape, speedup: float) -> Case:
    targets = (Target("speedup", speedup, other="ncps.CfC"), Target("speedup", 1.0, other="nn.LSTM"))
    return Case(name, "training", f"a training step, {what}", shape, (MATRIX_PRODUCT, *_CFC), targets)


def _ragged(name: str, shape: Shape) -> Case:
    subject = f"native{RAGGED}"
    return Case(
        f"ragged-{name}",
        "ragged",
        f"a training step on lengths uniform in 1…T against all T, at the size of {name}",
        shape,
        ("native", subject),
        (Target("time", 0.65, subject, "native"),),
    )


CASES: tuple[Case, ...] = (
    _training("xor", "the paper's XOR", XOR, 2.0, 3.0),
    _training("walker2d", "the paper's Walker2D", WALKER2D, 2.2, 3.3),
    _training("physionet", "PhysioNet with two backbone layers", PHYSIONET, 2.5),
    _small("small", "a small network", SMALL, 20.0),
    _small("tiny", "a tiny network", TINY, 30.0),
    Case(
        "continuous",
        "training",
        "a training step of a CfC against networks that need a solver",
        CONTINUOUS,
        (MATRIX_PRODUCT, "native", "reference", "ncps.CfC", "ncps.LTC", "ODE-RNN"),
        (Target("speedup", 60.0, other="ODE-RNN"), Target("speedup", 80.0, other="ncps.LTC")),
    ),
    Case(
        "ltc",
        "training",
        "a training step of an LTC on a neural circuit policy",
        WIRED,
        ("native LTC", "reference LTC", "ncps.LTC"),
        (Target("speedup", 10.0, "native LTC", "ncps.LTC"),),
    ),
    Case(
        "step",
        "step",
        "one sample, no gradients",
        ONE_SAMPLE,
        ("native", "reference", "ncps.CfC", "nn.LSTM", "nn.GRU"),
        (Target("speedup", 12.0, other="ncps.CfC"),),
    ),
    Case(
        "sequence",
        "sequence",
        "a whole sequence, no gradients",
        ONE_SERIES,
        ("native", "reference", "ncps.CfC", "nn.LSTM", "nn.GRU"),
        (Target("speedup", 25.0, other="ncps.CfC"),),
    ),
    Case(
        "cells",
        "cells",
        "a training step of every recurrent network beside a plain PyTorch loop of the same products",
        EVERY_CELL,
        tuple(contender for name in CELLS for contender in (name, f"{name}{LOOP}")),
        tuple(Target("time", 1.5, name, f"{name}{LOOP}") for name in CELLS),
    ),
    _ragged("xor", XOR),
    _ragged("walker2d", WALKER2D),
    _ragged("physionet", PHYSIONET),
    Case(
        "memory",
        "memory",
        "peak memory of a training step on one long series, above its inputs",
        LONG,
        ("native", "reference", "ncps.CfC", "nn.LSTM"),
        (Target("memory", 60.0),),
    ),
)


ITEMS: tuple[Case | Sweep, ...] = (*CASES, *SWEEPS)


def select(names: Iterable[str]) -> tuple[list[Case], list[Sweep]]:
    """Return the cases and sweeps of these names and groups, in their own order; all of them for no names.

    Raises:
        ValueError: a name that is neither.

    """
    wanted = set(names)
    known = list(dict.fromkeys([name for item in ITEMS for name in (item.name, item.group)]))
    for name in wanted:
        if name not in known:
            raise unknown_choice("case", name, known)

    def is_wanted(item: Case | Sweep) -> bool:
        return not wanted or item.name in wanted or item.group in wanted

    return [case for case in CASES if is_wanted(case)], [sweep for sweep in SWEEPS if is_wanted(sweep)]
