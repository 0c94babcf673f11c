import warnings

import numpy as np
import pytest

from estimators.small import series
from estimators.stacking.quick import classifier, regressor
from oracles.series import random_set


@pytest.fixture(scope="module")
def fitted():
    data, labels, level = series(45, longest=60)
    return data, classifier(data, labels), regressor(data, level)


def test_every_update_is_the_prediction_of_the_series_so_far(fitted):
    data, model, numbers = fitted
    for one, predict in ((model, model.predict_proba), (numbers, numbers.predict)):
        assert one._feature_parts
        row = 5
        series_ = data[row]
        static = {"age": float(series_.static[0]), "sex": "fm"[int(series_.static[1])]}
        for k, (t, values) in enumerate(zip(series_.times[:30], series_.values, strict=False)):
            live = one.update("x", t, values, static=static if k == 0 else None)
            if k > 2 and k % 7:
                continue
            np.testing.assert_allclose(live, predict(data[row : row + 1].head(k + 1))[0], rtol=1e-5, atol=1e-6)
        one.reset("x")
        t, values = series_.times[0], series_.values[0]
        again = one.update("x", t, values, static=static)
        np.testing.assert_allclose(again, predict(data[row : row + 1].head(1))[0], rtol=1e-5, atol=1e-6)
        one.reset()


def test_samples_at_one_time_are_one(fitted):
    _, model, _ = fitted
    model.reset()
    model.update("one", 1.0, {"drift": 1.0})
    model.update("one", 2.0, {"drift": 3.0})
    apart = model.update("one", 2.0, {"noise": 5.0})
    model.update("two", 1.0, {"drift": 1.0})
    np.testing.assert_allclose(apart, model.update("two", 2.0, {"drift": 3.0, "noise": 5.0}), rtol=1e-6)
    with pytest.raises(ValueError, match="not be earlier"):
        model.update("one", 1.5, {"drift": 1.0})
    assert len(model._live._times["one"]) == 2


def test_the_evolution_is_every_prefix(fitted):
    data, model, numbers = fitted
    part = data[[0, 1, 5, 8]]
    for one, predict in ((model, model.predict_proba), (numbers, numbers.predict)):
        evolution = one.evolve(part)
        np.testing.assert_array_equal(evolution.offsets, part.offsets)
        for row in range(len(part)):
            for k in range(0, int(part.lengths[row]), 12):
                wanted = predict(part[row : row + 1].head(k + 1)).ravel()
                np.testing.assert_allclose(evolution.outputs[part.offsets[row] + k], wanted, rtol=1e-5, atol=1e-6)
        some = one.evolve(part, points=4)
        assert np.diff(some.offsets).max() == 4
        assert np.isin(some.times, evolution.times).all()
        ends, own = evolution.offsets[1:][part.lengths > 0] - 1, some.offsets[1:][part.lengths > 0] - 1
        np.testing.assert_allclose(some.outputs[own], evolution.outputs[ends], rtol=1e-6)


def test_categories_and_static_features_stream_too():
    data = random_set(0, [30, 28, 1, 0, 25, 29] * 5)
    model = classifier(data, np.arange(30) % 2)
    row = data[0]
    names = data.categories["k"]
    for k in range(12):
        values = {c: row.values[k, i] for i, c in enumerate(data.channels) if c != "k"}
        code = row.values[k, data.channels.index("k")]
        values["k"] = None if np.isnan(code) else names[int(code)]
        static = {"age": row.static[0], "ward": data.categories["ward"][int(row.static[1])]} if k == 0 else None
        live = model.update("s", row.times[k], values, static=static)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_allclose(live, model.predict_proba(data[:1].head(k + 1))[0], rtol=1e-5, atol=1e-6)
    model.update("strange", 0.0, {"k": "never seen"})
