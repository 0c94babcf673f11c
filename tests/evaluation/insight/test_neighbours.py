"""Similar series: those nearest in the space of the read-out, kept only where asked for, read within bounds."""

import json

import numpy as np
import pytest
import torch

import liquidtime as lt
from estimators.small import TINY, series
from liquidtime.evaluation.insight.neighbours import NAMES, STATES
from liquidtime.files.bounded import DamagedFolder
from liquidtime.files.contents import json_to_bytes, tensors_from_bytes, tensors_to_bytes


@pytest.fixture(scope="module")
def kept():
    data, labels, _ = series(30)
    model = lt.CfCClassifier(**TINY | {"epochs": 1}).fit(data, labels)
    return model, data, labels, lt.insight.Neighbours.of(model, data, labels)


def test_the_nearest_are_those_of_the_read_out(kept):
    model, data, labels, near = kept
    found = near.similar(model, data[[7]], k=3)[0]
    sample = model.encode(data).prepared().at(np.arange(30))
    with torch.no_grad():
        points = model.networks_[0].units_after(*sample[:5]).numpy()
    scale = np.where(points.std(axis=0) > 1e-6, points.std(axis=0), 1)
    distance = np.linalg.norm((points - points[7]) / scale, axis=1)
    order = [row for row in np.argsort(distance) if row != 7][:3]
    assert [int(one.id) for one in found.neighbours] == order
    assert [one.outcome for one in found.neighbours] == labels[order].tolist()
    assert "training series most similar to series 7" in found.words()
    assert found._repr_html_().count("<tr>") == 4


def test_a_folder_keeps_them_where_asked_and_explains_with_them(kept, tmp_path):
    model, data, labels, near = kept
    model.save(tmp_path / "bare")
    assert lt.insight.Neighbours.read(tmp_path / "bare") is None
    model.save(tmp_path / "model", files=near.files())
    again = lt.insight.Neighbours.read(tmp_path / "model")
    assert again.ids == near.ids
    assert again.outcomes == near.outcomes
    np.testing.assert_array_equal(again.states, near.states)
    explanation = lt.explain(tmp_path / "model", data, labels, id=7, repeats=1, most_series=5, most_presence=0)
    ours, theirs = explanation.similar[0].neighbours, near.similar(model, data[[7]])[0].neighbours
    assert [one.id for one in ours] == [one.id for one in theirs]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda named, arrays: named.update(format=2), "newer format"),
        (lambda named, arrays: named["ids"].pop(), "one for each series"),
        (lambda named, arrays: named.update(outcomes=[None] * 30), "`outcomes`"),
        (lambda named, arrays: arrays["scale"].fill_(0.0), "over 0"),
        (lambda named, arrays: arrays["states"][0].fill_(np.nan), "finite"),
        (lambda named, arrays: arrays.update(centre=torch.zeros(2)), "do not fit"),
        (lambda named, arrays: named.pop("ids"), "does not describe"),
    ],
)
def test_what_was_changed_is_refused(kept, tmp_path, change, words):
    model, _, _, near = kept
    files = near.files()
    named, arrays = json.loads(files[NAMES]), tensors_from_bytes(files[STATES])
    change(named, arrays)
    model.save(tmp_path / "model", files={NAMES: json_to_bytes(named), STATES: tensors_to_bytes(arrays)})
    with pytest.raises(DamagedFolder, match=words):
        lt.insight.Neighbours.read(tmp_path / "model")


def test_values_few_kept_and_another_model(kept):
    model, data, _, near = kept
    level = series(30)[2]
    regressor = lt.CfCRegressor(**TINY | {"epochs": 1, "read_out_units": 5}).fit(data, level)
    few = lt.insight.Neighbours.of(regressor, data, level, most=10)
    assert len(few.ids) == 10
    found = few.similar(regressor, data[[3]], k=4)[0]
    assert all(isinstance(one.outcome, float) for one in found.neighbours)
    assert "median" in found.words()
    with pytest.raises(ValueError, match="another model"):
        near.similar(regressor, data)
    with pytest.raises(ValueError, match="`outcomes` must be"):
        lt.insight.Neighbours.of(model, data, level[:3])
