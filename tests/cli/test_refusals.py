"""What is wrong is said in one line, with an exit code."""

import polars as pl
import pytest
from typer.testing import CliRunner

import liquidtime as lq
from cli.tables import LONG, WIDE, lt, write_tables
from liquidtime.cli.app import app


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refusals")
    write_tables(folder, S=8)
    (folder / "other").mkdir()
    (folder / "other" / "thesis.txt").write_text("years of work")
    (folder / "empty.csv").write_text("")
    (folder / "text.csv").write_text("patient,minutes,hr,state\na,0,fast,x\nb,0,70,y\n")
    (folder / "never.csv").write_text("patient,minutes,hr,state\na,nan,1,x\nb,0,70,y\n")
    (folder / "one.csv").write_text("".join(["patient,minutes,hr,state\n", *(f"p{i},0,{i},x\n" for i in range(9))]))
    (folder / "two.csv").write_text("patient,minutes,hr,state\na,0,1,x\na,1,2,y\nb,0,3,x\n")
    return folder


TARGET = ["--target", "state"]
REGRESS = ["--target", "score", "--task", "regress"]
CASES = {
    "a misspelt column": (["wide.csv", "--id", "pateint", "--time", "minutes", *TARGET], "did you mean `patient`?"),
    "a misspelt target": (["wide.csv", *WIDE, "--target", "sate"], "did you mean `state`?"),
    "a misspelt target of labels": (
        ["long.csv", *LONG, "--labels", "labels.csv", "--target", "stat"],
        "did you mean `state`?",
    ),
    "a misspelt file": (["wied.csv", *WIDE, *TARGET], "did you mean `wide.csv`?"),
    "a misspelt task": (["wide.csv", *WIDE, *TARGET, "--task", "clasify"], "did you mean `classify`?"),
    "a misspelt network": (
        ["wide.csv", *WIDE, *REGRESS, "--values", "hr,temp", "--network", "cf"],
        "error: --network must be one of",
    ),
    "a misspelt network, before the data is read": (
        ["nothere.csv", *WIDE, *REGRESS, "--network", "lstmm"],
        "got 'lstmm'; did you mean `lstm`?",
    ),
    "no units, before the data is read": (
        ["nothere.csv", *WIDE, *REGRESS, "--hidden-size", "0"],
        "error: --hidden-size must be at least 1",
    ),
    "a misspelt tracker": (
        ["nothere.csv", *WIDE, *REGRESS, "--track", "mlfow"],
        "--track must be one of tensorboard, mlflow, wandb; got 'mlfow'; did you mean `mlflow`?",
    ),
    "a misspelt unit": (["wide.csv", *WIDE, *TARGET, "--time-unit", "mins"], "did you mean `min`?"),
    "no target": (["wide.csv", *WIDE], "--task classify needs --target"),
    "a target for a forecast": (["wide.csv", *WIDE, "--task", "forecast", *TARGET], "leave out --target"),
    "a misspelt outcome": (["wide.csv", *WIDE, *TARGET, "--auxiliary", "scor"], "did you mean `score`?"),
    "a misspelt outcome of labels": (
        ["long.csv", *LONG, "--labels", "labels.csv", *TARGET, "--auxiliary", "scor"],
        "`--auxiliary` must name a column; there is none called 'scor'; did you mean `score`?",
    ),
    "words to learn along": (["wide.csv", *WIDE, *REGRESS, "--auxiliary", "state"], "--auxiliary 'state' must be numb"),
    "a target learned along": (["wide.csv", *WIDE, *REGRESS, "--auxiliary", "score"], "got 'score' for both"),
    "two outcomes of one series": (["wide.csv", *WIDE, *TARGET, "--auxiliary", "hr"], "--auxiliary 'hr' must have one"),
    "an outcome for a forecast": (
        ["wide.csv", *WIDE, "--task", "forecast", "--auxiliary", "score"],
        "--auxiliary is for --task classify and regress",
    ),
    "half of long": (["long.csv", *WIDE, "--channel", "name", *TARGET], "--channel needs --value"),
    "long and wide": (["long.csv", *LONG, "--values", "hr", *TARGET], "leave out --channel and --value"),
    "an empty file": (["empty.csv", *WIDE, *TARGET], "'empty.csv' is empty"),
    "words for values": (["text.csv", *WIDE, *TARGET], "'fast'"),
    "a time that is none": (["never.csv", *WIDE, *TARGET], "series a at position 0"),
    "one class": (["one.csv", *WIDE, *TARGET], "at least two classes"),
    "two labels of one series": (
        ["two.csv", *WIDE, *TARGET, "--task", "regress"],
        "1 series have several, the first is a",
    ),
    "a share of all": (["wide.csv", *WIDE, *TARGET, "--test-share", "1.5"], "between 0 and 1; got 1.5"),
    "balanced numbers": (["wide.csv", *WIDE, *REGRESS, "--balanced"], "--balanced is for"),
    "words to regress on": (["wide.csv", *WIDE, *TARGET, "--task", "regress"], "must be numbers for regression"),
}


