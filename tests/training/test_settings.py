from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

import liquidtime.training
from liquidtime.training import TrainSettings


def test_an_unknown_key_names_the_nearest():
    with pytest.raises(
        TypeError, match="`learning_rat` is not an argument of TrainSettings; did you mean `learning_rate`"
    ):
        TrainSettings(learning_rat=0.1)
    with pytest.raises(TypeError, match="did you mean `epochs`"):
        TrainSettings.from_dict({"epoch": 3})


def test_settings_are_frozen_and_survive_json():
    settings = TrainSettings(epochs=3, l2_penalty=0.1, l2_parameters=("*.weight",), schedule="cosine")
    assert TrainSettings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.epochs = 4


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"optimizer": "adm"}, "`optimizer` must be one of .* did you mean `adam`"),
        ({"schedule": "cosin"}, "did you mean `cosine`"),
        ({"epochs": 0}, "`epochs` must be at least 1; got 0"),
        ({"learning_rate": 0.0}, "`learning_rate` must be more than 0"),
        ({"learning_rate": float("nan")}, "`learning_rate` must be more than 0"),
        ({"clip_norm": float("inf")}, "`clip_norm` must be at least 0 and finite; got inf"),
        ({"momentum": 0.9}, "`momentum` = 0.9 would have no effect; it needs optimizer='sgd'"),
        ({"smoothing": 0.9}, "`smoothing` = 0.9 would have no effect; it needs optimizer='rmsprop'"),
        ({"optimizer": "rmsprop", "smoothing": 1.0}, "`smoothing` must be at least 0 and less than 1"),
        ({"optimizer": "sgd", "epsilon": 1e-7}, "`epsilon` = 1e-07 would have no effect; it needs optimizer='adam',"),
        ({"epsilon": 0.0}, "`epsilon` must be more than 0"),
        ({"decay": 0.9}, "`decay` = 0.9 would have no effect; it needs schedule='exponential'"),
        ({"l2_parameters": ("a",)}, "`l2_parameters` = .* would have no effect; it needs l2_penalty above 0"),
        ({"clip": "each"}, "`clip` = 'each' would have no effect; it needs clip_norm above 0"),
        ({"l2_penalty": 0.1}, "`l2_penalty` needs `l2_parameters`"),
        ({"monitor": "sharpe"}, "`monitor` = 'sharpe' is not one of loss, auc,"),
    ],
)
def test_values_that_are_refused(given, text):
    with pytest.raises(ValueError, match=text):
        TrainSettings(**given)


@pytest.mark.parametrize(
    "given", [{"epochs": 2.5}, {"epochs": True}, {"clip_norm": "1"}, {"l2_parameters": "a", "l2_penalty": 1}]
)
def test_types_that_are_refused(given):
    with pytest.raises(TypeError, match=f"`{next(iter(given))}` must be"):
        TrainSettings(**given)


def test_every_field_is_documented_and_read():
    folder = Path(liquidtime.training.__file__).parent
    readers = "".join(path.read_text() for path in folder.glob("*.py") if path.name != "settings.py")
    own = (folder / "settings.py").read_text()
    for name, _, text in TrainSettings.table():
        assert len(text) > 10
        read_here = len(re.findall(rf"self\.{name}\b", own)) > 1 and name in ("monitor", "direction")
        assert read_here or f"settings.{name}" in readers, name


def test_a_field_younger_than_a_stored_run_counts_as_its_default():
    stored = TrainSettings(optimizer="rmsprop").to_dict()
    del stored["smoothing"]
    assert TrainSettings(optimizer="rmsprop").changes(stored) == []
    assert TrainSettings(optimizer="rmsprop", smoothing=0.9).changes(stored) == ["smoothing"]
