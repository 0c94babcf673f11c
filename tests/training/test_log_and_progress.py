from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch

from liquidtime.training import TrainSettings, read_log, train
from liquidtime.training.progress import time_left
from liquidtime.training.run_folder import held_folder
from liquidtime.training.stages import share_done, stage, stage_words
from training.task import batches_of, network, objective, rows, validation

SETTINGS = TrainSettings(epochs=3)


def test_one_line_of_json_an_epoch(tmp_path):
    result = train(network(), objective, batches_of(rows()), SETTINGS, validate=validation(rows(40)), folder=tmp_path)
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == result.history == read_log(tmp_path)
    assert [record["step"] for record in result.history] == [6, 12, 18]


def test_a_metric_that_is_not_a_number_is_null(tmp_path):
    train(
        network(), objective, batches_of(rows()), SETTINGS, validate=lambda m: {"loss": float("nan")}, folder=tmp_path
    )
    assert [record["val_loss"] for record in read_log(tmp_path)] == [None] * 3


def test_silent_where_nobody_watches(capsys):
    train(network(), objective, batches_of(rows()), SETTINGS)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_progress_shows_loss_metric_and_rate(capsys):
    settings = TrainSettings(epochs=3, learning_rate=0.025)
    train(network(), objective, batches_of(rows()), settings, validate=validation(rows(40)), progress=True)
    shown = capsys.readouterr().err
    assert "epoch 3/3" in shown
    assert "rate 2.5e-02" in shown
    assert "loss 0." in shown
    assert "(best 0." in shown


def test_progress_says_what_is_at_work_and_how_long_the_whole_job_takes(capsys):
    settings = TrainSettings(epochs=1)
    with stage("test 2 of 2", 1, 2), stage("network 1 of 3", 0, 3):
        train(network(), objective, batches_of(rows()), settings, progress=True)
        assert share_done(0.5) == pytest.approx((1 + 0.5 / 3) / 2)
        assert stage_words() == "test 2 of 2, network 1 of 3"
    assert "test 2 of 2, network 1 of 3, epoch 1/1" in capsys.readouterr().err
    assert (share_done(0.5), stage_words()) == (0.5, "")
    with stage("trial 1", 0, 0):
        assert (share_done(0.5), stage_words()) == (0.0, "trial 1")  # how many there will be nobody knows
    assert time_left(0.25, 60.0) == "3:00 left"
    assert time_left(0.01, 60.0) == "1:39:00 left"
    assert time_left(0.0, 60.0) == ""


@pytest.mark.slow
def test_what_is_slow_to_import_is_imported_late():
    code = "import sys, liquidtime.training; sys.exit(bool({'rich', 'sklearn', 'tensorboard'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}).returncode == 0


def test_a_log_that_cannot_be_written_does_not_stop_the_run(tmp_path):
    with held_folder(tmp_path):
        (tmp_path / "metrics.jsonl").mkdir()
    with pytest.warns(UserWarning, match=r"could not write .*metrics.jsonl.*Training continues"):
        result = train(network(), objective, batches_of(rows()), SETTINGS, folder=tmp_path)
    assert result.stopped == "finished"
    assert torch.isfinite(torch.tensor(result.history[-1]["loss"]))
