"""Is any recurrent network of this package slower than a plain PyTorch loop of the same products?"""

from __future__ import annotations

from benchmarks.side_by_side import Case, Questions, Shape, Target, ask
from benchmarks.side_by_side.contenders import LOOP
from benchmarks.side_by_side.networks import CELLS

EVERY_CELL = Shape(64, 64, 16, 64, 64)
QUESTIONS = Questions(
    cases=(
        Case(
            "cells",
            "cells",
            "a training step of every recurrent network beside a plain PyTorch loop of the same products",
            EVERY_CELL,
            tuple(contender for name in CELLS for contender in (name, f"{name}{LOOP}")),
            tuple(Target("time", 1.5, name, f"{name}{LOOP}") for name in CELLS),
        ),
    )
)


if __name__ == "__main__":
    ask(QUESTIONS, __doc__)