@pytest.mark.parametrize("case", CASES)
def test_train(home, case, monkeypatch):
    monkeypatch.chdir(home)
    words, text = CASES[case]
    code, out, err = lt("train", *words, "--out", "model", "--epochs", 1)
    assert code == 2
    assert text in err
    assert err.count("\n") == 1
    assert err.startswith("error: ")
    assert "Traceback" not in err + out
    assert not (home / "model").exists()
    assert not (home / "model.run").exists()


def test_a_folder_of_other_files_is_never_overwritten(home):
    code, _, err = lt("train", home / "wide.csv", *WIDE, "--target", "state", "--out", home / "other")
    assert (code, "is not a model folder" in err) == (2, True)
    assert (home / "other" / "thesis.txt").read_text() == "years of work"


def test_wrong_use_has_exit_code_2(home):
    for words in (["train", home / "wide.csv"], ["predict"], ["nothing"], ["train", "x", "--seed", "-1"]):
        code, _, err = lt(*words)
        assert code == 2
        assert "Error" in err


def test_strict_refuses_what_would_be_repaired(home):
    table = pl.read_csv(home / "wide.csv")
    table.reverse().write_csv(home / "reversed.csv")
    words = ["train", home / "reversed.csv", *WIDE, "--target", "state", "--out", home / "strict"]
    code, _, err = lt(*words, "--strict")
    assert code == 2
    assert "--strict forbids" in err


def test_debug_shows_where(home):
    words = ["train", str(home / "wide.csv"), "--id", "pateint", "--time", "minutes", "--target", "state"]
    with pytest.raises(ValueError, match="did you mean `patient`"):
        CliRunner().invoke(app, [*words, "--out", str(home / "m"), "--debug"], catch_exceptions=False)


def test_models_that_are_none(home, tmp_path):
    code, _, err = lt("predict", home / "othre", home / "wide.csv", "--out", tmp_path / "p.csv")
    assert (code, "there is no model folder" in err, "did you mean `other`?" in err) == (2, True, True)
    code, _, err = lt("predict", home / "other", home / "wide.csv", "--out", tmp_path / "p.csv")
    assert (code, err.count("\n")) == (2, 1)


def test_a_changed_model_is_found(home, tmp_path):
    code, _, err = lt("train", home / "wide.csv", *WIDE, "--target", "score", "--task", "regress", "--epochs", 1,
                      "--values", "hr,temp", "--out", tmp_path / "m")  # fmt: skip
    assert code == 0, err
    for ending in ("txt", "xlsx"):
        code, _, err = lt("predict", tmp_path / "m", home / "wide.csv", "--out", tmp_path / f"p.{ending}")
        assert (code, "must end in .csv or .parquet" in err) == (2, True)
    code, _, err = lt("predict", tmp_path / "m", home / "wide.csv", "--out", tmp_path / "p.csv", "--horizon", 3)
    assert (code, "--horizon is for" in err) == (2, True)
    code, _, err = lt("evaluate", tmp_path / "m", home / "wide.csv", "--target", "scroe")
    assert (code, "did you mean `score`?" in err) == (2, True)
    raw = bytearray((tmp_path / "m" / "model.safetensors").read_bytes())
    raw[-1] ^= 1
    (tmp_path / "m" / "model.safetensors").write_bytes(raw)
    code, _, err = lt("predict", tmp_path / "m", home / "wide.csv", "--out", tmp_path / "p.csv")
    assert (code, "the file is damaged or was changed" in err, err.count("\n")) == (2, True, 1)


def test_a_model_from_python_needs_its_columns_said(home, tmp_path):
    table = pl.read_csv(home / "wide.csv").drop("state", "score")
    data = lq.SeriesSet.from_wide(table, id="patient", time="minutes")
    lq.CfCClassifier(epochs=1, random_state=0).fit(data, [0, 1] * 4).save(tmp_path / "m")
    code, _, err = lt("predict", tmp_path / "m", home / "wide.csv", "--out", tmp_path / "p.csv")
    assert (code, "pass --id and --time" in err) == (2, True)
    code, _, err = lt("predict", tmp_path / "m", home / "wide.csv", "--out", tmp_path / "p.csv", *WIDE)
    assert code == 0, err
    columns = pl.read_csv(tmp_path / "p.csv").columns
    assert columns == ["patient", "time", "prediction", "probability_0", "probability_1"]
