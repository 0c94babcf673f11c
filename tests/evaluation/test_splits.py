"""How series are parted: shares, groups, time, a set of their own, folds; and what the saved model has seen."""

import warnings

import numpy as np
import pytest

import liquidtime as lt
from estimators.small import TINY, series
from liquidtime.data import SeriesSet
from liquidtime.evaluation.grouped_ids import grouped_ids
from liquidtime.evaluation.hold_out import hold_out
from liquidtime.evaluation.split import SplitRequest, moment_of, split_series

SMALL = {name: value for name, value in TINY.items() if name != "random_state"} | {"epochs": 1}


@pytest.fixture(scope="module")
def problem():
    return series(40, empty=False)


def stamped(days):
    """Return one series per number, which starts so many days after the new year and lasts ten hours."""
    start = np.datetime64("2024-01-01T00:00", "ns")
    hours = np.arange(0, 12, 2).astype("timedelta64[h]")
    return SeriesSet.from_arrays(
        [(start + np.timedelta64(int(day), "D") + hours, np.full((6, 1), float(day))) for day in days],
        channels=["x"], time_unit="h",
    )  # fmt: skip


@pytest.mark.parametrize("classes", [True, False])
def test_groups_are_never_on_both_sides(classes):
    groups = np.repeat([f"engine {i}" for i in range(20)], 5)
    labels = np.arange(100) % 3 if classes else None
    train, test = hold_out(100, 0.2, 0, labels, groups)
    assert not set(groups[train]) & set(groups[test])
    assert len(train) + len(test) == 100
    assert 10 <= len(test) <= 30
    if classes:
        assert (np.bincount(labels[test], minlength=3) > 0).all()
    assert not np.array_equal(test, hold_out(100, 0.2, 1, labels, groups)[1])


def test_a_class_of_one_series_is_refused_by_name():
    with pytest.raises(ValueError, match=r"at least 2 series.*; 1 of 2 classes have only 1, the first is rare"):
        hold_out(10, 0.2, 0, np.array(["usual"] * 9 + ["rare"]))


def test_a_class_of_one_group_is_refused():
    with pytest.raises(ValueError, match="1 classes without a series to train on"):
        hold_out(4, 0.5, 0, [0, 0, 1, 1], ["a", "a", "b", "b"])


@pytest.mark.parametrize(
    ("ids", "grouped"),
    [
        ([f"unit{i}_cut{k}" for i in range(4) for k in range(5)], True),
        (["a-1", "a-2", "b-1", "b-2"], True),
        (["a/1", "a/2", "b/1", "c/1"], True),
        ([f"{i}.{k}" for i in range(5) for k in range(2)], True),
        (["bed 1 #1", "bed 1 #2", "bed 2 #1", "bed 2 #2"], True),
        ([f"patient-{i}" for i in range(9)], False),
        ([f"p{i}" for i in range(9)], False),
        (list(range(9)), False),
        ([f"2024-01-{day:02d}" for day in range(1, 29)] + [f"2024-02-{day:02d}" for day in range(1, 29)], False),
        (["a-1", "a-2", "b-1", "b-2", *(f"p{i}" for i in range(20))], False),
    ],
)
def test_ids_that_look_grouped(ids, grouped):
    assert bool(grouped_ids(np.array(ids))) is grouped


