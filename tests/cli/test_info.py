"""What `liquidtime info` says of the machine."""

import json

import pytest
from typer.testing import CliRunner

from liquidtime.cli.app import app
from liquidtime.ops import using_backend
from liquidtime.ops.native import library


def facts() -> dict:
    result = CliRunner().invoke(app, ["info", "--json"])
    assert result.exit_code == 0
    return json.loads(result.stdout)


@pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")
@pytest.mark.parametrize("unit", ["emulated", "avx512_bf16"])
def test_what_multiplies_bf16_operands(monkeypatch, unit):
    monkeypatch.setattr(library, "bf16_unit", lambda: unit)
    with using_backend("native"):
        assert facts()["bf16 products"].split(":")[0] == unit
    with using_backend("reference"):
        assert facts()["bf16 products"] == "emulated: rounding on top of float32 products, slower"


@pytest.mark.parametrize("installed", [True, False])
def test_what_runs_where_and_that_no_gpu_was_tried(monkeypatch, installed):
    from liquidtime.ops.cfc_scan import triton

    monkeypatch.setattr(triton, "missing", lambda: None if installed else "Triton is not installed")
    told = facts()
    assert "cpu" in told["devices"]
    assert told["kernels of the CfC scan"]["cuda"] == (
        "Triton" if installed else "plain loop (Triton is not installed)"
    )
    assert told["kernels of the CfC scan"]["others"] == "plain loop"
    assert told["GPUs"].startswith("not tested by the authors")
