"""What a search declares: its first trial is the row itself, its draws depend on nothing but trial and field."""

import dataclasses

import pytest

from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.experiments.search import Family, Search

START = EXPERIMENTS["walker2d"].rows["lstm"].settings
SEARCH = Search(
    rows=("a", "b"),
    trials=4,
    space={"base_lr": (0.1, 0.2, 0.3, 0.4), "batch_size": (1, 2, 3)},
    fixed={"epochs": 7},
    families=(Family(("b",), {"base_lr": (1.0,), "backbone_layers": (5, 6)}, {"epochs": 9}),),
)
SEARCHED = [(name, row) for name, one in EXPERIMENTS.items() if one.search for row in one.search.rows]


def test_the_first_trial_is_the_row_for_as_many_epochs():
    assert SEARCH.settings("a", START, 0) == dataclasses.replace(START, epochs=7)
    assert dataclasses.replace(SEARCH, fixed={}).settings("a", START, 0) == START


def test_a_note_says_how_short_trials_are():
    assert SEARCH.note() == "best of 4 trials by validation data, the same number for every model searched"
    short = dataclasses.replace(SEARCH, epochs=3, sequences=1200)
    assert short.note().startswith("best of 4 trials of 3 epochs on 1,200 training sequences by validation data")


def test_trials_differ_and_are_the_same_again():
    drawn = [SEARCH.settings("a", START, number) for number in range(200)]
    assert drawn == [SEARCH.settings("a", START, number) for number in range(200)]
    assert {(one.base_lr, one.batch_size) for one in drawn[1:]} == {
        (rate, size) for rate in (0.1, 0.2, 0.3, 0.4) for size in (1, 2, 3)
    }
    kept = {"epochs": START.epochs, "base_lr": START.base_lr, "batch_size": START.batch_size}
    assert all(dataclasses.replace(one, **kept) == START for one in drawn)
    assert {one.epochs for one in drawn[1:]} == {7}


def test_a_family_has_its_own_and_shares_the_other_draws():
    for number in range(1, 10):
        ours, theirs = SEARCH.settings("a", START, number), SEARCH.settings("b", START, number)
        assert (theirs.base_lr, theirs.epochs) == (1.0, 9)
        assert theirs.backbone_layers in (5, 6)
        assert theirs.batch_size == ours.batch_size


@pytest.mark.parametrize(("name", "row"), SEARCHED)
def test_declared_searches(name, row):
    """Every space has fields that there are, and no searched model keeps files that other rows read."""
    experiment = EXPERIMENTS[name]
    start = experiment.rows[row].settings
    assert not getattr(experiment.rows[row].model, "kept", False)
    for number in range(experiment.search.trials):
        experiment.search.settings(row, start, number)
    found = experiment.rows[f"{row}_searched"]
    assert (found.model, found.search, found.settings) == (experiment.rows[row].model, row, None)
    assert found.title.endswith("(searched)")
    assert found.options == experiment.rows[row].options