def test_grouped_ids_are_warned_of_unless_groups_are_given(problem):
    data, labels, _ = problem
    named = data.replace_unchecked(ids=np.array([f"unit{i // 5}_cut{i % 5}" for i in range(40)]))
    with pytest.warns(UserWarning, match=r"40 of 40 begin like another one, such as unit0_cut0, unit0_cut1"):
        split_series(named, SplitRequest(), 0, labels, in_time=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        split_series(named, SplitRequest(groups=np.arange(40) // 5), 0, None, in_time=False)
        split_series(data, SplitRequest(), 0, labels, in_time=False)


def test_a_test_by_time_learns_from_earlier_series_alone():
    data = stamped([5, 1, 9, 3, 7, 2])
    split = split_series(data, SplitRequest(after="2024-01-06T05:00"), 0, None, in_time=False)
    ((train, test),) = split.folds
    assert (train.tolist(), test.tolist()) == ([1, 3, 5], [0, 2, 4])  # the first lasts until after the moment
    assert np.argsort(split.order).tolist() == [1, 5, 3, 0, 4, 2]
    other = split_series(data, SplitRequest(after="2024-01-06T05:00", groups=list("abacbd")), 0, None, in_time=False)
    assert other.folds[0][0].tolist() == [3, 5]  # the group of series 1 is tested
    with pytest.raises(ValueError, match="0 end before 2023"):
        split_series(data, SplitRequest(after="2023-01-01"), 0, None, in_time=False)
    with pytest.raises(ValueError, match="1 classes without a series that ends before"):
        split_series(data, SplitRequest(after="2024-01-07"), 0, np.array([1, 0, 2, 0, 1, 0]), in_time=False)


def test_moments_are_told_as_times_are():
    data = stamped([1, 2])
    assert moment_of(data, "2024-01-02") == np.datetime64("2024-01-02")
    assert moment_of(data, "2024-01-02T01:00+01:00") == np.datetime64("2024-01-02")
    for wrong in ("soon", 5, "5"):
        with pytest.raises(ValueError, match="must be a time stamp such as"):
            moment_of(data, wrong)
    numbers = SeriesSet.from_arrays(np.zeros((3, 4, 1)))
    assert moment_of(numbers, "2.5") == 2.5
    with pytest.raises(ValueError, match="must be a number"):
        moment_of(numbers, "2024-01-02")


def test_forecasts_by_time_cut_series_at_the_moment():
    data = stamped([0, 1, 2, 3])
    split = split_series(data, SplitRequest(after="2024-01-03T04:00"), 0, None, in_time=True)
    ((train, test),) = split.folds
    assert split.cut
    assert split.data.lengths[train].tolist() == [6, 6, 2]
    assert split.data.lengths[test].tolist() == [6, 6]  # the first with its past
    assert split.data.ids[test].tolist() == ["2 test 1", "3 test 1"]
    with pytest.raises(ValueError, match="must leave samples to train on"):
        split_series(data, SplitRequest(after="2025-01-01"), 0, None, in_time=True)


def test_folds_test_every_series_once_and_keep_all_for_the_model(problem):
    data, labels, _ = problem
    groups = np.arange(40) // 4
    result = lt.train_and_test(data, labels, groups=groups, folds=3, **SMALL)
    assert result.predictions["id"].sort().to_list() == data.ids.tolist()
    assert len(result.comparison.target) == 40
    assert result.model.n_series_ == 40
    assert "3 folds, 10 groups kept together" in repr(result)
    assert "trained on all 40 series" in repr(result)
    right = (result.predictions["truth"] == result.predictions["prediction"]).mean()
    assert result.figures["CfC"]["accuracy"].value == pytest.approx(right)
    assert "<svg" in result.page()


def test_the_saved_model_is_trained_on_all_series_by_the_choices_before(problem, tmp_path):
    data, labels, _ = problem
    lines = []
    result = lt.train_and_test(data, labels, folder=tmp_path / "m", log=lines.append, **SMALL)
    assert result.model.n_series_ == 40
    assert any("all 40 series" in line for line in lines)
    again = lt.CfCClassifier(**SMALL, random_state=0).fit(data, labels)
    np.testing.assert_array_equal(lt.load(tmp_path / "m").predict_proba(data), again.predict_proba(data))
    kept = lt.train_and_test(data, labels, refit=False, **SMALL)
    assert kept.model.n_series_ == 32
    assert kept.figures["CfC"] == result.figures["CfC"]
    assert "all 40 series" in (tmp_path / "m" / "report.html").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m"]


def test_a_run_stopped_while_the_last_model_is_trained_resumes_to_the_same(problem, tmp_path):
    data, labels, _ = problem
    whole = lt.train_and_test(data, labels, **SMALL)

    def stop(*_, **__):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("liquidtime.estimators.faces.base.SeriesEstimator.refit", stop)
        with pytest.raises(KeyboardInterrupt):
            lt.train_and_test(data, labels, folder=tmp_path / "m", **SMALL)
    assert not (tmp_path / "m").exists()
    with pytest.raises(ValueError, match="an interrupted run with other data or settings"):
        lt.train_and_test(data, labels, folder=tmp_path / "m", resume=True, refit=False, **SMALL)
    lt.train_and_test(data, labels, folder=tmp_path / "m", resume=True, **SMALL)
    np.testing.assert_array_equal(lt.load(tmp_path / "m").predict_proba(data), whole.model.predict_proba(data))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m"]


def test_refit_keeps_what_a_search_chose():
    data, labels, _ = series(48, empty=False)
    tiny = {name: value for name, value in TINY.items() if name != "epochs"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("liquidtime.estimators.network.budget.LONGER", ())
        model = lt.CfCClassifier(**tiny).fit(data[:40], labels[:40])
    trials, temperature, choice = model.trials_, model.temperature_, model.choice_
    assert len(trials) == 2
    model.refit(data, labels)
    assert (model.trials_, model.temperature_, model.choice_) == (trials, temperature, choice)
    assert (model.n_series_, model.epochs, model.learning_rate) == (48, None, None)


def test_nothing_tested_is_legal_and_warned_of(problem, tmp_path):
    data, labels, _ = problem
    with pytest.warns(UserWarning, match="nothing is known about how good it is"):
        result = lt.train_and_test(data, labels, test_share=0, folder=tmp_path / "m", **SMALL)
    assert (result.figures, len(result.predictions), result.model.n_series_) == ({}, 0, 40)
    assert "40 series trained on, 0 tested on" in repr(result)
    assert lt.load(tmp_path / "m").predict(data).shape == (40,)
    assert not (tmp_path / "m" / "report.html").exists()
    with pytest.raises(ValueError, match="nothing was tested"):
        result.page()


def test_a_test_set_of_its_own(problem):
    data, labels, _ = problem
    train, test = np.arange(30), np.arange(30, 40)
    result = lt.train_and_test(data[train], labels[train], test=(data[test], labels[test]), **SMALL)
    assert result.predictions["id"].to_list() == data.ids[test].tolist()
    assert result.model.n_series_ == 40
    model = lt.CfCClassifier(**SMALL, random_state=0).fit(data[train], labels[train])
    np.testing.assert_allclose(result.predictions["probability_a"], model.predict_proba(data[test])[:, 0], atol=1e-6)
    with pytest.raises(ValueError, match=r"10 ids occur in both, the first is 30"):
        lt.train_and_test(data, labels, test=(data[test], labels[test]), **SMALL)
    with pytest.raises(ValueError, match="must be the series and their targets"):
        lt.train_and_test(data[train], labels[train], test=data[test], **SMALL)


def test_what_is_refused(problem):
    data, labels, _ = problem
    for more, text in [
        ({"folds": 3, "test_after": 5}, "`test_after` and `folds` are different ways to test"),
        ({"folds": 3, "refit": False}, "leave out refit=False"),
        ({"folds": 1}, "`folds` must be"),
        ({"folds": 11, "groups": np.arange(40) // 4}, "11 folds for 10 groups"),
        ({"groups": [1, 2]}, r"`groups` must have one entry per series, \(40,\)"),
        ({"groups": [None] + ["a"] * 20 + ["b"] * 19}, "1 are not, the first at position 0"),
        ({"sample_weight": -np.ones(40)}, "at least 0 for every series; 40 of 40"),
        ({"sample_weight": np.zeros(40)}, "at least one non-zero"),
    ]:
        with pytest.raises(ValueError, match=text):
            lt.train_and_test(data, labels, **more, **SMALL)
    with pytest.raises(ValueError, match="`folds` are not for the task 'forecast'"):
        lt.train_and_test(data, folds=3, **SMALL)
    with pytest.raises(ValueError, match="`sample_weight` is not for the task 'forecast'"):
        lt.train_and_test(data, sample_weight=np.ones(40), **SMALL)


def test_choices_inside_the_training_part_keep_groups_and_time_apart(problem, monkeypatch):
    """What reaches the folds of networks and of stacks."""
    from estimators.stacking.quick import small_parts
    from liquidtime.estimators.stacking import base

    data, labels, _ = problem
    calls = []
    make = base.make_folds
    monkeypatch.setattr(base, "make_folds", lambda *args: calls.append(args[-2:]) or make(*args))
    groups = np.arange(40) // 4
    with small_parts():
        found = lt.train_and_test(data, labels, groups=groups, n_networks=1, refit=False)
        rows = found.parts["training"]
        assert calls
        assert all(len(np.unique(given)) == len(np.unique(groups[rows])) and when is None for given, when in calls)
        calls.clear()
        ends = np.array([one.times[-1] for one in data])
        lt.train_and_test(data, labels, test_after=float(np.sort(ends)[30]), n_networks=1, refit=False)
        assert calls
        assert all(given is None and len(when) == 30 for given, when in calls)


def test_the_latest_series_are_tested_on_and_those_of_one_time_stay_together(problem):
    data, labels, _ = problem
    month = np.array([f"2024-{1 + i % 8:02d}" for i in range(40)])  # five series of each of eight months
    split = split_series(data, SplitRequest(0.2, order=month), 0, labels, False)
    ((train, test),) = split.folds
    assert set(month[test]) == {"2024-07", "2024-08"}  # ten of forty are as near to a fifth as five are
    assert max(month[train].tolist()) < min(month[test].tolist())
    assert len(train) + len(test) == 40
    assert "the latest ones" in split.words
    assert np.array_equal(np.argsort(split.order, kind="stable"), np.argsort(month, kind="stable"))


def test_choices_inside_the_training_part_go_by_the_order(problem, monkeypatch):
    data, labels, _ = problem
    seen = []

    class Noting(lt.CfCClassifier):
        def fit(self, X, y, sample_weight=None, *, order=None, **rest):
            seen.append((len(X), order))
            return super().fit(X, y, sample_weight, order=order, **rest)

    lt.train_and_test(data, labels, estimator=Noting(**SMALL), order=np.arange(40)[::-1], refit=False)
    ((count, order),) = seen
    assert count == 32
    assert sorted(order) == list(range(32))  # the latest eight are tested on


def test_earlier_series_of_a_group_that_is_tested_on_are_left_out(problem):
    data, _, _ = problem
    groups = np.array(["early"] * 30 + ["long"] * 10)
    order = np.array([*range(10, 40), 0, 1, *range(40, 48)])  # two series of the late group were taken first
    split = split_series(data, SplitRequest(0.2, groups, order=order), 0, None, False)
    ((train, test),) = split.folds
    assert (set(groups[train]), set(groups[test])) == ({"early"}, {"long"})
    assert (len(train), len(test)) == (30, 8)
    assert "; 2 earlier ones from the same groups are left out" in split.words


def test_orders_that_are_refused(problem):
    data, labels, _ = problem
    for share in (1.0, -0.1):
        with pytest.raises(ValueError, match="between 0 and 1"):
            split_series(data, SplitRequest(share, order=np.arange(40)), 0, None, False)
    for order, text in (
        (np.zeros(40), "at least two different times"),
        (np.arange(39), r"one entry per series, \(40,\)"),
        ([None, *range(39)], "a value for every series; 1 are not"),
        ([1, "b"] * 20, "all numbers, all time stamps"),
    ):
        with pytest.raises(ValueError, match=text):
            split_series(data, SplitRequest(0.2, order=np.array(order, dtype=object)), 0, None, False)
    with pytest.raises(ValueError, match="`order` and `folds`"):
        lt.train_and_test(data, labels, order=np.arange(40), folds=3)
    with pytest.raises(ValueError, match="`order` and `test_after`"):
        lt.train_and_test(data, labels, order=np.arange(40), test_after=3.0)


def test_a_test_set_of_its_own_comes_last(problem):
    data, labels, _ = problem
    split = split_series(
        data, SplitRequest(order=np.arange(40), test=np.arange(40) >= 30), 0, labels, False
    )  # fmt: skip
    assert split.order is not None
    result = lt.train_and_test(
        data[:30], labels[:30], order=np.arange(30), test=(data[30:], labels[30:]), refit=False, **SMALL
    )
    assert len(result.predictions) == 10
