"""How long does one long series take, without gradients?"""

from __future__ import annotations

from benchmarks.side_by_side import Case, Questions, Shape, Target, ask

ONE_SERIES = Shape(1, 1000, 17, 64, 128)
QUESTIONS = Questions(
    cases=(
        Case(
            "sequence",
            "sequence",
            "a whole sequence, no gradients",
            ONE_SERIES,
            ("native", "reference", "ncps.CfC", "nn.LSTM", "nn.GRU"),
            (Target("speedup", 25.0, other="ncps.CfC"),),
        ),
    )
)


if __name__ == "__main__":
    ask(QUESTIONS, __doc__)
