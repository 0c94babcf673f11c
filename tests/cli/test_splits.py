"""Splits as the command line takes them."""

import json

import polars as pl
import pytest

from cli.tables import WIDE, lt, write_tables

SMALL = ["--values", "hr,temp", "--target", "state", "--epochs", 1, "--hidden-size", 8, "--json"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("splits")
    write_tables(folder, S=40)
    wide = pl.read_csv(folder / "wide.csv").with_columns(
        ward=pl.col("patient").str.slice(1).cast(int) // 4, importance=1.0 + (pl.col("state") == "sick")
    )
    wide.write_csv(folder / "wide.csv")
    later = [f"p{i}" for i in range(30, 40)]
    wide.filter(~pl.col("patient").is_in(later)).write_csv(folder / "old.csv")
    wide.filter(pl.col("patient").is_in(later)).write_csv(folder / "new.csv")
    labels = pl.read_csv(folder / "labels.csv")
    ward = labels["patient"].str.slice(1).cast(int) // 4
    labels.with_columns(ward=ward, holed=pl.when(ward > 0).then(ward)).write_csv(folder / "wards.csv")
    return folder


def test_groups_weights_and_the_model_of_all_series(home):
    more = ["--group", "ward", "--weight", "importance", "--threshold", "f1"]
    code, out, err = lt("train", home / "wide.csv", *WIDE, *SMALL, *more, "--out", home / "grouped")
    assert code == 0, err
    assert "10 groups kept together" in err
    assert "trained on all 40 series after the test" in err
    assert sum(json.loads(out)["series"].values()) == 40
    assert "sensitivity" in json.loads(out)["test"]["CfC"]
    facts = json.loads(lt("info", home / "grouped", "--json")[1])
    assert facts["trained on"] == "40 series"
    assert facts["channels"] == ["hr", "temp"]
    assert "10 groups kept together" in facts["split"]["test"]


def test_a_file_to_test_on(home):
    code, out, err = lt(
        "train", home / "old.csv", *WIDE, *SMALL, "--test", home / "new.csv", "--no-refit", "--out", home / "m"
    )
    assert code == 0, err
    assert json.loads(out)["series"] == {"training": 30, "test": 10}
    assert "new.csv, with the series to test on, contains:" in err
    assert "of the training part" in err
    code, _, err = lt("train", home / "wide.csv", *WIDE, *SMALL, "--test", home / "new.csv", "--out", home / "twice")
    assert (code, "--test must have other series than `data`; 10 ids occur in both" in err) == (2, True)


def test_time_folds_and_no_test(home):
    code, out, err = lt("train", home / "wide.csv", *WIDE, *SMALL, "--test-after", "150", "--out", home / "time")
    assert code == 0, err
    assert "those that end at 150 or later" in err
    wide = pl.read_csv(home / "wide.csv")
    late = (wide.group_by("patient").agg(pl.col("minutes").max())["minutes"] >= 150).sum()
    assert json.loads(out)["series"]["test"] == late
    code, out, err = lt("train", home / "wide.csv", *WIDE, *SMALL, "--folds", 2, "--out", home / "folds")
    assert code == 0, err
    assert json.loads(out)["series"] == {"training": 40, "test": 40}
    assert "fold 2 of 2" in err
    code, out, err = lt("train", home / "wide.csv", *WIDE, *SMALL, "--test-share", 0, "--out", home / "all")
    assert code == 0, err
    assert "warning: --test-share is 0" in err
    assert (json.loads(out)["test"], json.loads(out)["report"]) == ({}, None)
    code, _, err = lt("info", home / "all")
    assert code == 0, err


def test_what_is_refused_names_options(home):
    labels = ["--labels", home / "wards.csv"]
    for more, text in [
        (["--group", "wart"], "--group 'wart' is not a column of any table; did you mean `ward`?"),
        (["--group", "minutes"], "--group 'minutes' must have one value per series; 40 series have several"),
        ([*labels, "--group", "holed"], "must have a value for every series; 4 of 40 have none, the first is p0"),
        (["--folds", 3, "--test-after", 5], "--test-after and --folds are different ways to test"),
        (["--test-after", "soon"], "--test-after must be a number"),
        (["--threshold", "best"], "--threshold must be balanced_accuracy, f1"),
    ]:
        code, _, err = lt("train", home / "wide.csv", *WIDE, *SMALL, *more, "--out", home / "no")
        assert (code, text in err) == (2, True), err
    assert not (home / "no").exists()


def test_the_latest_series_by_a_column_of_the_labels(home):
    words = ["--labels", home / "wards.csv", "--order", "ward"]
    code, out, err = lt("train", home / "wide.csv", *WIDE, *SMALL, *words, "--no-refit", "--out", home / "ordered")
    assert code == 0, err
    assert "the latest ones" in err
    assert json.loads(out)["series"] == {"training": 32, "test": 8}
    forecast = ["--values", "hr,temp", "--task", "forecast", "--epochs", 1, "--hidden-size", 8, "--json"]
    code, out, err = lt("train", home / "wide.csv", *WIDE, *forecast, *words, "--no-refit", "--out", home / "ahead")
    assert code == 0, err
    assert json.loads(out)["series"] == {"training": 32, "test": 8}
    code, _, err = lt("train", home / "wide.csv", *WIDE, *forecast, *words[:2], "--out", home / "x")
    assert (code, "unless that table has the column of --group, --order or --weight" in err) == (2, True)
    code, _, err = lt("train", home / "wide.csv", *WIDE, *SMALL, *words, "--folds", 3, "--out", home / "y")
    assert (code, "--order and --folds are different ways to test" in err) == (2, True)
