"""A column of a table becomes the loop's settings, and a run ends where its protocol says."""

import dataclasses

import numpy as np
import pytest
import torch

from liquidtime.paper.experiments import EXPERIMENTS, printed
from liquidtime.paper.fitting import Shuffled, train_settings
from liquidtime.paper.models.network_model import PERFECT_EPOCHS
from paper.small_runs import cheap, shrink_xor, small_run, written


def test_train_settings_of_both_frameworks():
    xor = train_settings(printed.XOR["no_gate"], EXPERIMENTS["xor"].task, 3, penalised=True)
    assert (xor.optimizer, xor.learning_rate, xor.decay, xor.schedule_every) == ("rmsprop", 0.005, 0.95, "step")
    assert (xor.smoothing, xor.epsilon) == (0.9, 1e-7)  # Keras' RMSprop; torch's own has 0.99 and 1e-8
    assert (xor.clip, xor.clip_norm, xor.l2_penalty, xor.weight_decay) == ("each", 10, 5e-06, 0)
    assert (xor.epochs, xor.seed, xor.monitor) == (200, 3, "accuracy")
    stays = train_settings(printed.PHYSIONET["cfc"], EXPERIMENTS["physionet"].task, 0, penalised=True)
    assert (stays.optimizer, stays.schedule_every, stays.clip_norm) == ("adamw", "epoch", 0)
    assert (stays.l2_penalty, stays.weight_decay) == (0, 4e-06)
    cycle = dataclasses.replace(printed.XOR["cfc"], schedule="one_cycle", decay_lr=None)
    assert train_settings(cycle, EXPERIMENTS["xor"].task, 0, penalised=True).schedule == "one_cycle"


