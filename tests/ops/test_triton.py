"""The Triton kernels, run by Triton's interpreter on the CPU, against the cells' plain loops."""

from __future__ import annotations

import importlib.util
import os

import pytest
import torch

pytestmark = pytest.mark.extras
if importlib.util.find_spec("triton") is None:
    pytest.skip("Triton is not installed", allow_module_level=True)
os.environ["TRITON_INTERPRET"] = "1"  # read when a kernel is defined

import liquidtime as lt  # noqa: E402
from liquidtime.ops import using_backend  # noqa: E402
from liquidtime.ops.cfc_scan import BACKENDS, Form  # noqa: E402
from liquidtime.ops.cfc_scan.triton import TritonBackend  # noqa: E402
from ops.scans import compare, draw  # noqa: E402


@pytest.fixture(autouse=True)
def _triton_on_the_cpu():
    with BACKENDS.registered(TritonBackend(("cpu",))), using_backend("native"):
        yield


SHAPES = {
    "usual": {"B": 5, "T": 6, "D": 3, "H": 19, "U": 24},
    "one step": {"B": 3, "T": 1, "D": 2, "H": 16, "U": 16},
    "one row": {"B": 1, "T": 5, "D": 2, "H": 7, "U": 33},
    "B is H": {"B": 20, "T": 3, "D": 1, "H": 20, "U": 20},
    "one unit": {"B": 2, "T": 4, "D": 1, "H": 1, "U": 1},
    "two programs": {"B": 17, "T": 3, "D": 4, "H": 33, "U": 40, "lengths": [0, 3, 1, 2, 3, *[2] * 12]},
    "ragged": {"B": 4, "T": 7, "D": 3, "H": 12, "U": 20, "lengths": [7, 0, 3, 1]},
    "nothing": {"B": 2, "T": 3, "D": 3, "H": 5, "U": 6, "lengths": [0, 0]},
    "large": {"B": 2, "T": 2, "D": 2, "H": 130, "U": 256},
}


@pytest.mark.parametrize("kind", ["gated", "no_gate"])
@pytest.mark.parametrize("shape", list(SHAPES))
def test_values_and_gradients_are_those_of_the_definition(kind, shape):
    compare(draw(Form(kind), dtype=torch.float32, **SHAPES[shape]))


@pytest.mark.parametrize("activation", ["relu", "silu", "tanh"])
@pytest.mark.parametrize("heads", [3, 4])
def test_every_activation_and_the_literal_gate(activation, heads):
    form = Form(heads=heads, activation=activation, head_activation="lecun_tanh")
    compare(draw(form, dtype=torch.float32, **SHAPES["ragged"]))
    compare(draw(form, dtype=torch.float32, **SHAPES["ragged"]), traced=True)


def test_bf16_products_round_as_the_definition_does():
    from ops.scans import by_kernel, by_loop, gradients

    case = draw(Form(products="bf16"), dtype=torch.float32, **SHAPES["usual"])
    (y, state), (mine, own) = case.run(by_loop), case.run(by_kernel)
    pairs = zip([mine.detach(), *gradients(case, mine, own)], [y.detach(), *gradients(case, y, state)], strict=True)
    for one, other in pairs:  # an operand between two bf16 numbers may be rounded to either
        assert float((one - other).abs().max()) <= 4e-3 * float(other.abs().max())
    full = draw(Form(), dtype=torch.float32, **SHAPES["usual"])
    assert float((full.run(by_loop)[0] - mine).detach().abs().max()) > 1e-5


@pytest.mark.parametrize(
    "layer",
    [
        lt.CfC(3, 8, backbone_layers=2),
        lt.CfC(3, 8, "cf_s"),
        lt.CfC(3, 8, mixed_memory=True),
        lt.CfC(3, 257),
        lt.CfC(3, 8, backbone_activation="gelu"),
        lt.CfC(3, 8).double(),
    ],
)
def test_what_it_refuses_takes_the_loop(layer):
    x = torch.randn(2, 3, 3, dtype=next(layer.parameters()).dtype)
    y, _ = layer(x)
    with using_backend("reference"):
        torch.testing.assert_close(y, layer(x)[0])


def test_bad_intervals_and_lengths_are_refused():
    case = draw(Form(), dtype=torch.float32, **SHAPES["ragged"])
    from ops.scans import by_kernel

    case.lengths[0] = 8
    with pytest.raises(ValueError, match="lengths"):
        case.run(by_kernel)
    case.lengths[0] = 7
    case.dt.data[0, 2] = -1.0
    with pytest.raises(ValueError, match="dt"):
        case.run(by_kernel)
    case.dt.data[0, 2], case.dt.data[2, 5] = 1.0, float("nan")  # past the end
    case.x.data[2, 5] = float("nan")
    y, _ = case.run(by_kernel)
    assert bool(y.isfinite().all())


def test_exact_products_unless_tf32_is_asked_for():
    from liquidtime.ops.cfc_scan.triton.runs import precision

    assert precision() == "ieee"
    torch.set_float32_matmul_precision("high")
    try:
        assert precision() == "tf32"
    finally:
        torch.set_float32_matmul_precision("highest")
