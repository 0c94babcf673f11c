"""Features of whole series beside the read-out: when they are tried, what they are of every prefix, and every path."""

import json

import numpy as np
import pytest
import torch

import liquidtime as lt
from estimators.forged import sign
from estimators.small import TINY, series
from estimators.test_front_end import waves
from liquidtime.data import SeriesEncoder
from liquidtime.estimators.files.model_config import ModelFolderError
from liquidtime.estimators.network.budget import Choice, Trial, search
from liquidtime.estimators.network.inputs import Prepared
from liquidtime.estimators.network.summary import Summary

ONE = TINY | {"epochs": 1, "summary": "rich"}
SHORT = TINY | {"epochs": None}


@pytest.fixture(scope="module")
def fitted():
    data, y = waves(40)
    return lt.CfCClassifier(**ONE, n_estimators=2, bin_width="scales").fit(data, y), data


def test_the_rich_features_stand_behind_the_history_less_their_medians(fitted):
    model, data = fitted
    prepared = Prepared.of(model.encoder_, data).beside(model.summary_)
    own = prepared.at(np.arange(3)).history[:, -model.summary_.size :].numpy()
    table = model.summary_.features.transform(data)
    wanted = np.nan_to_num(table - np.nanmedian(table, axis=0), nan=0.0)[:3]
    assert np.allclose(own, wanted, rtol=1e-6)
    anew = Prepared.of(model.encoder_, data, keep=False).beside(model.summary_).at(np.arange(3))
    for one, other in zip(prepared.at(np.arange(3))[:5], anew[:5], strict=True):
        assert torch.equal(one, other)
    assert prepared.seen_by_read_out(100).shape[1] == prepared.at([0]).x.shape[2] + prepared.at([0]).history.shape[1]


@pytest.mark.parametrize("width", [None, 0.1, 2.5])
def test_the_features_up_to_a_step_are_those_of_the_series_that_ends_there(width):
    data, _, _ = series(12, longest=12)
    summary, table = Summary.fitted(data)
    assert np.array_equal(table, summary.at_ends(data))
    steps = SeriesEncoder(bin_width=width).fit(data).binned(data)
    table = summary.at_steps(data, width)
    assert len(table) == len(steps.times)
    for row in (2, 5, 11):
        times = data.times[data.offsets[row] : data.offsets[row + 1]]
        keys = times if width is None else np.floor(times / width + 1e-9)
        for k, key in enumerate(np.unique(keys)):
            alone = summary.at_ends(data[[row]].head(int((keys <= key).sum())))[0]
            assert np.array_equal(table[steps.offsets[row] + k], alone)


def test_evolve_ends_in_predict_at_every_scale(fitted):
    model, data = fitted
    assert len(model.encoders_) == 2
    few = data[:4]
    evolution = model.evolve(few)
    for row in range(4):
        end = evolution.offsets[row + 1]
        half = int(few.lengths[row]) // 2
        assert np.allclose(evolution.outputs[end - 1], model.predict_proba(few[[row]])[0], atol=1e-6)
        begun = model.predict_proba(few[[row]].head(half))[0]
        assert np.allclose(evolution.outputs[evolution.offsets[row] + half - 1], begun, atol=1e-6)


def test_evolve_at_some_points_is_evolve_there(fitted):
    model, data = fitted
    few = data[:3]
    every, some = model.evolve(few), model.evolve(few, points=5)
    assert np.diff(some.offsets).tolist() == [5, 5, 5]
    for row in range(3):
        own = slice(some.offsets[row], some.offsets[row + 1])
        whole = slice(every.offsets[row], every.offsets[row + 1])
        places = np.searchsorted(every.times[whole], some.times[own])
        assert places[-1] == few.lengths[row] - 1
        assert np.allclose(some.outputs[own], every.outputs[whole][places], atol=1e-6)
    plain = lt.CfCClassifier(**TINY | {"epochs": 1}).fit(data, np.arange(40) % 2)
    every, some = plain.evolve(few), plain.evolve(few, points=5)
    assert np.array_equal(some.outputs[-1], every.outputs[-1])
    assert len(some.outputs) == len(some.times) == 15


