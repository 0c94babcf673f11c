"""No command deletes or overwrites what this library did not write."""

import os

import polars as pl
import pytest

from cli.tables import WIDE, lt, write_tables
from liquidtime.training.run_folder import RunFolder, is_marked


@pytest.fixture
def home(tmp_path, monkeypatch):
    write_tables(tmp_path, S=12)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    write_tables(folder, S=12)
    code, _, err = lt(*train_words(folder / "wide.csv", folder / "model"))
    assert code == 0, err
    return folder


def train_words(data, out, *more):
    regress = ["--target", "score", "--task", "regress", "--values", "hr,temp", "--epochs", 1]
    return ["train", data, *WIDE, *regress, "--out", out, *more]


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("more", [(), ("--resume",), ("--force",)])
@pytest.mark.parametrize("wrong", [(), ("--batch-size", "0")])
def test_train_leaves_a_folder_called_like_its_run(home, more, wrong):
    (home / "m.run").mkdir()
    (home / "m.run" / "thesis.tex").write_text("years of work")
    before = contents(home)
    code, _, err = lt(*train_words("wide.csv", "m", *more, *wrong))
    refusal = "--batch-size must be" if wrong else "m.run exists and was not written by a run"  # settings come first
    assert (code, refusal in err, err.count("\n")) == (2, True, 1)
    assert contents(home) == before


@pytest.mark.parametrize("more", [(), ("--force",)])
def test_the_demo_leaves_a_folder_called_like_its_run(home, more):
    (home / "demo-model.run").mkdir()
    (home / "demo-model.run" / "thesis.tex").write_text("years of work")
    before = contents(home)
    code, _, err = lt("demo", "--epochs", 1, *more)
    assert (code, "was not written by a run" in err) == (2, True)
    assert contents(home) == before


def test_the_demo_leaves_a_stopped_run_and_a_model_of_train(home):
    run = RunFolder(home / "demo-model")
    with run.held("a" * 64, resume=False, discard=False):
        (run.path / "checkpoint").mkdir()
    before = contents(home)
    code, _, err = lt("demo", "--epochs", 1)
    assert (code, "has an interrupted run with other data or settings" in err) == (2, True)
    assert contents(home) == before
    code, _, err = lt(*train_words("wide.csv", "mine"))
    assert code == 0, err
    before = contents(home)
    code, _, err = lt("demo", "--epochs", 1, "--out", "mine")
    assert (code, "holds a model that is not the demo's" in err) == (2, True)
    assert contents(home) == before


def test_force_starts_a_stopped_run_over_and_strangers_files_stay(home):
    run = RunFolder(home / "m")
    with run.held("a" * 64, resume=False, discard=False):
        pass
    code, _, err = lt(*train_words("wide.csv", "m"))
    assert (code, "Add --resume to resume it, or --force to start over." in err) == (2, True)
    code, _, err = lt(*train_words("wide.csv", "m", "--force", "--resume"))
    assert (code, "give only one of them" in err) == (2, True)
    code, _, err = lt(*train_words("wide.csv", "m", "--force"))
    assert code == 0, err
    assert not run.path.exists()
    with run.held("a" * 64, resume=False, discard=False):
        (run.path / "thesis.tex").write_text("years of work")
    (run.path / "job.sha256").write_text("")
    code, out, err = lt(*train_words("wide.csv", "m", "--resume"))
    assert code == 0, err
    assert "m.run was not removed: it has 'thesis.tex', which no run wrote (1 such files)" in out
    assert (run.path / "thesis.tex").read_text() == "years of work"
    assert not is_marked(run.path)


@pytest.mark.parametrize("name", ["README.md", "config.json", "notes.txt"])
@pytest.mark.parametrize("where", ["m", "m.previous"])
def test_train_refuses_a_folder_that_is_not_a_model_before_it_reads_the_data(home, name, where):
    (home / where).mkdir()
    (home / where / name).write_text("mine")
    code, _, err = lt(*train_words("absent.csv", "m"))
    assert code == 2
    assert "absent" not in err
    assert (home / where / name).read_text() == "mine"


def test_train_refuses_a_model_that_was_changed_by_hand(home):
    assert lt(*train_words("wide.csv", "m"))[0] == 0
    (home / "m" / "README.md").write_text("what I found out about it")
    code, _, err = lt(*train_words("wide.csv", "m"))
    assert (code, "differs from what was saved and would be lost" in err) == (2, True)
    assert (home / "m" / "README.md").read_text() == "what I found out about it"


def test_a_name_that_is_too_long_is_bad_input(home):
    for length in (230, 254, 5000):
        code, _, err = lt(*train_words("wide.csv", "m" * length))
        assert (code, err.count("\n")) == (2, 1)
    assert not list(home.glob("m*"))


@pytest.mark.parametrize("force", [(), ("--force",)])
@pytest.mark.parametrize("kind", ["itself", "link", "hard link", "dots", "in the model", "in the model by a link"])
def test_predict_never_writes_over_its_input_or_its_model(trained, home, kind, force):
    data = home / "wide.csv"
    model = trained / "model"
    out = {"dots": home / "." / ".." / home.name / "wide.csv", "in the model": model / "p.csv"}.get(kind, data)
    if kind == "link":
        out = home / "link.csv"
        out.symlink_to(data)
    elif kind == "hard link":
        out = home / "hard.csv"
        os.link(data, out)
    elif kind == "in the model by a link":
        (home / "alias").symlink_to(model)
        out = home / "alias" / "p.csv"
    before = contents(home) | contents(trained)
    code, _, err = lt("predict", model, data, "--out", out, *force)
    assert (code, err.count("\n")) == (2, 1)
    assert contents(home) | contents(trained) == before


def test_predict_replaces_a_file_only_when_told(trained, home):
    out = home / "labels.csv"
    before = out.read_bytes()
    words = ["predict", trained / "model", home / "wide.csv", "--out", out]
    code, _, err = lt(*words)
    assert (code, "labels.csv exists; add --force to replace it" in err) == (2, True)
    assert out.read_bytes() == before
    dangling = home / "dangling.csv"
    dangling.symlink_to(home / "nowhere.csv")
    assert lt("predict", trained / "model", home / "wide.csv", "--out", dangling)[0] == 2
    code, _, err = lt(*words, "--force")
    assert code == 0, err
    assert "prediction" in pl.read_csv(out).columns
