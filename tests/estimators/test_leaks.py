"""Nothing is learned from series that are held back, nor from samples that are to be forecast."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import liquidtime as lt
from estimators.small import TINY, series
from liquidtime.data import SeriesEncoder
from liquidtime.estimators.faces import base, forecaster, imputer
from liquidtime.estimators.forecast.carried import CarriedForecast
from liquidtime.estimators.forecast.lesson import Draw
from liquidtime.estimators.network.inputs import SeriesBatches
from liquidtime.estimators.network.members import held_back

HELD = TINY | {"epochs": 3, "validation_fraction": 0.25, "n_estimators": 2, "learning_rate": 0.01}
_DATA, _LABELS, _LEVEL = series(24, empty=False)
_STEPS = np.nan_to_num(_DATA.values[:, 0]).cumsum()
FACES = {
    "classes": (lt.CfCClassifier, _LABELS, {"auxiliary": _LEVEL}),
    "values": (lt.CfCRegressor, _LEVEL, {"auxiliary": _LEVEL**2}),
    "values per step": (lambda **settings: lt.CfCRegressor(per_step=True, **settings), _STEPS, {}),
    "forecasts": (lt.CfCForecaster, None, {}),
    "labels": (lt.CfCMultiLabelClassifier, np.stack([_LEVEL > 0, _LEVEL > 1], axis=1).astype(int), {}),
    "convolutions, balanced": (
        lambda **settings: lt.CfCClassifier(front_end="convolution", class_weight="balanced", **settings),
        _LABELS,
        {},
    ),
    "bins": (lambda **settings: lt.CfCRegressor(bin_width="scales", **settings), _LEVEL, {}),
}


def _poisoned(data, target, face, rows):
    """The set with the samples, static features and targets of some series far away from what they were."""
    own = np.repeat(np.isin(np.arange(len(data)), rows), data.lengths)
    values = np.where(own[:, None], 1e4 + 1e3 * data.values, data.values).astype(np.float32)
    static = data.static.copy()
    static[rows, 0] += 1e4
    if target is not None and target.dtype.kind == "f":  # with other classes, others would be held back
        hit = own if face == "values per step" else np.isin(np.arange(len(data)), rows)
        target = np.where(hit, 1e4 - 7 * target, target)
    return replace(data, values=values, static=static), target


@pytest.mark.parametrize("face", FACES)
def test_series_held_back_choose_the_epoch_and_nothing_else(face):
    make, target, auxiliary = FACES[face]
    classes = np.unique(_LABELS, return_inverse=True)[1]
    strata = {"classes": classes, "convolutions, balanced": classes, "forecasts": (_DATA.lengths >= 2).astype(int)}
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
    if face == "labels":  # takes no validation part from outside
        return
    own = [fit[0][held]] if target is None else [fit[0][held], target[_rows(held, face)]]
    apart = make(**HELD | {"validation_fraction": 0.0})
    part = [_DATA[train]] if target is None else [_DATA[train], target[_rows(train, face)]]
    beside = {name: values[train] for name, values in FACES[face][2].items()}
    apart.fit(*part, validation=own[0] if target is None else tuple(own), **beside)
    for mine, its in zip(model.results_, apart.results_, strict=True):
        assert _without_clock(mine) == _without_clock(its)
        assert mine.best_epoch == its.best_epoch == int(np.argmin([row["val_loss"] for row in mine.history]))


def test_series_in_which_gaps_are_made_do_not_train_what_fills_them(monkeypatch):
    """Nor do those that choose the epoch of its networks, which are held back in both directions of time."""
    cuts, folds = [], []
    hold_back, fold_forecasts = base.held_back, imputer.forecast_folds
    monkeypatch.setattr(base, "held_back", lambda *a, **k: cuts.append(hold_back(*a, **k)) or cuts[-1])
    monkeypatch.setattr(imputer, "forecast_folds", lambda *a, **k: folds.append(fold_forecasts(*a, **k)) or folds[-1])
    fit = {"groups": np.arange(len(_DATA))}
    model = lt.CfCImputer(**HELD).fit(_DATA, **fit)
    (fold,) = folds[0]
    seen = np.flatnonzero(fold.until > 0)
    train, held = (np.unique(seen[rows % len(seen)]) for rows in cuts[0])
    assert not set(train) & set(held)
    assert not set(seen) & set(fold.held)
    for rows, told in ((held, lambda model: model.results_[0].history), (fold.held, lambda model: model.held_out_)):
        data, _ = _poisoned(_DATA, None, "gaps", rows)
        other = lt.CfCImputer(**HELD).fit(data, **fit)
        for mine, its in zip(model.results_, other.results_, strict=True):
            assert [row["loss"] for row in mine.history] == [row["loss"] for row in its.history]
        assert model.encoder_.to_dict()["config"] == other.encoder_.to_dict()["config"]
        assert told(model) != told(other)


def _without_clock(result):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in result.history]


def _rows(rows, face):
    return np.flatnonzero(np.repeat(np.isin(np.arange(24), rows), _DATA.lengths)) if face == "values per step" else rows


def _swings(S):
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(S):
        t = np.sort(rng.choice(300, 18, replace=False)) / 10.0
        values = np.stack([np.sin(t + rng.uniform(0, 6)), np.cos(t)], axis=1)
        values[rng.random(values.shape) < 0.3] = np.nan
        rows.append((t, values))
    return lt.SeriesSet.from_arrays(rows)


def test_training_asks_from_a_cut_what_a_series_that_ends_there_is_asked():
    """State, history, last values and gap of every cut are those of `predict`, which cannot see what comes after."""
    data = _swings(12)
    model = lt.CfCForecaster(**TINY | {"epochs": 2, "learning_rate": 0.05, "dropout": 0.0}).fit(data)
    few = data[:3]
    network, part, standard = model.networks_[0], model._part(few), model._scene.standard
    (sample,) = SeriesBatches(part.prepared, 64)
    reach = model.horizon_ / model.encoder_.time_scale_
    draw = Draw.of(sample, forecaster._CUTS, forecaster._QUESTIONS, reach, random=False)
    errors = []
    for place, row in enumerate(sample.rows.tolist()):
        for k in np.flatnonzero(draw.some[place]):
            cut, later = int(draw.cut[place, k]), draw.asked[place, k].numpy()
            assert later.min() > cut
            said, _ = model.parts(few[row : row + 1].head(cut + 1), [few[row].times[later]])["network"]
            errors.append((standard.to(said[0]) - standard.to(few[row].values[later])).ravel())
    errors = np.concatenate(errors)
    with torch.no_grad():
        loss = model._loss_of(network, sample, part.target)
    assert int(loss.weight) == (~np.isnan(errors)).sum() > 100
    assert float(loss.total) == pytest.approx(np.nansum(errors**2), rel=1e-3)


def test_a_state_is_carried_by_a_sample_in_which_nothing_is_observed():
    """The forecast of folders of the first form: mask, time since and value as a sample without values has them."""
    data = _swings(8)
    encoder = SeriesEncoder().fit(data)
    carried = CarriedForecast(encoder, [0, 1])
    for row in range(3):
        stream = encoder.stream()
        for t, values in zip(data[row].times, data[row].values, strict=True):
            x, _ = stream.update(t, values)
        found = carried.input_after(torch.from_numpy(x)[None], torch.tensor([2.5 / encoder.time_scale_]))
        wanted, _ = stream.update(data[row].times[-1] + 2.5, {})
        np.testing.assert_allclose(found[0].numpy(), wanted, rtol=1e-5, atol=1e-6)
