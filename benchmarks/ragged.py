"""Is time saved where series have different lengths?"""

from __future__ import annotations

from benchmarks.side_by_side import Case, Questions, Target, ask
from benchmarks.side_by_side.case import RAGGED
from benchmarks.side_by_side.shape import PHYSIONET, WALKER2D, XOR, Shape


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


QUESTIONS = Questions(cases=(_ragged("xor", XOR), _ragged("walker2d", WALKER2D), _ragged("physionet", PHYSIONET)))


if __name__ == "__main__":
    ask(QUESTIONS, __doc__)
