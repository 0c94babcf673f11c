import numpy as np
import pytest
import torch

import liquidtime as lt
from estimators.small import TINY, series
from liquidtime.training import Tracker, TrainSettings, tracking, train
from liquidtime.training.stages import stage
from training.task import batches_of, network, objective, rows, validation

SETTINGS = TrainSettings(epochs=3)


class Listener(Tracker):
    def __init__(self):
        self.calls = []

    def start(self, name, settings):
        self.calls.append(("start", name, settings))

    def epoch(self, network, record):
        self.calls.append(("epoch", network, record))

    def finish(self, figures, folder, error):
        self.calls.append(("finish", figures, folder, error))

    @property
    def networks(self):
        return [call[1] for call in self.calls if call[0] == "epoch"]


def test_a_tracker_is_told_what_the_log_has():
    listener = Listener()
    with tracking(listener, name="mine", settings={"rate": 0.1}) as block:
        result = train(network(), objective, batches_of(rows()), SETTINGS, validate=validation(rows(40)))
        block.figures["cfc/auc"] = 0.9
    first, *epochs, last = listener.calls
    assert first == ("start", "mine", {"rate": 0.1})
    assert [record for _, _, record in epochs] == result.history
    assert {"epoch", "step", "loss", "rate", "seconds", "val_loss"} == set(epochs[0][2])
    assert last == ("finish", {"cfc/auc": 0.9}, None, None)


def test_outside_of_a_block_nobody_is_told():
    listener = Listener()
    with tracking(listener):
        pass
    train(network(), objective, batches_of(rows()), SETTINGS)
    assert [call[0] for call in listener.calls] == ["start", "finish"]


def test_networks_are_named_by_what_they_are_for_and_no_two_alike():
    listener, outer = Listener(), Listener()
    settings = TrainSettings(epochs=1)
    with tracking(outer), tracking(listener):
        for _ in range(2):
            train(network(), objective, batches_of(rows()), settings)
        with stage("test 2 of 3", 1, 3), stage("network 1 of 1", 0, 1), stage("trial 4", 3, 0):
            train(network(), objective, batches_of(rows()), settings)
    assert listener.networks == ["network", "network-2", "test-2/trial-4"] == outer.networks


def test_a_resumed_run_tells_its_earlier_epochs_again(tmp_path):
    train(network(), objective, batches_of(rows()), TrainSettings(epochs=2), folder=tmp_path)
    listener = Listener()
    with tracking(listener):
        train(network(), objective, batches_of(rows()), SETTINGS, folder=tmp_path, resume=True)
    assert [call[2]["epoch"] for call in listener.calls if call[0] == "epoch"] == [0, 1, 2]


def test_a_tracker_that_fails_is_left_out_and_the_training_continues():
    class Broken(Listener):
        def epoch(self, network, record):
            super().epoch(network, record)
            raise ConnectionError("no route to host")

    broken, sound = Broken(), Listener()
    words = r"Broken.epoch failed: ConnectionError\('no route.*continues"
    with pytest.warns(UserWarning, match=words), tracking(broken, sound):
        result = train(network(), objective, batches_of(rows()), SETTINGS)
    assert result.stopped == "finished"
    assert [call[0] for call in broken.calls] == ["start", "epoch"]
    assert len(sound.networks) == 3


def test_a_tracker_that_cannot_start_stops_everything_before_it_begins():
    class Absent(Tracker):
        def start(self, name, settings):
            raise ImportError("not installed")

    first = Listener()
    with pytest.raises(ImportError, match="not installed"), tracking(first, Absent()):
        raise AssertionError("the block must not run")
    assert isinstance(first.calls[-1][3], ImportError)
    with pytest.raises(TypeError, match=r"must be a liquidtime.training.Tracker; got str"), tracking("tensorboard"):
        pass


def test_what_ends_a_training_is_told_and_raised():
    listener = Listener()
    with pytest.raises(KeyboardInterrupt), tracking(listener):
        raise KeyboardInterrupt
    assert isinstance(listener.calls[-1][3], KeyboardInterrupt)


def test_a_tracker_that_draws_random_numbers_changes_none_of_the_models():
    class Noisy(Tracker):
        def epoch(self, network, record):
            torch.rand(3)
            np.random.rand(3)

    data, labels, _ = series(30)
    plain = lt.CfCClassifier(**TINY, n_estimators=2).fit(data, labels)
    listener = Listener()
    with tracking(Noisy(), listener):
        tracked = lt.CfCClassifier(**TINY, n_estimators=2).fit(data, labels)
    np.testing.assert_array_equal(plain.predict_proba(data), tracked.predict_proba(data))
    assert sorted(set(listener.networks)) == ["network-1", "network-2"]
