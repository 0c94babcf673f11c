"""`liquidtime explain` from a table to a page."""

import json

import polars as pl
import pytest

from cli.tables import LONG, lt, write_tables


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    write_tables(folder, S=40)
    labels = ["--labels", folder / "labels.csv", "--target", "state"]
    small = ["--epochs", 1, "--hidden-size", 6, "--keep-neighbours"]
    code, _, err = lt("train", folder / "long.csv", *LONG, *labels, *small, "--out", folder / "model")
    assert code == 0, err
    return folder


def explain(home, *words):
    quick = ["--repeats", 1, "--series", 8]
    return lt("explain", home / "model", home / "long.csv", *quick, *words)


@pytest.mark.slow
def test_a_series_is_explained_on_a_page_with_pictures_and_json(home, tmp_path):
    out = tmp_path / "inside.html"
    words = ["--labels", home / "labels.csv", "--id", "p3", "--id", "p8", "--out", out]
    code, printed, err = explain(home, *words, "--pictures", tmp_path / "pictures", "--json")
    assert code == 0, err
    result = json.loads(printed)
    assert {row["id"] for row in result["effects"]} == {"p3", "p8"}
    assert {row["name"] for row in result["importances"]} == {"hr", "temp", "timing of the samples"}
    assert list(result["similar"]) == ["p3", "p8"]
    assert {near["outcome"] for near in result["similar"]["p3"]} <= {"sick", "well"}
    assert len(result["pictures"]) == 8
    page = out.read_text()
    assert "<h1>Inside model</h1>" in page
    assert "Series p3: probability of well" in page or "Series p3: probability of sick" in page
    assert "the truth is not known" not in err
    code, _, err = explain(home, *words)
    assert code == 2
    assert "--force" in err


@pytest.mark.slow
def test_without_the_truth_it_says_so(home, tmp_path):
    code, out, err = explain(home, "--out", tmp_path / "inside.html")
    assert code == 0, err
    assert "the truth is not known" in out
    assert "page    " in out


def test_the_truth_may_be_a_column(home, tmp_path):
    long, truth = pl.read_csv(home / "long.csv"), pl.read_csv(home / "labels.csv")
    long.join(truth, on="patient").write_csv(tmp_path / "both.csv")
    words = ["--repeats", 1, "--series", 4, "--out", tmp_path / "inside.html", "--json"]
    code, out, err = lt("explain", home / "model", tmp_path / "both.csv", *words)
    assert code == 0, err
    assert "the truth is not known" not in err
    assert json.loads(out)["series"] == 40


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--out", "inside.txt"], "must end in .html"),
        (["--out", "nowhere/inside.html"], "folder that exists"),
        (["--out", "MODEL/inside.html"], "sealed"),
        (["--out", "inside.html", "--id", "p99"], "p99"),
    ],
)
def test_refusals(home, tmp_path, words, told):
    placed = [home / "model" / word[6:] if word.startswith("MODEL/") else word for word in words]
    placed = [tmp_path / word if str(word).startswith(("inside", "nowhere")) else word for word in placed]
    code, _, err = explain(home, *placed)
    assert code == 2
    assert told in err
