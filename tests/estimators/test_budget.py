"""How long and how fast networks are trained is chosen on held-out series, and everything follows from the seed."""

import math

import numpy as np
import pytest
import torch

import liquidtime as lt
from estimators.small import TINY, series
from liquidtime.estimators.faces import base, fitting
from liquidtime.estimators.network.budget import Choice, Trial, best_of, blocks_of, search, weighed
from liquidtime.estimators.network.members import held_back
from liquidtime.estimators.network.network import channel_dropout_of
from liquidtime.training import TrainingDiverged, TrainingInterrupted

SEARCHED = {name: value for name, value in TINY.items() if name != "epochs"}


@pytest.fixture
def shorter(monkeypatch):
    """Cycles of 1, 2 and 3 epochs, of which the search is made as of those of 6, 30 and 100."""
    monkeypatch.setattr("liquidtime.estimators.network.budget.LONGER", (2, 3))
    monkeypatch.setattr(fitting, "quick_epochs", lambda S, batch_size: 1)


def tried(losses, quick=9, samples=10_000, members=1, front_ends=(None,)):
    """Return the trials of a search whose n-th has the n-th of some losses."""

    def attempts(first, choices):
        return [Trial(choice, losses[number]) for number, choice in enumerate(choices, first)]

    return search(quick, samples, members, front_ends, (None,), attempts)


@pytest.mark.parametrize(
    ("losses", "count"), [([3, 2, 1, 1.5, 0.5], 5), ([3, 2, 2, 2.5, 0], 4), ([1, 2, 3, 4, 0], 4), ([math.inf] * 5, 4)]
)
def test_a_level_that_does_not_help_is_the_last(losses, count):
    trials = tried(losses)
    assert [trial.loss for trial in trials] == losses[:count]
    pairs = [(trial.choice.epochs, trial.choice.learning_rate) for trial in trials]
    assert pairs[:4] == [(9, 1e-3), (9, 3e-3), (30, 1e-3), (30, 3e-3)]
    assert pairs[4:] in ([], [(100, 1e-3)])


def test_front_ends_join_at_the_second_level_and_the_best_goes_on():
    trials = tried([5, 4, 3, 3, 1, 2, 0.5], front_ends=(None, "convolution", "convolution-own"))
    assert [trial.choice.front_end for trial in trials] == [
        *[None] * 4, "convolution", "convolution-own", "convolution"
    ]  # fmt: skip
    assert trials[-1].choice == Choice(100, 3e-3, "convolution")
    assert {trial.choice.front_end for trial in tried([5, 4, 3, 2, 1], front_ends=("convolution",))} == {"convolution"}


def test_what_costs_too_much_is_left_out():
    falling = list(range(20, 0, -1))
    assert {trial.choice.epochs for trial in tried(falling, 6, 40_000)} == {6, 30, 100}
    assert {trial.choice.epochs for trial in tried(falling, 6, 40_000, members=10)} == {6}  # as much as so many trials
    assert {trial.choice.epochs for trial in tried(falling, 50)} == {50, 100}
    assert weighed(40_000, 200) == 3 * 40_000
    large = tried(falling, 6, 200_000, front_ends=(None, "convolution"))
    assert [(trial.choice.epochs, trial.choice.front_end) for trial in large] == [
        (6, None), (6, None), (30, "convolution"), (100, "convolution")
    ]  # fmt: skip


def test_the_best_trial_is_trained_on_all_series_and_repeats_by_its_seed(shorter):
    data, labels, level = series()
    for kind, y in ((lt.CfCClassifier, labels), (lt.CfCRegressor, level)):
        model, again = (kind(**SEARCHED).fit(data, y) for _ in range(2))
        quick = Choice(1, kind._learning_rate)
        assert model.choice_ == best_of(model.trials_, quick).choice
        assert quick in [trial.choice for trial in model.trials_]
        for trial in model.trials_:
            assert len(trial.by_block) > 6
            assert np.mean(trial.by_block) == pytest.approx(trial.loss, rel=0.1)
        assert model.trials_ == again.trials_
        assert 2 < len(model.trials_) <= 6
        plain = kind(**SEARCHED, epochs=model.choice_.epochs, learning_rate=model.choice_.learning_rate).fit(data, y)
        for one, other, third in zip(*(m.networks_[0].parameters() for m in (model, again, plain)), strict=True):
            assert torch.equal(one, other)
            assert torch.equal(one, third)


def test_the_quick_budget_gives_way_only_to_what_is_clearly_better():
    rng = np.random.default_rng(0)
    quick, longer = Choice(6, 1e-3), Choice(30, 3e-3)

    def chosen(gain, blocks=40, known=True):
        plain = 1.0 + 0.3 * rng.normal(size=blocks)
        better = plain - gain + 0.2 * rng.normal(size=blocks)  # a standard error of 0.2 / sqrt(40), 0.032
        losses = (tuple(each.tolist()) if known else () for each in (plain, better))
        trials = [
            Trial(choice, each, by_block=own)
            for choice, each, own in zip((quick, longer), (1.0, 1.0 - gain), losses, strict=True)
        ]
        return best_of(trials, quick).choice

    assert [chosen(gain) for gain in (-0.1, 0.0, 0.015, 0.06, 0.2)] == [quick, quick, quick, longer, longer]
    assert chosen(0.015, known=False) == chosen(0.015, blocks=5) == longer  # nothing tells what is chance
    assert best_of([], quick) is None
    diverged = Trial(quick, math.inf, by_block=())
    assert best_of([diverged, Trial(longer, 1.0, by_block=(1.0,) * 9)], quick).choice == longer


