import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from liquidtime.cli.app import app
from liquidtime.networks import ALIASES, NETWORKS
from liquidtime.networks import facts as model_table

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def facts():
    return {one.name: one for one in model_table.facts()}


def test_the_page_is_what_the_command_writes(tmp_path):
    page = (DOCS / "models.md").read_text(encoding="utf-8")
    assert model_table.renewed(page) == page, "run: make models"
    old = tmp_path / "page.md"
    old.write_text(f"a\n{model_table.BEGIN}\nold\n{model_table.END}\nb\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["paper", "models", "--page", str(old)])
    assert done.exit_code == 0
    assert old.read_text(encoding="utf-8") == f"a\n{model_table.BEGIN}\n{model_table.markdown()}{model_table.END}\nb\n"


def test_a_page_without_marks_is_refused(tmp_path):
    old = tmp_path / "page.md"
    old.write_text("nothing", encoding="utf-8")
    done = CliRunner().invoke(app, ["paper", "models", "--page", str(old)])
    assert done.exit_code == 2
    assert "must have one line" in done.output


def test_every_network_is_there(facts):
    assert list(facts) == list(NETWORKS)
    for name, one in facts.items():
        assert one.causal is NETWORKS[name].causal
        assert one.reads_masks is (NETWORKS[name].masks != "none")


def test_counts_are_those_of_the_equations(facts):
    D = H = 64
    assert facts["lstm"].products == 4 * H * (D + H)
    assert facts["lstm"].weights == 4 * H * (D + H + 1)
    assert facts["gru"].products == 3 * H * (D + H)
    assert facts["cfc"].products == (D + H) * 128 + 4 * 128 * H
    assert facts["lmu"].products == (D + H + H) * (H + 1) + H * H
    assert facts["bidirectional"].products >= 2 * 4 * H * (D + H)
    assert facts["ltc"].products == 0
    assert facts["ltc"].pointwise > 6 * 4 * H * H


def test_properties(facts):
    assert not facts["lstm"].uses_dt
    assert facts["cfc_mm"].uses_dt
    assert facts["gru_d"].reads_masks
    assert not facts["gru"].reads_masks
    assert facts["transformer"].causal
    assert not facts["seft"].causal


def test_json_has_the_same(facts):
    done = CliRunner().invoke(app, ["paper", "models", "--json"])
    assert json.loads(done.output) == [vars(one) for one in facts.values()]


def test_every_network_has_a_paragraph():
    text = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "models").glob("*.md"))
    named = set(re.findall(r'`"(\w+)"`', text))
    assert {*NETWORKS, *ALIASES} <= named
