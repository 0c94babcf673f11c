"""How much memory does a training step on one long series hold?"""

from __future__ import annotations

from benchmarks.side_by_side import Case, Questions, Shape, Target, ask

LONG = Shape(1, 20000, 17, 64, 128)
QUESTIONS = Questions(
    cases=(
        Case(
            "memory",
            "memory",
            "peak memory of a training step on one long series, above its inputs",
            LONG,
            ("native", "reference", "ncps.CfC", "nn.LSTM"),
            (Target("memory", 60.0),),
        ),
    )
)


if __name__ == "__main__":
    ask(QUESTIONS, __doc__)