def test_a_folder_gives_the_same_predictions_and_refuses_what_is_forged(fitted, tmp_path):
    model, data = fitted
    model.save(tmp_path / "model")
    assert np.array_equal(lt.load(tmp_path / "model").predict_proba(data), model.predict_proba(data))
    path = tmp_path / "model" / "config.json"
    config = json.loads(path.read_text())
    stored = config["learned"]["summary"]
    for wrong in (
        stored | {"centre": stored["centre"][1:]},
        stored | {"centre": ["x"] * len(stored["centre"])},
        stored | {"names": stored["names"][::-1]},
        stored | {"names": stored["names"][1:], "centre": stored["centre"][1:]},
        stored | {"span": -1.0},
        "rich",
    ):
        path.write_text(json.dumps(config | {"learned": config["learned"] | {"summary": wrong}}))
        sign(tmp_path / "model")
        with pytest.raises(ModelFolderError):
            lt.load(tmp_path / "model")


def test_single_samples_and_exports_are_refused_with_the_reason(fitted, tmp_path):
    model, data = fitted
    with pytest.raises(ValueError, match=r"features of whole series.*summary=None"):
        model.update("a", 0.0, {"wave": 1.0})
    with pytest.raises(ValueError, match=r"features of whole series.*summary=None"):
        lt.export.onnx(model, tmp_path / "model.onnx")
    with pytest.raises(ValueError, match="`per_step` predicts each sample from those before it"):
        lt.CfCClassifier(per_step=True, summary="rich").fit(data, data.times > 20)
    with pytest.raises(ValueError, match="`summary` must be one of"):
        lt.CfCRegressor(summary="plain").fit(data, np.arange(len(data)))


def test_a_search_tries_it_at_the_first_level_and_keeps_what_was_better():
    def attempts(first, choices):
        asked.append(choices)
        return [Trial(choice, 1.0 / choice.epochs + (choice.summary != best)) for choice in choices]

    for best in (None, "rich"):
        asked: list[list[Choice]] = []
        search(8, 1000, 1, (None, "convolution"), (None, "rich"), attempts)
        assert [choice.summary for choice in asked[0]] == [None, None, "rich", "rich"]
        assert [choice.front_end for choice in asked[1]] == [None, None, "convolution", "convolution"]
        assert [choice.summary for choice in asked[1]] == [best, best, None, "rich"]
        assert {choice.summary for choices in asked[2:] for choice in choices} == {best}


def test_it_is_offered_for_dense_series_and_kept_by_a_refit(monkeypatch):
    monkeypatch.setattr("liquidtime.estimators.network.budget.LONGER", ())
    monkeypatch.setattr("liquidtime.estimators.faces.fitting.quick_epochs", lambda S, batch_size: 2)
    data, y = waves(60, least=30, longest=40)
    model = lt.CfCClassifier(**SHORT).fit(data, y)
    assert [trial.choice.summary for trial in model.trials_] == [None, None, "rich", "rich"]
    best = min(model.trials_, key=lambda trial: trial.loss).choice
    for one in (model, model.refit(data, y)):
        assert one.choice_ == best
        assert (one.summary_ is None) == (best.summary is None)
        assert one.summary == "auto"
    sparse, labels, _ = series(60)
    assert {trial.choice.summary for trial in lt.CfCClassifier(**SHORT).fit(sparse, labels).trials_} == {None}


def test_intervals_thresholds_and_labels_are_learned_with_it():
    data, y = waves(40)
    assert lt.CfCRegressor(**ONE, intervals=True).fit(data, y).predict(data).shape == (40,)
    assert lt.CfCClassifier(**ONE, threshold="f1").fit(data, y).threshold_ is not None
    labels = lt.CfCMultiLabelClassifier(**ONE).fit(data, np.stack([y, 1 - y], axis=1))
    assert labels.summary_ is not None
    assert labels.predict(data).shape == (40, 2)
