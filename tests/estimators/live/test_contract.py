"""Live updates, evolution and batches of an ensemble of several scales: every prefix of every stream."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import liquidtime as lt
from estimators.small import TINY
from oracles.series import random_set
from oracles.streams import as_set, streams

CHANNELS = ("a", "b", "c0", "k")
STATIC = st.fixed_dictionaries({}, optional={"age": st.floats(20, 80), "ward": st.sampled_from(["east", "west"])})


def trained(kind, **settings):
    data = random_set(0, [60, 50, 1, 0, 70, 55] * 3)
    data.values[:, 2] = np.nan  # never observed in training
    y = np.arange(len(data)) % 2
    return kind(**TINY | {"epochs": 1, "batch_size": 8} | settings).fit(data, y)


MODELS = {
    "scales": lambda: trained(lt.CfCClassifier, n_estimators=3, bin_width="scales"),
    "bins": lambda: trained(lt.CfCRegressor, network="lstm", bin_width=3.0, n_estimators=2, num_layers=2),
    "samples": lambda: trained(lt.CfCClassifier, network="skip_lstm"),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    fitted = MODELS[request.param]()
    assert len(fitted.encoders_) > 1 or request.param != "scales"
    return fitted


def predicted(model, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # categories and static features that one series does not have
        return np.reshape(model.predict_proba(data) if hasattr(model, "classes_") else model.predict(data), -1)


@settings(max_examples=25, deadline=None)
@given(samples=streams(longest=8), static=STATIC)
def test_every_prefix_of_a_stream_is_the_batch_of_that_prefix(model, samples, static):
    model.reset()
    for k, (t, values) in enumerate(samples):
        live = np.reshape(model.update("one", t, values, static=static if k == 0 else None), -1)
        prefix = as_set(samples[: k + 1], CHANNELS, static)
        np.testing.assert_allclose(live, predicted(model, prefix), rtol=1e-5, atol=3e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evolution = model.evolve(prefix)
    np.testing.assert_allclose(evolution.outputs[-1], live, rtol=1e-5, atol=3e-6)


def test_the_evolution_of_a_ragged_set_is_every_prefix(model):
    data = random_set(5, [9, 0, 30, 1, 14])
    evolution = model.evolve(data)
    if model.encoders_[0].bin_width is None:
        np.testing.assert_array_equal(evolution.offsets, data.offsets)
        for i, series in enumerate(data):
            for k in range(0, len(series.times), 4):
                wanted = predicted(model, data[i : i + 1].head(k + 1))
                np.testing.assert_allclose(evolution.outputs[data.offsets[i] + k], wanted, rtol=1e-5, atol=3e-6)
    ends = evolution.offsets[1:][np.diff(evolution.offsets) > 0] - 1
    whole = predicted(model, data[data.lengths > 0]).reshape(len(ends), -1)
    np.testing.assert_allclose(evolution.outputs[ends], whole, rtol=1e-5, atol=3e-6)
