"""Tables of lane keeping, tightness and complexity are made from files alone."""

import json

import pytest
import torch

from liquidtime.paper.models.lane.attention import INPUT, save_tiles, tiles_file
from liquidtime.paper.models.lane.corruption import CORRUPTIONS
from liquidtime.paper.models.lane.networks import LANE_MODELS
from liquidtime.paper.pages import tables
from liquidtime.paper.pages.figures import draw
from liquidtime.paper.pages.sections import SECTIONS
from liquidtime.paper.runner.results import Key, write_result


def put(out, experiment, model, seed, figures, **more):
    key = Key(experiment, model, "honest", seed, **{name: more.pop(name, None) for name in ("epochs", "limit")})
    test = {"metric": "mse", "value": figures.pop("value"), "low": 0.001, "high": 0.004, "level": 0.95}
    record = {"key": vars(key), "figures": {"test": test, **figures}, "stopped": "finished", **more}
    write_result(key.file(out), record)


def lane(value, **more):
    under = {name: value * (index + 2) for index, name in enumerate(CORRUPTIONS)}
    return {
        "value": value, "mse_under": under, "variation": 0.25, "variation_under": dict.fromkeys(CORRUPTIONS, 0.5),
        "variation_human": 0.125, "mse_of_mean": 0.0055, "frozen": "all", "weights": {"recurrent": 4184}, **more,
    }  # fmt: skip


def row(text, title):
    (found,) = [line for line in text.splitlines() if line.startswith(f"| {title} |")]
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_lane_keeping(tmp_path):
    for seed, value in enumerate((0.002, 0.004)):
        put(tmp_path, "lane-keeping", "cfc", seed, lane(value), weights=230_828)
    put(tmp_path, "lane-keeping", "cfc", 0, lane(0.5), weights=230_828, limit=3)
    kept = {"noise": 0.5, "mild_noise": 0.75}
    put(tmp_path, "lane-keeping", "ncp_joint", 0, lane(0.001, attention_kept=kept), weights=233_139)
    text = SECTIONS["lane-keeping"].markdown(tmp_path)
    cfc = row(text, "CfC")
    assert cfc[1:5] == ["230,828 (230,828)", "4,184 (4,184)", "2", "3.00 ± 1.41"]
    assert cfc[6] == "6.00 ± 2.83"
    assert cfc[-3:] == ["0.250", "0.500", "–"]
    for seed, value in enumerate((0.002, 0.9, 0.003)):
        put(tmp_path, "lane-keeping", "no_gate", seed, lane(value), weights=230_828)
    failing = row(SECTIONS["lane-keeping"].markdown(tmp_path), "CfC-noGate")
    assert failing[4].endswith("(median 3.00; 1 of 3 worse than the mean)")
    assert row(text, "NCP (LTC) (head trained too)")[-1] == "0.50 (0.75)"
    assert "an error of 5.50" in text
    assert "0.125 for the" in text


def test_tightness(tmp_path):
    errors = {"mse": 0.25, "mse_per_neuron": [0.5], "mse_motor": 0.5, "mse_first": 0.1, "overflow": None}
    gone = {**errors, "mse": None, "mse_motor": None, "overflow": 17}
    for name, found in (("hold", errors), ("printed", gone)):
        figures = {"value": 0.002, "variance_per_neuron": [0.01, 0.03], "speed": {"speedup": 4.0, "seconds_own": 1.0}}
        put(tmp_path, "tightness", name, 0, {**figures, "against_fine": found, "against_own": errors})
    text = SECTIONS["tightness"].markdown(tmp_path)
    assert row(text, "hold")[2:] == ["5.0e-01 (5.0e-01)", "2.5e-01 (2.5e-01)", "1.0e-01 (1.0e-01)", "2.00", "4.00"]
    assert row(text, "Algorithm 1 as printed")[3] == "overflows at sample 17 (2.5e-01)"
    assert "0.006" in text
    assert "variance over the run is 0.02" in text
    assert "compiled kernel" not in text
    speed = {"speedup": 1.0, "seconds_own": 2.0, "seconds_own_kernel": 0.1}
    put(
        tmp_path, "tightness", "semi_implicit", 0,
        {**figures, "speed": speed, "against_fine": errors, "against_own": errors, "value": 0.002},
    )  # fmt: skip
    assert "20 times faster" in SECTIONS["tightness"].markdown(tmp_path)


def bench(folder, entries, costs=None, quick=False):
    folder.mkdir(parents=True)
    growth = [{"sweep": s, "axis": "", "model": m, "exponent": e, "paper": None} for s, m, e in entries]
    report = {"quick": quick, "conclusions": {"growth": growth, "order_costs": costs or {}}}
    (folder / "bench.json").write_text(json.dumps(report))


def test_complexity(tmp_path):
    assert SECTIONS["complexity"].markdown(tmp_path) == ""
    sweeps = ("sequence-T", "sequence-H", "step-n", "step-H")
    bench(
        tmp_path / "bench" / "a", [(s, "CfC", 1 + i / 10) for i, s in enumerate(sweeps)] + [("step-n", "nn.RNN", None)]
    )
    solvers = [("solver-K", name, 0.9) for name in ("euler", "midpoint", "rk4", "dopri5", "CfC")]
    bench(tmp_path / "bench" / "b", solvers, {"euler": 1.0, "rk4": 3.5})
    bench(tmp_path / "bench" / "c", [("sequence-T", "CfC", 9.0)], quick=True)
    runs = [{"orders": {"euler": 1.1, "rk4": 4.2, "midpoint": 2.0}}, {"orders": {"euler": 0.9, "rk4": 3.8}}]
    (tmp_path / "compile_ltc.json").write_text(json.dumps({"seeds": runs}))
    solver, prediction = SECTIONS["complexity"].markdown(tmp_path).split("one more sample")
    assert row(prediction, "CfC") == ["CfC", "O(nk)", "n^1.00 k^1.10", "O(k)", "n^1.20 k^1.30"]
    assert row(prediction, "RNN")[2] == "n^? k^?"
    assert row(solver, "p-th order solver")[1:] == [
        "O(K·p)", "euler K^0.90, midpoint K^0.90, rk4 K^0.90", "euler 1.00, rk4 3.50", "O(ε^(p+1))",
        "euler 1.00, rk4 4.00",
    ]  # fmt: skip
    assert row(solver, "Euler hypersolver")[2:4] == ["–", "–"]


def test_the_page_has_them_once(tmp_path):
    assert "Lane" not in tables.page(tmp_path)
    put(tmp_path, "lane-keeping", "cfc", 0, lane(0.002), weights=230_828)
    page = tables.page(tmp_path)
    assert page.count("## Lane keeping") == 1
    assert "## Complexity" not in page


def test_attention_figure(tmp_path):
    kept = tmp_path / "kept"
    with pytest.raises(ValueError, match=r"attention-input\.png is missing. Run: liquidtime paper run lane-keeping"):
        draw("attention", tmp_path)
    for name in (INPUT, *LANE_MODELS):
        shape = (2, 3, 72, 128) if name == INPUT else (2, 72, 128)
        save_tiles(tiles_file(kept, name), [torch.full(shape, 0.3 * place) for place in range(3)])
    file = draw("attention", tmp_path)
    assert file == tmp_path / "figures" / "attention.png"
    assert 1_000 < file.stat().st_size < 500_000