def test_blocks_hold_every_series_once_and_keep_groups_whole():
    held, groups = np.arange(3, 300, 2), np.arange(300) // 7
    for own in (None, groups):
        blocks = blocks_of(held, own)
        assert np.array_equal(np.sort(np.concatenate(blocks)), held)
        assert len(blocks) == 40
    names = [set(groups[block].tolist()) for block in blocks_of(held, groups)]
    assert sum(map(len, names)) == len(set.union(*names))
    assert [len(block) for block in blocks_of(held[:3], None)] == [1, 1, 1]


def test_nothing_is_searched_where_the_caller_chose(shorter):
    data, labels, _ = series()
    for settings in ({"budget": "quick"}, {"epochs": 1}, {"learning_rate": 1e-3}, {"validation_fraction": 0.2}):
        model = lt.CfCClassifier(**SEARCHED | settings).fit(data, labels)
        assert model.trials_ == []
        assert model.temperature_ == 1.0
        assert model.choice_ == Choice(1, 1e-3)
    assert lt.CfCClassifier(**SEARCHED).fit(data, labels, validation=(data, labels)).trials_ == []
    few = lt.CfCClassifier(**SEARCHED).fit(data[:23], labels[:23])
    assert few.trials_ == []
    with pytest.raises(ValueError, match="`budget`"):
        lt.CfCClassifier(**SEARCHED, budget="long").fit(data, labels)


def test_a_trial_that_diverges_is_not_chosen(shorter, monkeypatch):
    data, labels, _ = series()
    real = fitting.train_member

    def sometimes(make, part, rows, judged, loss_of, settings, batch_size, **run):
        if len(rows) < len(data) and settings.learning_rate == 1e-3:
            raise TrainingDiverged("the loss is nan", 0, 0, [], None)
        return real(make, part, rows, judged, loss_of, settings, batch_size, **run)

    monkeypatch.setattr(fitting, "train_member", sometimes)
    model = lt.CfCClassifier(**SEARCHED).fit(data, labels)
    assert {trial.choice.learning_rate for trial in model.trials_ if trial.loss == math.inf} == {1e-3}
    assert model.choice_.learning_rate == 3e-3


def test_a_run_stopped_anywhere_in_the_search_resumes_to_the_same_bits(shorter, tmp_path, monkeypatch):
    data, labels, _ = series()
    whole = lt.CfCClassifier(**SEARCHED, n_estimators=2).fit(data, labels)
    real, left = fitting.train_member, [3]

    def stopping(*args, **run):
        if left[0] == 0:
            raise TrainingInterrupted(15, 0, tmp_path, True)
        left[0] -= 1
        return real(*args, **run)

    monkeypatch.setattr(fitting, "train_member", stopping)
    with pytest.raises(TrainingInterrupted):
        lt.CfCClassifier(**SEARCHED, n_estimators=2).fit(data, labels, folder=tmp_path / "run")
    assert (tmp_path / "run" / "trial-2").is_dir()
    monkeypatch.setattr(fitting, "train_member", real)
    again = lt.CfCClassifier(**SEARCHED, n_estimators=2).fit(data, labels, folder=tmp_path / "run", resume=True)
    assert again.trials_ == whole.trials_
    assert np.array_equal(again.predict_proba(data), whole.predict_proba(data))


def test_groups_are_held_out_whole(shorter, monkeypatch):
    data, labels, level = series()
    groups = np.array([f"patient {i // 3}" for i in range(len(data))], dtype=object)
    cuts = []

    def watched(*args):
        cuts.append(held_back(*args))
        return cuts[-1]

    monkeypatch.setattr(fitting, "held_back", watched)
    monkeypatch.setattr(base, "held_back", watched)
    lt.CfCClassifier(**SEARCHED).fit(data, labels, groups=groups)
    lt.CfCRegressor(**SEARCHED, validation_fraction=0.2).fit(data, level, groups=groups)
    held_out = [cut for cut in cuts if len(cut[1])]
    assert len(held_out) == 2
    for rows, held in held_out:
        assert not set(groups[rows]) & set(groups[held])
    with pytest.raises(ValueError, match="`groups`"):
        lt.CfCClassifier(**SEARCHED).fit(data, labels, groups=groups[1:])


def test_later_series_judge_a_budget_where_an_order_is_given(shorter, monkeypatch):
    data, labels, _ = series()
    year = np.random.default_rng(0).integers(2000, 2020, len(data))
    cuts = []

    def watched(*args):
        cuts.append(held_back(*args))
        return cuts[-1]

    monkeypatch.setattr(fitting, "held_back", watched)
    lt.CfCClassifier(**SEARCHED).fit(data, labels, order=year)
    ((rows, held),) = cuts
    assert year[rows].max() < year[held].min()
    assert len(rows) + len(held) == len(data)
    owners = np.arange(len(data)) // 3
    rows, held = held_back(len(data), 0.25, None, 0, owners, year)
    assert year[rows].max() < year[held].min()
    assert not set(owners[rows]) & set(owners[held])


def test_channel_dropout_grows_with_the_channels():
    assert [round(channel_dropout_of(C), 3) for C in (1, 3, 4, 16, 40)] == [0.0, 0.0, 0.023, 0.3, 0.3]
    data, labels, _ = series()
    assert lt.CfCClassifier(**TINY).fit(data, labels).networks_[0].channel_dropout == 0.0
    assert lt.CfCClassifier(**TINY, channel_dropout=0.3).fit(data, labels).networks_[0].channel_dropout == 0.3
    X = np.random.default_rng(0).normal(size=(30, 20, 20))
    assert lt.CfCRegressor(**TINY).fit(X, X[:, 0, 0]).networks_[0].channel_dropout == 0.3
