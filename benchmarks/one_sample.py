"""How long does one sample take, as a stream brings them, without gradients?"""

from __future__ import annotations

from benchmarks.side_by_side import Case, Questions, Shape, Target, ask

ONE_SAMPLE = Shape(1, 1, 17, 64, 128)
QUESTIONS = Questions(
    cases=(
        Case(
            "step",
            "step",
            "one sample, no gradients",
            ONE_SAMPLE,
            ("native", "native frozen", "native frozen, strided", "reference", "ncps.CfC", "nn.LSTM", "nn.GRU"),
            (
                Target("speedup", 12.0, other="ncps.CfC"),
                Target("speedup", 12.0, "native frozen", "ncps.CfC"),
                Target("speedup", 12.0, "native frozen, strided", "ncps.CfC"),
            ),
        ),
    )
)


if __name__ == "__main__":
    ask(QUESTIONS, __doc__)
