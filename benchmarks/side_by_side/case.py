"""What is asked: a case with who takes part and what must be reached, and several of them as one question."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from benchmarks.side_by_side.shape import Shape
from benchmarks.side_by_side.sweep import Sweep
from liquidtime.errors import unknown_choice

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


@dataclasses.dataclass(frozen=True)
class Questions:
    """What one file asks.

    Args:
        cases: measured side by side.
        sweeps: measured against a size.

    """

    cases: tuple[Case, ...] = ()
    sweeps: tuple[Sweep, ...] = ()

    @property
    def items(self) -> tuple[Case | Sweep, ...]:
        """All of them, cases first."""
        return (*self.cases, *self.sweeps)

    def select(self, names: Iterable[str]) -> Questions:
        """Return those of these names and groups, in their own order; all of them for no names.

        Raises:
            ValueError: a name that is neither.

        """
        wanted = set(names)
        known = list(dict.fromkeys([name for item in self.items for name in (item.name, item.group)]))
        for name in wanted:
            if name not in known:
                raise unknown_choice("case", name, known)

        def is_wanted(item: Case | Sweep) -> bool:
            return not wanted or item.name in wanted or item.group in wanted

        return Questions(tuple(filter(is_wanted, self.cases)), tuple(filter(is_wanted, self.sweeps)))

    def case(self, name: str) -> Case:
        """Return the case of a name."""
        return next(case for case in self.cases if case.name == name)

    def sweep(self, name: str) -> Sweep:
        """Return the sweep of a name."""
        return next(sweep for sweep in self.sweeps if sweep.name == name)

    @classmethod
    def joined(cls, *questions: Questions) -> Questions:
        """Return the cases and sweeps of several files as one."""
        return cls(
            tuple(case for one in questions for case in one.cases),
            tuple(sweep for one in questions for sweep in one.sweeps),
        )
