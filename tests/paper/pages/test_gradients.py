"""The table of gradients is made from result files alone."""

import json

import pytest

from liquidtime.paper.pages.figures import draw
from liquidtime.paper.pages.gradients import gradient_markdown, gradient_rows


def norms(scale):
    return {dt: {"1": scale, "10": scale**2, "40": 0.0, "160": 0.0} for dt in ("0.1", "1", "10")}


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "gradients"
    folder.mkdir()
    for model, accuracy in (("cfc_10", 1.0), ("cfc_40", 0.5), ("cf_s_10", 0.75)):
        for seed, scale in ((0, 0.1), (1, 0.001)):
            key = {"experiment": "gradients", "model": model, "protocol": "honest", "seed": seed}
            figures = {
                "test": {"value": accuracy},
                "jacobian_before": norms(scale),
                "jacobian_after": norms(10 * scale),
            }
            record = {"key": {**key, "epochs": None, "limit": None}, "figures": figures, "stopped": "finished"}
            (folder / f"{model}-honest-seed{seed}.json").write_text(json.dumps(record))
    return tmp_path


def test_means_are_geometric_and_of_the_longest_delay(results):
    cf_s, cfc = gradient_rows(results)
    assert cfc["before"]["1"]["1"] == pytest.approx(0.01)
    assert cfc["before"]["1"]["40"] == 0.0
    assert cfc["after"]["10"]["1"] == pytest.approx(0.1)
    assert cfc["accuracy"] == {"10": 1.0, "40": 0.5}
    assert cf_s["accuracy"] == {"10": 0.75}


def test_the_table(results):
    text = gradient_markdown(results)
    line = next(line for line in text.splitlines() if line.startswith("| CfC |"))
    assert "| 1.0e-02 |" in line
    assert line.rstrip().endswith("| 100.0 | 50.0 | – |")


def test_the_figure(results):
    assert draw("gradients", results).stat().st_size > 10_000


def test_without_results_there_is_neither(tmp_path):
    assert gradient_markdown(tmp_path) == ""
    with pytest.raises(ValueError, match="liquidtime paper run gradients"):
        draw("gradients", tmp_path)
