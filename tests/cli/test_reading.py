"""Files of strangers on the command line: read right, said, remembered with the model, or refused in one line."""

import json

import numpy as np
import polars as pl
import pytest
import yaml

from cli.tables import lt

S = 12
QUICK = ["--task", "regress", "--epochs", 1, "--hidden-size", 4, "--n-estimators", 1]


def us_rows(separator=";", decimal=",", order="{m:02}/{d:02}/2024 06:15"):
    """Return a table of two samples per patient, all days up to 12, so that nothing but a format tells the order."""
    lines = [separator.join(["pid", "when", "x", "note"])]
    for place in range(S):
        for k in range(2):
            value = f"{place + k + 0.5:.2f}".replace(".", decimal)
            when = order.format(m=3, d=1 + k + place % 4)
            lines.append(separator.join([f"{place:03}", when, "NA" if (place, k) == (3, 1) else value, str(place % 2)]))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("strangers")
    (folder / "us.csv").write_text(us_rows())
    patients = [
        "patient,age,sex,score",
        *(f"{place:03},{40 + place},{'fm'[place % 2]},{place}.5" for place in range(S)),
    ]
    (folder / "patients.csv").write_text("\n".join(patients) + "\n")
    (folder / "latin.csv").write_bytes("id,t,x,y\nMüller,0,1,2\n".encode("cp1252"))
    (folder / "header.csv").write_text("id,t,x,y\n")
    (folder / "binary.csv").write_bytes(bytes(range(256)))
    (folder / "twice.csv").write_text("id,t,x,x\n1,0,1,2\n")
    (folder / "mixed.csv").write_text("id,t,x,y\n1,2024-01-01,1,2\n1,01/02/2024,1,2\n")
    (folder / "zones.csv").write_text("id,t,x,y\n1,2024-01-01T00:00Z,1,2\n1,2024-01-01T01:00,1,2\n")
    (folder / "thousand.csv").write_text('id,t,x,y\n1,0,"1,234",2\n')
    (folder / "folder").mkdir()
    return folder


COLUMNS = ["--id", "pid", "--time", "when", "--time-unit", "h", "--values", "x"]
LABELS = ["--labels", "patients.csv", "--labels-id", "patient", "--target", "score"]
STATIC = ["--static-table", "patients.csv", "--static-id", "patient", "--categorical", "sex"]


