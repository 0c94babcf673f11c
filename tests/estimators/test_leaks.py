"""Nothing is learned from series that are held back, nor from samples that are to be forecast."""

from dataclasses import replace

import numpy as np
import pytest

import liquidtime as lt
from estimators.small import TINY, series
from liquidtime.estimators.network.members import held_back

HELD = TINY | {"epochs": 3, "validation_fraction": 0.25, "n_estimators": 2, "learning_rate": 0.01}
_DATA, _LABELS, _LEVEL = series(24, empty=False)
_STEPS = np.nan_to_num(_DATA.values[:, 0]).cumsum()
FACES = {
    "classes": (lt.CfCClassifier, _LABELS, {"auxiliary": _LEVEL}),
    "values": (lt.CfCRegressor, _LEVEL, {"auxiliary": _LEVEL**2}),
    "values per step": (lambda **settings: lt.CfCRegressor(per_step=True, **settings), _STEPS, {}),
    "forecasts": (lt.CfCForecaster, None, {}),
}


def _poisoned(data, target, face, rows):
    """The set with the samples, static features and targets of some series far away from what they were."""
    own = np.repeat(np.isin(np.arange(len(data)), rows), data.lengths)
    values = np.where(own[:, None], 1e4 + 1e3 * data.values, data.values).astype(np.float32)
    static = data.static.copy()
    static[rows, 0] += 1e4
    if face != "classes" and target is not None:  # other classes would be cut otherwise
        hit = own if face == "values per step" else np.isin(np.arange(len(data)), rows)
        target = np.where(hit, 1e4 - 7 * target, target)
    return replace(data, values=values, static=static), target


@pytest.mark.parametrize("face", FACES)
def test_series_held_back_choose_the_epoch_and_nothing_else(face):
    make, target, auxiliary = FACES[face]
    strata = {"classes": np.unique(_LABELS, return_inverse=True)[1], "forecasts": (_DATA.lengths >= 2).astype(int)}
    model = make(**HELD)
    fit = (_DATA,) if target is None else (_DATA, target)
    model.fit(*fit, **auxiliary)
    train, held = held_back(len(_DATA), 0.25, strata.get(face), model.seed_)
    data, changed = _poisoned(_DATA, target, face, held)
    if auxiliary:
        auxiliary = {"auxiliary": np.where(np.isin(np.arange(24), held), 1e6, auxiliary["auxiliary"])}
    other = make(**HELD).fit(*((data,) if target is None else (data, changed)), **auxiliary)
    for mine, its in zip(model.results_, other.results_, strict=True):
        assert [row["loss"] for row in mine.history] == [row["loss"] for row in its.history]
        assert [row["val_loss"] for row in mine.history] != [row["val_loss"] for row in its.history]
    assert model.encoder_.to_dict()["config"] == other.encoder_.to_dict()["config"]
    own = [fit[0][held]] if target is None else [fit[0][held], target[_rows(held, face)]]
    apart = make(**HELD | {"validation_fraction": 0.0})
    part = [_DATA[train]] if target is None else [_DATA[train], target[_rows(train, face)]]
    beside = {name: values[train] for name, values in FACES[face][2].items()}
    apart.fit(*part, validation=own[0] if target is None else tuple(own), **beside)
    for mine, its in zip(model.results_, apart.results_, strict=True):
        assert _without_clock(mine) == _without_clock(its)
        assert mine.best_epoch == its.best_epoch == int(np.argmin([row["val_loss"] for row in mine.history]))


def _without_clock(result):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in result.history]


def _rows(rows, face):
    return np.flatnonzero(np.repeat(np.isin(np.arange(24), rows), _DATA.lengths)) if face == "values per step" else rows
