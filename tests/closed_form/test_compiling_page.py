"""docs/compiling.md: its figures are those of the result file."""

import importlib.util
import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "compiling.md").read_text()


def benchmark():
    spec = importlib.util.spec_from_file_location("benchmark_compile_ltc", ROOT / "benchmarks" / "compile_ltc.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_figures_are_those_of_the_command():
    module = benchmark()
    result = json.loads((ROOT / "results" / "compile_ltc.json").read_text())
    assert module.on_page(PAGE, module.table(result)) == PAGE


def test_figures_have_the_order_that_the_page_claims():
    result = json.loads((ROOT / "results" / "compile_ltc.json").read_text())
    for run in result["seeds"]:
        for mse in run["mse_by_time_constants"].values():
            assert mse["midpoint"] < mse["hold"] < mse["paper, repaired"] < mse["paper as printed"]
        assert run["mse_recorded"]["paper, repaired"] < 0.006 < 1 < run["mse_recorded"]["paper as printed"]
