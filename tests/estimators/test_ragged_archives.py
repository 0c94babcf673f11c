"""Ragged series that ship inside the wheel of aeon; only its files are read."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import liquidtime as lt
from estimators.ts_file import read_ts

SPEC = importlib.util.find_spec("aeon")
pytestmark = pytest.mark.skipif(SPEC is None, reason="aeon is not installed (pip install --no-deps aeon==1.6.0)")


def archive(name):
    folder = Path(SPEC.origin).parent / "datasets" / "data" / name
    return [read_ts(folder / f"{name}_{part}.ts") for part in ("TRAIN", "TEST")]


@pytest.mark.slow
def test_nine_speakers_are_told_apart_by_their_vowels():
    (train, y), (test, y_test) = archive("JapaneseVowels")
    assert (len(train), len(test), train.channels) == (270, 370, tuple(str(k) for k in range(12)))
    assert (train.lengths.min(), train.lengths.max(), test.lengths.max()) == (7, 26, 29)
    model = lt.CfCClassifier(random_state=0, budget="quick").fit(train, y)
    assert model.score(test, y_test) > 0.9


@pytest.mark.slow
def test_ten_gestures_of_one_channel_are_far_from_chance():
    (train, y), (test, y_test) = archive("PickupGestureWiimoteZ")
    assert len(np.unique(train.lengths)) > 10
    binned = lt.CfCClassifier(random_state=0, bin_width=8.0, learning_rate=3e-3).fit(train, y)
    assert binned.score(test, y_test) > 0.3
