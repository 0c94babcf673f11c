"""How fast is a training step, beside other implementations and beside networks that need a solver?"""

from __future__ import annotations

from benchmarks.side_by_side import Case, Questions, Target, ask
from benchmarks.side_by_side.contenders import MATRIX_PRODUCT
from benchmarks.side_by_side.shape import PHYSIONET, WALKER2D, XOR, Shape

SMALL = Shape(32, 32, 8, 32, 32)
TINY = Shape(16, 100, 4, 19, 19)
CONTINUOUS = Shape(64, 74, 74, 64, 64)
WIRED = Shape(128, 32, 16, 64, outputs=8)
_CFC = ("native", "native bf16", "reference", "ncps.CfC", "JAX", "nn.LSTM", "nn.GRU")
_TWICE_JAX = Target("speedup", 2.0, other="JAX")


def _training(name: str, what: str, shape: Shape, speedup: float, bf16: float | None = None) -> Case:
    targets = [Target("speedup", speedup, other="ncps.CfC")]
    if bf16 is not None:
        targets.append(Target("speedup", bf16, "native bf16", "ncps.CfC"))
    targets += [_TWICE_JAX, Target("rate", 0.75), Target("threads", 1.7)]
    return Case(name, "training", f"a training step, {what}", shape, (MATRIX_PRODUCT, *_CFC), tuple(targets))


def _small(name: str, what: str, shape: Shape, speedup: float) -> Case:
    targets = (Target("speedup", speedup, other="ncps.CfC"), _TWICE_JAX, Target("speedup", 1.0, other="nn.LSTM"))
    return Case(name, "training", f"a training step, {what}", shape, (MATRIX_PRODUCT, *_CFC), targets)


QUESTIONS = Questions(
    cases=(
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
    )
)


if __name__ == "__main__":
    ask(QUESTIONS, __doc__)
