import warnings

import pytest

from integrations.trackers.job import tracked_job
from liquidtime.integrations.trackers import TensorBoard
from liquidtime.training import TrainSettings, tracking, train
from training.task import batches_of, network, objective, rows


def scalars(folder, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tensorboard's own
        accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
        events = accumulator.EventAccumulator(str(folder))
        events.Reload()
    return [(event.step, event.value) for event in events.Scalars(name)]


def test_a_job_has_its_settings_its_epochs_and_its_figures(tmp_path):
    result = tracked_job(tmp_path / "model", f"tensorboard={tmp_path / 'logs'}")
    home = tmp_path / "logs" / "model"
    assert {item.name for item in home.iterdir()} == {"job", "test-1", "on-all-series"}
    history = result.model.results_[0].history
    assert scalars(home / "on-all-series", "loss") == [
        (record["step"], pytest.approx(record["loss"])) for record in history
    ]
    assert scalars(home / "job", "test/CfC/auc") == [(0, pytest.approx(result.figures["CfC"]["auc"].value))]


def test_a_resumed_run_replaces_what_was_written_after_it_stopped(tmp_path):
    for epochs in (2, 4):
        with tracking(TensorBoard(tmp_path / "logs"), name="run"):
            result = train(
                network(),
                objective,
                batches_of(rows()),
                TrainSettings(epochs=epochs),
                folder=tmp_path / "run",
                resume=True,
            )
    told = scalars(tmp_path / "logs" / "run" / "network", "loss")
    assert told == [(record["step"], pytest.approx(record["loss"])) for record in result.history]
