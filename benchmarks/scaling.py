"""How does the cost grow with length, width and batch: the paper's two complexity tables, measured?"""

from __future__ import annotations

from benchmarks.side_by_side import Questions, Shape, ask
from benchmarks.side_by_side.sweep import ADAPTIVE, ORDERS, Sweep


def _models(recurrent: float | None, transformer: float | None) -> dict[str, float | None]:
    return {"nn.RNN": recurrent, "ODE-RNN": recurrent, "Transformer": transformer, "CfC": recurrent}


_WIDTHS = (32, 64, 128, 256, 512, 1024)

QUESTIONS = Questions(
    sweeps=(
        Sweep(
            "sequence-T",
            "sequence",
            "a whole sequence, against its length",
            "T",
            (64, 128, 256, 512, 1024, 2048),
            Shape(4, 64, 16, 32),
            _models(1, 2),
        ),
        Sweep(
            "sequence-H",
            "sequence",
            "a whole sequence, against the hidden units",
            "H",
            _WIDTHS,
            Shape(16, 64, 16, 64),
            _models(1, 1),
        ),
        Sweep(
            "sequence-B",
            "sequence",
            "a whole sequence, against the batch",
            "B",
            (1, 4, 16, 64, 256, 1024),
            Shape(16, 32, 16, 64),
            _models(None, None),
        ),
        Sweep(
            "step-n",
            "step",
            "one more sample, against those before it",
            "n",
            (128, 256, 512, 1024, 2048, 4096, 8192),
            Shape(4, 64, 16, 64),
            _models(0, 1),
        ),
        Sweep(
            "step-H",
            "step",
            "one more sample, against the hidden units",
            "H",
            _WIDTHS,
            Shape(4, 64, 16, 64),
            _models(1, 1),
        ),
        Sweep(
            "solver-K",
            "solver",
            "an interval in K solver steps; of the CfC, K samples",
            "K",
            (8, 16, 32, 64, 128, 256),
            Shape(16, 64, 16, 64),
            {**dict.fromkeys(ORDERS, 1.0), ADAPTIVE: None, "CfC": 1.0},
        ),
    )
)


if __name__ == "__main__":
    ask(QUESTIONS, __doc__)
