"""`liquidtime export` from a model folder to what it prints and refuses."""

import json
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

import liquidtime as lt
from export.models import FAST
from liquidtime.cli.app import app
from oracles.series import random_set

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model"
    data = random_set(0, [9, 12, 7, 8, 10, 11], static=False, categorical=False)
    lt.CfCClassifier(**FAST).fit(data, np.arange(6) % 2).save(path)
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "data.csv"
    rows = ["id,t,a,b,c0,y"]
    for id in range(6):
        rows += [f"{id},{t * 0.7},{t - id},{1 + t},,{id % 2}" for t in range(5)]
    path.write_text("\n".join(rows) + "\n")
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


def test_onnx_with_real_vectors_as_json(folder, table, tmp_path):
    pytest.importorskip("onnxruntime")
    named = ("--id", "id", "--time", "t", "--time-unit", "h")
    done = run(folder, table, "--to", "onnx", "--out", tmp_path / "out", *named, "--json")
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert result["largest_difference"] < 5e-6
    assert set(result["sizes"]) == {"step.onnx", "series.onnx", "runner.py", "vectors.json", "model.json"}
    assert [vector["id"] for vector in json.loads((tmp_path / "out" / "vectors.json").read_text())] == list("012345")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc (Debian: apt-get install gcc)")
def test_c_in_8_bits_says_what_that_changes_in_the_models_own_metrics(folder, table, tmp_path):
    named = ("--id", "id", "--time", "t", "--time-unit", "h", "--target", "y")
    done = run(folder, table, "--to", "c", "--out", tmp_path / "out", *named, "--int8", "--name", "pump")
    assert done.exit_code == 0, done.output
    assert "on 6 series: area under ROC" in done.output
    assert "bytes per series" in done.output
    assert (tmp_path / "out" / "pump.h").exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--to", "onnx", "--int8"), "--int8 is for"),
        (("--to", "web", "--name", "x"), "--name is for"),
        (("--to", "c", "--target", "y"), "--target is for measuring what --int8 or --part networks changes"),
        (("--to", "c", "--name", "1x"), "C identifier"),
    ],
)
def test_options_that_nothing_would_read_are_refused(folder, tmp_path, arguments, text):
    done = run(folder, "--out", tmp_path / "out", *arguments)
    assert done.exit_code != 0
    assert text in done.output
    assert not (tmp_path / "out").exists()


def test_what_is_there_is_replaced_by_force_alone_and_a_model_never(folder, tmp_path):
    (tmp_path / "out").mkdir()
    assert "--force" in run(folder, "--to", "c", "--out", tmp_path / "out").output
    assert "sealed" in run(folder, "--to", "c", "--out", folder / "inside").output
