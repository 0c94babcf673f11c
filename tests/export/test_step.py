"""The exported step against `update`, after every sample of random streams."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import liquidtime as lt
from estimators.small import series
from export.models import FAST, MODELS, trained
from liquidtime.data.encoding.sample import read_static, read_values
from liquidtime.export.of_model import step_of
from oracles.streams import streams

STATIC = st.fixed_dictionaries({}, optional={"age": st.floats(20, 80), "ward": st.sampled_from(["east", "west"])})
BOUND = 5e-6


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]()


def rows(values):
    row = torch.from_numpy(values)[None]
    return torch.nan_to_num(row, nan=-7.0), ~row.isnan()


def spread(model):
    return 1.0 if hasattr(model, "classes_") else float(np.max(model._scale))


@settings(max_examples=12, deadline=None)
@given(samples=streams(longest=8), static=STATIC)
def test_every_sample_of_a_stream_gives_what_update_gives(model, samples, static):
    step, encoder = step_of(model), model.encoder_
    model.reset()
    state, features = step.start(1), rows(read_static(encoder, static if encoder.static_names_ else None))
    for k, (t, named) in enumerate(samples):
        values = read_values(encoder, {name: named[name] for name in named if name in encoder.channels_})
        wanted = model.update("one", t, values, static=static if k == 0 and encoder.static_names_ else None)
        with torch.inference_mode():
            state = step.advance(state, torch.tensor([t], dtype=torch.float64), *rows(values))
            prediction = step.read(state, *features)[0].numpy()
        np.testing.assert_allclose(prediction, np.reshape(wanted, -1), rtol=0, atol=BOUND * spread(model))
        assert all(bool(part.isfinite().all()) for part in state)


def test_a_series_without_samples_is_read_from_the_start_state(model):
    step, encoder = step_of(model), model.encoder_
    empty = lt.SeriesSet(
        np.array([0, 0]), np.zeros(0), np.zeros((0, len(encoder.channels_))), encoder.channels_,
        static=np.array([[50.0, 1.0]])[:, : len(encoder.static_names_)], static_names=encoder.static_names_,
        time_unit=encoder.time_unit_,
    )  # fmt: skip
    empty = empty.replace_unchecked(categories=dict(encoder.categories_))
    if getattr(model, "per_step", False):
        pytest.skip("a prediction per sample has none where there is no sample")
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")
        wanted = model.predict_proba(empty) if hasattr(model, "classes_") else model.predict(empty)
        prediction = step.read(step.start(1), *rows(empty.static[0]))
    np.testing.assert_allclose(prediction.numpy().reshape(-1), np.reshape(wanted, -1), atol=BOUND * spread(model))


def test_rows_of_a_batch_never_mix(model):
    step, rng = step_of(model), np.random.default_rng(0)
    C, F = len(model.encoder_.channels_), len(model.encoder_.static_names_)
    alone, together = [step.start(1) for _ in range(3)], step.start(3)
    times = torch.zeros(3, dtype=torch.float64)
    with torch.inference_mode():
        for _ in range(5):
            times = times + torch.from_numpy(rng.choice([0.0, 0.5, 9.0], 3))
            values, seen = torch.ones(3, C), torch.from_numpy(rng.random((3, C)) < 0.5)
            together = step.advance(together, times, values, seen)
            for b in range(3):
                alone[b] = step.advance(alone[b], times[b : b + 1], values[b : b + 1], seen[b : b + 1])
        features = torch.zeros(3, F), torch.ones(3, F, dtype=torch.bool)
        apart = torch.cat([step.read(state, *(part[:1] for part in features)) for state in alone])
        np.testing.assert_allclose(step.read(together, *features), apart, atol=1e-6 * spread(model))


def test_the_layout_says_where_everything_is():
    step = step_of(trained(bin_width=3.0, epochs=1))
    for kind, size in (("double", step.layout.doubles), ("float", step.layout.floats)):
        fields = [field for field in step.layout.fields if field.kind == kind]
        assert [field.start for field in fields] == [0, *np.cumsum([field.size for field in fields])[:-1]]
        assert sum(field.size for field in fields) == size
    state, C = step.start(1), len(step.encoder.channels_)
    state = step.advance(
        state, torch.tensor([4.0]).double(), torch.full((1, C), 2.0), torch.tensor([[True] + 3 * [False]])
    )
    by_name = {
        field.name: (state.doubles if field.kind == "double" else state.floats)[
            0, field.start : field.start + field.size
        ]
        for field in step.layout.fields
    }
    assert by_name["time"].tolist() == [4.0]
    assert by_name["scale 0: step"].tolist() == [3.0]
    assert by_name["time_total"].tolist() == [2.0, 0.0, 0.0, 0.0]


def test_a_folder_is_taken_as_its_model_is(tmp_path):
    model = trained()
    model.save(tmp_path / "model")
    read, given = step_of(tmp_path / "model"), step_of(model)
    assert all(
        torch.equal(one, other)
        for one, other in zip(read.state_dict().values(), given.state_dict().values(), strict=True)
    )


def test_what_cannot_be_taken_step_by_step_is_refused_with_the_reason():
    data, labels, _ = series(30)
    with pytest.raises(ValueError, match="'transformer' reads whole series"):
        step_of(lt.CfCClassifier(network="transformer", **FAST).fit(data, labels))
    with pytest.raises(ValueError, match="convolutional front end"):
        step_of(lt.CfCClassifier(front_end="convolution", **FAST).fit(data, labels))
    with pytest.raises(NotFittedError):
        step_of(lt.CfCForecaster(**FAST))
    with pytest.raises(NotFittedError):
        step_of(lt.StackedClassifier())
    with pytest.raises(ValueError, match="state of zeros"):
        step_of(lt.CfCClassifier(network="skip_lstm", **FAST).fit(data, labels))
    with pytest.raises(TypeError, match="fitted estimator or a model folder"):
        step_of(torch.nn.Linear(2, 2))
