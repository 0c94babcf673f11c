import numpy as np
import pytest

import liquidtime as lt
from estimators.small import TINY, series


@pytest.mark.parametrize("network", ["cfc", "lstm", "cfc_mm"])
@pytest.mark.parametrize("bin_width", [None, 3.0])
def test_one_sample_at_a_time_equals_every_prefix(network, bin_width):
    data, labels, _ = series(30)
    settings = TINY | {"network": network, "bin_width": bin_width, "n_estimators": 2, "num_layers": 2}
    model = lt.CfCClassifier(**settings).fit(data, labels)
    for place in (1, 5, 8):
        one = data[place]
        static = {"age": float(one.static[0]), "sex": "fm"[int(one.static[1])]}
        for k, (time, values) in enumerate(zip(one.times, one.values, strict=True)):
            live = model.update(place, time, values, static=static if k == 0 else None)
            prefix = data[place : place + 1].head(k + 1)
            np.testing.assert_allclose(live, model.predict_proba(prefix)[0], atol=2e-6)


def test_the_evolution_is_every_prefix_and_ends_at_the_prediction():
    data, labels, level = series(30)
    for model in (lt.CfCClassifier(**TINY).fit(data, labels), lt.CfCRegressor(**TINY).fit(data, level)):
        whole = np.reshape(
            model.predict_proba(data) if hasattr(model, "predict_proba") else model.predict(data), (30, -1)
        )
        evolution = model.evolve(data)
        np.testing.assert_array_equal(evolution.offsets, data.offsets)
        for place in range(1, 30):
            np.testing.assert_allclose(evolution.outputs[data.offsets[place + 1] - 1], whole[place], atol=2e-6)
        one = data[9]
        for k, (time, values) in enumerate(zip(one.times, one.values, strict=True)):
            static = {"age": float(one.static[0]), "sex": "fm"[int(one.static[1])]} if k == 0 else None
            live = np.reshape(model.update("nine", time, values, static=static), -1)
            np.testing.assert_allclose(live, evolution.outputs[data.offsets[9] + k], atol=2e-6)


def test_series_do_not_disturb_each_other_and_reset_forgets():
    data, labels, _ = series(30)
    model = lt.CfCClassifier(**TINY).fit(data, labels)
    alone = [model.update("a", t, {"drift": float(t)}) for t in range(4)]
    model.reset("a")
    mixed = []
    for t in range(4):
        mixed.append(model.update("a", t, {"drift": float(t)}))
        model.update("b", t, {"noise": -1.0})
    np.testing.assert_array_equal(alone, mixed)
    with pytest.raises(ValueError, match="`t` must not be earlier than the previous sample"):
        model.update("a", 1.0, {"drift": 0.0})
    with pytest.raises(ValueError, match="`static` of the live series 'a' was set by its first sample"):
        model.update("a", 9.0, {"drift": 0.0}, static={"age": 1.0})
    model.reset()
    np.testing.assert_array_equal(model.update("a", 0, {"drift": 0.0}), alone[0])