@pytest.fixture(scope="module")
def trained(home):
    words = [*COLUMNS, *STATIC, *LABELS, *QUICK, "--time-format", "%m/%d/%Y %H:%M", "--out", "model", "--json"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        code, out, err = lt("train", "us.csv", *words)
    assert code == 0, err
    return json.loads(out), err


def test_what_was_recognised_is_said_and_stored(home, trained):
    result, err = trained
    for text in (
        "lines of 'us.csv' are separated by semicolon",
        "columns have decimal commas (x)",
        "times were read as month, day, year (%m/%d/%Y %H:%M)",
        "1 of 24 values of 'x' are 'NA', read as not observed",
        "columns of the static table are not static features but a target, a group or similar ('score')",
    ):
        assert text in err
    assert result["series"] == {"training": 9, "test": 3} or sum(result["series"].values()) == S
    columns = json.loads((home / "model" / "job.json").read_bytes())["columns"]
    assert columns["reading"] == {
        "separator": ";", "decimal": ",", "encoding": "utf-8", "time_format": "%m/%d/%Y %H:%M", "time_zone": "none",
    }  # fmt: skip
    assert columns["static_id"] == "patient"
    facts = json.loads(lt("info", home / "model", "--json")[1])
    assert facts["static features"] == ["age", "sex"]
    assert facts["channels"] == ["x"]


@pytest.fixture(scope="module")
def predicted(home, trained):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        code, _, err = lt("predict", "model", "us.csv", "--static-table", "patients.csv", "--out", "p.csv")
    assert code == 0, err
    return pl.read_csv(home / "p.csv", infer_schema=False)


def test_the_next_file_of_the_kind_is_read_alike(home, predicted):
    assert predicted["pid"][0] == "000"  # an id with its zeros
    assert len(predicted) == S


def test_a_file_of_another_kind_is_read_and_the_difference_said(home, predicted, monkeypatch):
    monkeypatch.chdir(home)
    (home / "iso.csv").write_text(us_rows(",", ".", "2024-{m:02}-{d:02}T06:15Z"))
    code, _, err = lt("predict", "model", "iso.csv", "--static-table", "patients.csv", "--out", "q.csv", "--json")
    assert code == 0, err
    for text in (
        "are separated by comma, those of training by semicolon",
        "decimal mark ., those of training ,",
        "times are written as %Y-%m-%d %H:%M%z, those of training as %m/%d/%Y %H:%M",
        "times have the time zone UTC, those of training none",
    ):
        assert text in err
    same = pl.read_csv(home / "q.csv", infer_schema=False)
    np.testing.assert_allclose(same["prediction"].cast(float), predicted["prediction"].cast(float), rtol=1e-6)


def test_predict_without_the_static_table_warns(home, trained, monkeypatch):
    monkeypatch.chdir(home)
    code, _, err = lt("predict", "model", "us.csv", "--out", "without.csv")
    assert code == 0, err
    assert "warning: the model was trained with a static table" in err


def test_evaluate_takes_the_same_options(home, trained, monkeypatch):
    monkeypatch.chdir(home)
    words = ["--static-table", "patients.csv", "--labels", "patients.csv", "--json"]
    code, out, err = lt("evaluate", "model", "us.csv", *words)
    assert code == 0, err
    assert json.loads(out)["series"] == S


REFUSED = {
    "two readings": (["us.csv", *COLUMNS, *LABELS], "2024-01-03 (--time-format '%d/%m/%Y %H:%M') or 2024-03-01"),
    "an encoding": (["latin.csv"], "(Western European), in which that reads 'Müller'; pass --encoding 'cp1252'"),
    "no rows": (["header.csv"], "has a line of column names and no rows"),
    "bytes": (["binary.csv"], "is not a text file"),
    "a name twice": (["twice.csv"], "has several columns called 'x'"),
    "two formats": (["mixed.csv"], "1 rows like '2024-01-01', the first is row 0; 1 rows like '01/02/2024'"),
    "some zones": (["zones.csv"], "must have a time zone in all rows or in none; 1 of 2 have none"),
    "thousands": (["thousand.csv"], "'1,234' in 'x' could be 1234 or 1.234; give --decimal"),
    "an empty folder": (["folder"], "the folder 'folder' has no file that ends in .csv"),
    "no such pattern": (["*.tsv"], "no file matches '*.tsv'"),
    "another separator": (["us.csv", "--separator", "|"], "say what separates them with --separator"),
    "half a separator": (["us.csv", "--separator", "::"], "--separator must be one character"),
    "a query": (["us.csv", "--query", "SELECT 1"], "--query is for a database"),
    "a database": (["sqlite:///none.db"], "is a database; give the rows to read with --query"),
    "a static table of others": (
        ["us.csv", *COLUMNS, *LABELS, "--time-format", "%m/%d/%Y %H:%M", "--static-table", "mixed.csv",
         "--static-id", "id"],
        "must share ids with the series",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_ends_in_one_line(home, case, monkeypatch):
    monkeypatch.chdir(home)
    words, text = REFUSED[case]
    rest = [] if "--id" in words else ["--id", "id", "--time", "t", "--target", "y"]
    code, out, err = lt("train", *words, *rest, *QUICK, "--out", "never")
    assert code == 2
    assert text in err
    assert err.count("\n") == 1
    assert "Traceback" not in out + err
    assert not (home / "never").exists()


def test_the_run_is_written_beside_the_model_and_can_be_repeated(home, trained, monkeypatch):
    monkeypatch.chdir(home)
    file = home / "model.run.yaml"
    assert trained[0]["config"] == str(file)
    options = yaml.safe_load(file.read_text())
    assert options["command"] == "train"
    assert options["data"] == ["us.csv"]
    assert options["time-format"] == "%m/%d/%Y %H:%M"
    assert options["static-table"] == "patients.csv"
    code, out, err = lt("train", "--config", file, "--out", "again", "--json")
    assert code == 0, err
    assert json.loads(out)["test"] == trained[0]["test"]
    again = yaml.safe_load((home / "again.run.yaml").read_text())
    assert {**again, "out": "model"} == options


@pytest.mark.usefixtures("trained")  # which wrote model.run.yaml
def test_a_file_that_is_not_ours_is_left_alone(home, monkeypatch):
    monkeypatch.chdir(home)
    (home / "mine.run.yaml").write_text("years: of work\n")
    code, out, err = lt("train", "--config", "model.run.yaml", "--out", "mine", "--json")
    assert code == 0, err
    assert json.loads(out)["config"] is None
    assert (home / "mine.run.yaml").read_text() == "years: of work\n"


CONFIGS = {
    "a misspelt key": (
        "data: us.csv\ntest_shar: 0.2\n",
        "'test_shar' is not an option of train; did you mean `test-share`?",
    ),
    "no mapping": ("- us.csv\n", "must be a mapping from options to values; got list"),
    "no YAML": ("data: [us.csv\n", "is not YAML"),
    "another command": ("command: predict\n", "is for `liquidtime predict`, not for `liquidtime train`"),
    "a list for one": ("data: us.csv\nid: [a, b]\n", "'id' must be one value; got ['a', 'b']"),
    "a value for a flag": ("quick: 3\n", "'quick' must be true or false; got 3"),
    "a flag for a value": ("seed: true\n", "'seed' must be a value, not true or false; got True"),
}


@pytest.mark.parametrize("case", CONFIGS)
def test_configs_that_cannot_be_used(home, case, monkeypatch):
    monkeypatch.chdir(home)
    contents, text = CONFIGS[case]
    (home / "bad.yaml").write_text(contents)
    code, _, err = lt("train", "--config", "bad.yaml")
    assert code == 2
    assert text in err
    assert err.count("\n") == 1


@pytest.mark.usefixtures("trained")  # which wrote model.run.yaml
def test_a_config_that_is_not_there(home, monkeypatch):
    monkeypatch.chdir(home)
    code, _, err = lt("train", "--config", "model.rn.yaml")
    assert (code, "did you mean `model.run.yaml`" in err, err.count("\n")) == (2, True, 1)


def test_predict_takes_a_config_too_and_what_is_typed_takes_precedence(home, predicted, monkeypatch):
    monkeypatch.chdir(home)
    (home / "predict.yaml").write_text("model: model\ndata: us.csv\nstatic-table: patients.csv\nout: c.csv\n")
    assert lt("predict", "--config", "predict.yaml")[0] == 0
    assert lt("predict", "--config", "predict.yaml", "--out", "d.csv")[0] == 0
    for name in ("c.csv", "d.csv"):
        assert pl.read_csv(home / name, infer_schema=False).equals(predicted)


def test_several_files_and_databases(home, trained, predicted, monkeypatch):
    monkeypatch.chdir(home)
    lines = (home / "us.csv").read_text().splitlines()
    (home / "parts").mkdir()
    (home / "parts" / "1.csv").write_text("\n".join(lines[:9]) + "\n")
    (home / "parts" / "2.csv").write_text("\n".join([lines[0], *lines[9:]]) + "\n")
    import sqlite3

    with sqlite3.connect(home / "us.db") as connection:
        connection.execute("CREATE TABLE m (pid TEXT, 'when' TEXT, x TEXT)")
        connection.executemany("INSERT INTO m VALUES (?, ?, ?)", [line.split(";")[:3] for line in lines[1:]])
    connection.close()
    static = ["--static-table", "patients.csv"]
    for number, source in enumerate(
        (["parts"], ["parts/*.csv"], ["parts/1.csv", "parts/2.csv"], ["sqlite:///us.db", "--query", "SELECT * FROM m"])
    ):
        code, _, err = lt("predict", "model", *source, *static, "--decimal", ",", "--out", f"s{number}.csv")
        assert code == 0, err
        found = pl.read_csv(home / f"s{number}.csv", infer_schema=False)
        np.testing.assert_allclose(found["prediction"].cast(float), predicted["prediction"].cast(float), rtol=1e-6)


@pytest.mark.parametrize("command", ["train", "predict", "evaluate"])
def test_every_command_that_reads_has_the_options(command):
    help_text = lt(command, "--help")[1]
    for option in ("--separator", "--decimal", "--encoding", "--time-format", "--missing", "--query", "--static-table",
                   "--config"):  # fmt: skip
        assert option in help_text


def test_target_and_group_may_be_columns_of_the_static_table(home, monkeypatch, tmp_path):
    monkeypatch.chdir(home)
    (home / "wards.csv").write_text(
        "\n".join(
            ["patient,age,ward,score", *(f"{place:03},{40 + place},w{place // 3},{place}.5" for place in range(S))]
        )
    )
    words = [*COLUMNS, "--time-format", "%m/%d/%Y %H:%M", "--static-table", "wards.csv", "--static-id", "patient"]
    asked = ["--target", "score", "--group", "ward", *QUICK]
    code, _, err = lt("train", "us.csv", *words, *asked, "--out", tmp_path / "m", "--json")
    assert code == 0, err
    assert "4 groups kept together" in err
    assert "are not static features but a target, a group or similar ('ward', 'score')" in err
    assert json.loads(lt("info", tmp_path / "m", "--json")[1])["static features"] == ["age"]
    code, _, err = lt("train", "us.csv", *words, *asked[:2], "--group", "wrad", *asked[4:], "--out", tmp_path / "n")
    assert code == 2
    assert "--group 'wrad' is not a column of any table; did you mean `ward`?" in err