@pytest.mark.parametrize("bucketed", [False, True])
def test_an_epoch_has_every_sequence_once_in_an_order_of_its_generator(monkeypatch, bucketed):
    shrink_xor(monkeypatch)
    data = EXPERIMENTS["xor"].data("honest").train
    batches = Shuffled(data, 16, bucketed)

    def ids(seed):
        epoch = batches(0, torch.Generator().manual_seed(seed))
        assert len(epoch) == -(-len(data) // 16)
        return torch.cat([batch.ids for batch in epoch])

    assert torch.equal(ids(1).sort().values, data.ids.sort().values)
    assert torch.equal(ids(1), ids(1))
    assert not torch.equal(ids(1), ids(2))


def test_buckets_hold_sequences_of_like_length(monkeypatch):
    shrink_xor(monkeypatch)
    data = EXPERIMENTS["xor"].data("honest").train

    def padded(bucketed):
        epoch = Shuffled(data, 16, bucketed)(0, torch.Generator().manual_seed(0))
        return sum(batch.dt.numel() for batch in epoch)

    assert padded(True) < 0.8 * padded(False)


def test_only_settings_that_say_so_put_like_lengths_together(xor, tmp_path, monkeypatch):
    def refused(*_):
        raise AssertionError("sorted by length")

    monkeypatch.setattr("liquidtime.paper.fitting.batches.plan_batches", refused)
    printed, ours = xor.rows["mm_rnn"], xor.rows["lstm"]
    assert printed.model.fit(small_run(xor, None, tmp_path / "p"), epochs(printed.settings, 1)).epochs == 1
    at_once = dataclasses.replace(epochs(ours.settings, 1), growing_epochs=None)
    with pytest.raises(AssertionError, match="sorted by length"):
        ours.model.fit(small_run(xor, None, tmp_path / "o"), at_once)


def test_short_sequences_come_first_where_the_settings_say_so(monkeypatch):
    """The cap grows from the shortest plus one; every epoch is as long as any; afterwards each sequence comes once."""
    shrink_xor(monkeypatch)
    monkeypatch.setattr("liquidtime.paper.fitting.batches.BUCKET", 2)
    data = EXPERIMENTS["xor"].data("honest").train
    batches = Shuffled(data, 16, bucketed=True, growing=2)

    def longest(epoch, seed=0):
        return [int(batch.lengths.max()) for batch in batches(epoch, torch.Generator().manual_seed(seed))]

    low, high = int(data.lengths.min()), int(data.lengths.max())
    first, second = longest(0), longest(1)
    assert len(first) == len(second) == len(longest(2)) == -(-len(data) // 16)
    assert max(first[:2]) <= low + 1
    middle = low + 1 + (high - low) // 2
    assert max(first) <= middle < max(second)
    assert first == longest(0)
    one, other = (torch.cat(batches(0, torch.Generator().manual_seed(seed)).keys) for seed in (0, 1))
    assert not torch.equal(one.sort().values, other.sort().values)  # other draws, not the same ones in another order
    ids = torch.cat([batch.ids for batch in batches(2, torch.Generator().manual_seed(0))])
    assert torch.equal(ids.sort().values, data.ids.sort().values)


@pytest.fixture
def xor(monkeypatch):
    shrink_xor(monkeypatch)
    return EXPERIMENTS["xor"]


def epochs(given, count):
    return dataclasses.replace(cheap(given), epochs=count)


def test_a_perfect_seed_stops_and_says_so(xor, tmp_path, monkeypatch):
    """Validation is judged perfect from the fourth epoch on."""
    row, run = xor.rows["cfc"], small_run(xor, None, tmp_path / "run")
    seen = []

    def judged(self, target, prediction):
        seen.append(1)
        return 1.0 if len(seen) >= 4 else 0.5

    monkeypatch.setattr(type(xor.task), "score", judged)
    outcome = row.model.fit(run, epochs(row.settings, 50))
    assert outcome.stopped == "target"
    assert outcome.epochs == 3 + PERFECT_EPOCHS
    assert outcome.best_epoch == 3


def test_a_seed_whose_rate_is_spent_stops_and_says_so(xor, tmp_path):
    """From 0.005, seven halves are the first below 5e-5."""
    row = xor.rows["cf_s"]
    short = dataclasses.replace(epochs(row.settings, 9), decay_lr=0.5)
    outcome = row.model.fit(small_run(xor, None, tmp_path / "h"), short)
    assert (outcome.stopped, outcome.epochs) == ("spent", 7)
    assert outcome.train_settings["epochs"] == 7
    whole = row.model.fit(small_run(xor, None, tmp_path / "w"), dataclasses.replace(short, epochs=7))
    assert (whole.stopped, whole.epochs) == ("finished", 7)
    published = row.model.fit(small_run(xor, None, tmp_path / "p", protocol="published"), short)
    assert (published.stopped, published.epochs) == ("finished", 9)


def test_a_seed_goes_on_with_a_spent_rate_while_validation_rises(xor, tmp_path, monkeypatch):
    """It is judged better in every epoch, so it has all its epochs, and the same weights as without the rule."""
    row = xor.rows["cf_s"]
    given = dataclasses.replace(epochs(row.settings, 9), decay_lr=0.5)
    seen = []

    def judged(self, target, prediction):
        seen.append(1)
        return 0.5 + 0.02 * len(seen)

    monkeypatch.setattr(type(xor.task), "score", judged)
    outcome = row.model.fit(small_run(xor, None, tmp_path / "h"), given)
    assert (outcome.stopped, outcome.epochs, outcome.best_epoch) == ("finished", 9, 8)
    seen.clear()
    run = small_run(xor, None, tmp_path / "w")
    whole = row.model.fit(dataclasses.replace(run, task=dataclasses.replace(run.task, least_rate=None)), given)
    assert whole.epochs == 9
    assert np.array_equal(outcome.prediction, whole.prediction)


def test_patience_does_not_count_before_the_rate_is_spent(xor, tmp_path, monkeypatch):
    """A network may be at chance for dozens of epochs until its rate is small enough to learn with."""
    row = xor.rows["cf_s"]
    given = dataclasses.replace(epochs(row.settings, 9), decay_lr=0.5)
    monkeypatch.setattr(type(xor.task), "score", lambda self, target, prediction: 0.5)
    run = small_run(xor, None, tmp_path / "h")
    hasty = dataclasses.replace(run, task=dataclasses.replace(run.task, patience=2))
    outcome = row.model.fit(hasty, given)
    assert (outcome.stopped, outcome.epochs) == ("spent", 7)
    without = dataclasses.replace(hasty, task=dataclasses.replace(hasty.task, least_rate=None), folder=tmp_path / "w")
    outcome = row.model.fit(without, given)
    assert (outcome.stopped, outcome.epochs) == ("early", 3)


@pytest.mark.parametrize(
    ("epochs", "rate", "decay", "expected"),
    [
        (200, 0.005, 0.95, 90),
        (200, 0.05, 0.95, 135),
        (200, 0.005, 0.9, 44),
        (20, 0.005, 0.9, 20),
        (20, 1e-5, 0.9, 1),
        (20, 0.005, None, 20),
        (20, 0.005, 1.0, 20),
    ],
)
def test_the_worthwhile_epochs_come_down_to_the_least_rate(xor, epochs, rate, decay, expected):
    assert xor.task.worthwhile(epochs, rate, decay) == expected
    if 1 < expected < epochs:
        assert rate * decay**expected <= xor.task.least_rate < rate * decay ** (expected - 1)


def test_a_task_without_the_rule_keeps_its_epochs():
    assert EXPERIMENTS["physionet"].task.worthwhile(200, 0.005, 0.5) == 200


def test_honest_reports_the_best_epoch_and_published_the_last(xor, tmp_path):
    row = xor.rows["lstm"]
    fast = dataclasses.replace(epochs(row.settings, 6), base_lr=0.05)
    honest = row.model.fit(small_run(xor, None, tmp_path / "h"), fast)
    values = [record["val_accuracy"] for record in honest.history]
    assert honest.best_epoch == int(np.argmax(values))
    assert honest.best_metric == max(values)
    published = row.model.fit(small_run(xor, None, tmp_path / "p", protocol="published"), fast)
    assert published.best_epoch is None
    assert "val_accuracy" not in published.history[0]
    unheld = dataclasses.replace(small_run(xor, None, tmp_path / "x", protocol="published"), honest=True)
    with pytest.raises(ValueError, match="must have a validation part"):
        row.model.fit(unheld, fast)
    assert row.model.fit(dataclasses.replace(unheld, last_epoch=True), fast).best_epoch is None


def test_words_keep_their_interval_under_the_honest_protocol_and_have_the_reference_s_under_the_published(
    tmp_path_factory, tmp_path
):
    root = written(tmp_path_factory.getbasetemp() / "data")
    imdb = EXPERIMENTS["imdb"]
    row = imdb.rows["mm_rnn_all"]
    honest = small_run(imdb, root, tmp_path)
    for run in (honest, dataclasses.replace(honest, split=imdb.data("honest", root, 30, **row.options))):
        assert row.model.network(run, cheap(row.settings)).fixed_dt is None
    assert row.model.network(small_run(imdb, root, tmp_path, "published"), cheap(row.settings)).fixed_dt == 0.0


def test_a_run_that_diverges_is_told_as_such(xor, tmp_path):
    row = xor.rows["cf_s"]
    wild = dataclasses.replace(epochs(row.settings, 3), base_lr=1e30, clipnorm=0)
    outcome = row.model.fit(small_run(xor, None, tmp_path / "run"), wild)
    assert outcome.stopped == "diverged"
    assert np.isfinite(outcome.prediction).all()


def test_the_penalty_is_told(tmp_path_factory, tmp_path):
    root = written(tmp_path_factory.getbasetemp() / "data")
    walker = EXPERIMENTS["walker2d"]
    outcome = walker.rows["cfc"].model.fit(
        small_run(walker, root, tmp_path / "w", "published"), cheap(walker.rows["cfc"].settings)
    )
    assert outcome.figures["penalty"] > 0
