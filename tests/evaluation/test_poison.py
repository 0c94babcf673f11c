"""One guard for every task, form of model and split: whatever a test part holds, what was trained is the same, in bits.

Each case is run twice, with the test part as it is and with far other values (and other targets, where the split does
not read them) in the last half of its series. The folders of the two models, and what models and rivals say of the
first half, must be equal.
"""

import json
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest

import liquidtime as lt
from estimators.small import TINY
from estimators.stacking.quick import small_parts
from estimators.stacking.small_forecasts import small_forecasts
from liquidtime.tasks import TASKS

S, T = 40, 10
QUICK = {name: value for name, value in TINY.items() if name != "random_state"} | {"epochs": 2}
HELD = QUICK | {"validation_fraction": 0.25}
RNG = np.random.default_rng(0)
TIMES = np.sort(RNG.choice(200, (S, T)), axis=1) / 5.0 + np.arange(T) * 0.01
VALUES = RNG.normal(size=(S, T, 2)).cumsum(axis=1)
LEVEL = VALUES[:, -1, 0]
TARGETS = {
    "classify": np.where(np.arange(S) % 2, "rising", "calm"),
    "regress": LEVEL,
    "classify-samples": (VALUES[:, :, 0] > 0).astype(int).ravel(),
    "multi-label": np.stack([LEVEL > 0, np.arange(S) % 2], axis=1).astype(float),
    "forecast": None,
    "impute": None,
}
GROUPS, ORDER = np.arange(S) // 2, np.arange(S)[::-1].copy()
SPLITS = {
    "share": {"test_share": 0.3},
    "groups": {"test_share": 0.3, "groups": GROUPS},
    "order and groups": {"test_share": 0.3, "order": ORDER, "groups": GROUPS},
    "a set of its own": {},
}
CASES = [
    *[(task, "network", split) for task in TARGETS for split in ("order and groups", "a set of its own")],
    *[(task, "stack", split) for task in TARGETS if TASKS[task].stacked for split in ("groups", "a set of its own")],
    *[(task, "stack", "order and groups") for task in ("regress", "forecast")],
    ("classify", "network", "share"),
]


@contextmanager
def small_stacks():
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        stack.enter_context(small_parts())
        stack.enter_context(small_forecasts())
        patch.setattr(
            lt.StackedStepClassifier,
            "_networks",
            lambda self, seed: lt.CfCClassifier(**TINY, per_step=True),
        )
        yield


def a_set(values):
    return lt.SeriesSet.from_arrays(list(zip(TIMES, values, strict=True)), ids=[f"s{i:02}" for i in range(S)])


def poisoned(task, rows, targets_too):
    """Values and targets in which some series are far from what they were."""
    values, target = VALUES.copy(), TARGETS[task]
    values[rows] = 1e5 - 1e3 * values[rows]
    if target is None or not targets_too:
        return a_set(values), target
    target = target.copy()
    if task == "classify-samples":
        target.reshape(S, T)[rows] = 1
    else:
        target[rows] = {"regress": 1e6, "multi-label": 1.0, "classify": "calm"}[task]
    return a_set(values), target


def part(data, target, rows):
    some = () if target is None else (target.reshape(S, T)[rows].ravel() if len(target) == S * T else target[rows],)
    return (data[rows], *some)


def ran(data, target, task, form, split):
    settings = {"n_networks": 1} if form == "stack" else QUICK if task == "impute" else HELD
    settings = settings | {"task": task, "refit": False, "seed": 3}
    if form == "stack" and task == "forecast":
        settings.pop("n_networks")
    with small_stacks():
        if split != "a set of its own":
            return lt.train_and_test(data, target, **settings, **SPLITS[split])
        train, test = np.arange(S - 12), np.arange(S - 12, S)
        held = part(data, target, test)
        return lt.train_and_test(*part(data, target, train), test=held if len(held) > 1 else held[0], **settings)


def files(result, folder):
    """The model's folder without what its clock and the report of the test say."""
    result.model.save(folder)
    found = {}
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        found[str(file.relative_to(folder))] = (
            clockless(json.loads(file.read_text())) if file.suffix == ".json" else file.read_bytes()
        )
    return found


def clockless(item):
    if isinstance(item, dict):
        return {key: clockless(value) for key, value in item.items() if key not in ("seconds", "created", "sha256")}
    return [clockless(one) for one in item] if isinstance(item, list) else item


@pytest.mark.parametrize(("task", "form", "split"), CASES)
def test_nothing_is_learned_chosen_or_compared_by_a_poisoned_test_part(task, form, split, tmp_path):
    clean = ran(*poisoned(task, [], True), task, form, split)
    own = split == "a set of its own"
    test = np.arange(S - 12, S) if own else clean.parts["test"]
    assert 8 <= len(test) <= 16
    other = ran(*poisoned(task, test[len(test) // 2 :], own or task == "regress"), task, form, split)
    if not own:
        np.testing.assert_array_equal(other.parts["test"], test)
    one, its = files(clean, tmp_path / "one"), files(other, tmp_path / "other")
    assert list(one) == list(its)
    for name in one:
        assert one[name] == its[name], name
    said, again = clean.comparison.predictions, other.comparison.predictions
    assert list(said) == list(again)
    assert len(said) >= 2
    for model in said:
        mine, others = np.asarray(said[model]), np.asarray(again[model])
        first = len(mine) * (len(test) // 2) // len(test)
        np.testing.assert_array_equal(mine[:first], others[:first], err_msg=model)
        assert first > 0
    assert any(not np.array_equal(said[model], again[model]) for model in said)  # the poison arrived


@pytest.mark.parametrize(
    ("task", "split"), [("forecast", {"test_share": 0.25}), ("forecast", {"test_after": 90.0}), ("impute", {})]
)
def test_one_long_series_teaches_nothing_after_the_moment_of_its_split(task, split, tmp_path):
    values = np.sin(np.arange(120.0) / 3)[:, None] + 0.1 * RNG.normal(size=(120, 1))
    far = np.where(np.arange(120)[:, None] >= (90 if split else 96), 1e5, values)
    found = []
    for name, one in (("one", values), ("other", far)):
        data = lt.SeriesSet.from_arrays([(np.arange(120.0), one)])
        found.append(files(lt.train_and_test(data, task=task, refit=False, seed=3, **split, **QUICK), tmp_path / name))
    assert found[0] == found[1]
