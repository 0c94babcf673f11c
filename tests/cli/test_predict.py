"""Tables of predictions: ids and times in all of them, one row per sample on request, thresholds."""

import numpy as np
import polars as pl
import pytest

import liquidtime
from cli.tables import WIDE, lt, write_tables
from liquidtime.data import from_wide

SMALL = ["--epochs", 1, "--hidden-size", 4, "--n-estimators", 1]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predict")
    write_tables(folder, S=16)
    start = pl.datetime(2024, 3, 1)
    table = pl.read_csv(folder / "wide.csv")
    stamps = table.with_columns((start + pl.duration(seconds=(pl.col("minutes") * 60).round())).alias("minutes"))
    stamps.write_csv(folder / "stamps.csv")
    common = [*WIDE, "--values", "hr,temp", *SMALL]
    for name, words in (
        ("classes", [folder / "stamps.csv", *common, "--target", "state", "--time-unit", "min"]),
        ("numbers", [folder / "wide.csv", *common, "--target", "score", "--task", "regress"]),
    ):
        code, _, err = lt("train", *words, "--out", folder / name)
        assert code == 0, err
    return folder


def predict(home, model, data, *words):
    out = home / "out.parquet"
    code, _, err = lt("predict", home / model, home / data, "--out", out, "--force", *words)
    assert code == 0, err
    return pl.read_parquet(out)


def test_every_row_has_an_id_and_a_time(home):
    stamps = pl.read_csv(home / "stamps.csv", try_parse_dates=True)
    last = stamps.group_by("patient").agg(pl.col("minutes").max())
    table = predict(home, "classes", "stamps.csv").join(last, on="patient")
    assert table["time"].dtype == pl.Datetime("ns")
    assert (table["time"] == table["minutes"]).all()
    numbers = predict(home, "numbers", "wide.csv")
    assert numbers.columns[:3] == ["patient", "time", "prediction"]
    assert numbers["time"].max() == pl.read_csv(home / "wide.csv")["minutes"].max()


def test_each_sample_gives_the_prediction_from_the_samples_up_to_it(home):
    stamps = pl.read_csv(home / "stamps.csv", try_parse_dates=True)
    table = predict(home, "classes", "stamps.csv", "--each-sample")
    assert table.columns == ["patient", "time", "prediction", "probability_sick", "probability_well"]
    assert table.select("patient", "time").sort("patient", "time").rows() == (
        stamps.select("patient", "minutes").sort("patient", "minutes").rows()
    )
    whole = predict(home, "classes", "stamps.csv")
    ends = table.group_by("patient", maintain_order=True).last()
    np.testing.assert_allclose(ends["probability_sick"], whole["probability_sick"], atol=1e-6)
    first = stamps.sort("minutes").group_by("patient", maintain_order=True).head(1)
    data = from_wide(first, id="patient", time="minutes", values=["hr", "temp"], time_unit="min")
    expected = liquidtime.load(home / "classes").predict_proba(data)
    begins = table.group_by("patient", maintain_order=True).first()
    np.testing.assert_allclose(begins["probability_sick"], expected[:, 0], atol=1e-6)
    numbers = predict(home, "numbers", "wide.csv", "--each-sample")
    assert len(numbers) == len(pl.read_csv(home / "wide.csv"))


def test_a_threshold_decides_between_two_classes(home):
    table = predict(home, "classes", "stamps.csv")
    middle = float(table["probability_well"].median())
    for words in ([], ["--each-sample"]):
        cut = predict(home, "classes", "stamps.csv", "--threshold", middle, *words)
        expected = np.where(cut["probability_well"] >= middle, "well", "sick")
        assert cut["prediction"].to_list() == expected.tolist()
        assert 0 < (cut["prediction"] == "well").sum() < len(cut)
    out = home / "never.csv"
    code, _, err = lt("predict", home / "numbers", home / "wide.csv", "--out", out, "--threshold", 0.5)
    assert (code, "--threshold is for a model of --task classify" in err, out.exists()) == (2, True, False)


def test_an_output_is_not_replaced_unasked(home):
    (home / "mine.csv").write_text("years of work")
    code, _, err = lt("predict", home / "classes", home / "stamps.csv", "--out", home / "mine.csv")
    assert (code, "add --force to replace it" in err) == (2, True)
    assert (home / "mine.csv").read_text() == "years of work"


def test_help_speaks_of_options():
    for command in ("train", "predict", "evaluate"):
        text = lt(command, "--help")[1]
        for word in ("=None", "=True", "=False", "_share", "n_estimators", "random_state", "None"):
            assert word not in text
