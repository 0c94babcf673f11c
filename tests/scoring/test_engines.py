"""The recipes for Dask and Spark predict every series once, with the numbers of one process."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cli.tables import WIDE, lt, write_shards, write_tables

pytestmark = [pytest.mark.slow, pytest.mark.extras]
EXAMPLES = Path(__file__).parents[2] / "examples"
LOOPBACK = {
    "SPARK_LOCAL_IP": "127.0.0.1",
    "PYSPARK_PYTHON": sys.executable,
    "PYSPARK_SUBMIT_ARGS": "--master local[2] --conf spark.ui.enabled=false --conf spark.driver.bindAddress=127.0.0.1 "
    "--conf spark.sql.execution.arrow.maxRecordsPerBatch=7 pyspark-shell",  # batches that cut series
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("engines")
    write_tables(folder, S=20)
    write_shards(folder, each=7, drop="score")
    code, _, err = lt(
        "train", folder / "wide.parquet", *WIDE, "--values", "hr,temp", "--target", "state", "--epochs", 1,
        "--hidden-size", 4, "--n-estimators", 1, "--out", folder / "model",
    )  # fmt: skip
    assert code == 0, err
    code, _, err = lt("predict", folder / "model", folder / "shards", "--out", folder / "here")
    assert code == 0, err
    return folder


def predicted(folder):
    files = sorted(folder.glob("*.parquet"))
    return pl.concat([pl.read_parquet(file) for file in files]).sort("patient")


@pytest.mark.parametrize(
    ("engine", "script", "more"),
    [
        ("dask", "score_with_dask.py", []),
        ("pyspark", "score_with_spark.py", ["--id", "patient", "--tasks", "3"]),
    ],
)
def test_a_recipe_predicts_every_series_once(home, tmp_path, engine, script, more):
    if importlib.util.find_spec(engine) is None:
        pytest.skip(f"needs {engine}")
    if engine == "pyspark" and shutil.which("java") is None:
        pytest.skip("needs java")
    words = [sys.executable, EXAMPLES / script, home / "model", home / "shards", tmp_path / "out", *more]
    run = subprocess.run(
        [str(word) for word in words], env={**os.environ, **LOOPBACK}, capture_output=True, text=True, timeout=900
    )
    assert run.returncode == 0, run.stderr[-3000:]
    there, here = predicted(tmp_path / "out"), predicted(home / "here")
    assert there.columns == here.columns
    assert there["patient"].to_list() == here["patient"].to_list()
    assert there["prediction"].to_list() == here["prediction"].to_list()
    np.testing.assert_allclose(there["probability_sick"], here["probability_sick"], atol=1e-6)
