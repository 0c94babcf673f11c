"""Forecasters behind the service: what they say is what the library says, and what is asked wrongly changes nothing."""

import shutil
import warnings

import numpy as np
import pytest

import liquidtime as lt
from export.models import FORECASTERS
from liquidtime.serving.exported import read_exported
from liquidtime.serving.launch import service_of
from liquidtime.serving.messages import (
    InferenceRequest,
    NewSamples,
    PredictionRequest,
    Question,
    RequestedOutput,
    Sample,
    Tensor,
    WholeSeries,
)
from liquidtime.serving.open_inference import infer, model_facts
from liquidtime.serving.refusal import Refused
from liquidtime.serving.settings import Settings
from serving.servers import Service

START = np.datetime64("2024-03-05T07:30", "ns")


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    """Return a function from the name of a forecaster to it and the folder of its export, made once."""
    made = {}

    def of(name):
        if name not in made:
            model, folder = FORECASTERS[name](), tmp_path_factory.mktemp("forecaster") / "tank"
            lt.export.onnx(model, folder)
            made[name] = model, folder
        return made[name]

    return of


@pytest.fixture(scope="module", params=["forecaster_known_bins", "forecaster_dated"])
def forecaster(request, exports):
    return exports(request.param)


@pytest.fixture
def service(forecaster, tmp_path):
    made = service_of(Settings(forecaster[1], str(tmp_path / "s.db"), "tank", keep=8))
    yield made
    made.store.close()


def stream(model, T, seed):
    """Yield times and values by channel."""
    encoder, rng, t = model.encoder_, np.random.default_rng(seed), 0.0
    for _ in range(T):
        t += float(rng.choice([0.25, 1.0, 2.5, 12.0]))
        named = {}
        for name in encoder.channels_:
            if rng.random() < 0.7:
                labels = encoder.categories_.get(name)
                named[name] = str(rng.choice(labels)) if labels else float(np.float32(rng.normal() * 3 + 5))
        yield t, named


def statics(model):
    return {"age": 61.0, "ward": "west"} if model.encoder_.static_names_ else {}


def told(model, prediction):
    """Return (3, Q, C) what an answer says."""
    rows = [(point.values, point.low, point.high) for point in prediction.forecast]
    return np.array([[[part[name] for name in model.channels_] for part in row] for row in rows]).swapaxes(0, 1)


def close(model, prediction, wanted):
    scale = model._scene.standard.scale
    np.testing.assert_allclose(told(model, prediction) / scale, np.array(wanted) / scale, atol=5e-6)


@pytest.mark.parametrize("dated", [False, True])
def test_a_live_series_says_after_every_sample_what_the_library_says(forecaster, service, dated):
    model, _ = forecaster
    if dated and model.encoder_.time_unit_ is None:
        pytest.skip("its times have no unit")
    model.reset()
    rng = np.random.default_rng(0)
    unit = {"h": 3600.0, None: 1.0}[model.encoder_.time_unit_]
    for k, (t, named) in enumerate(stream(model, 12, 3)):
        stamp = START + np.timedelta64(round(t * unit), "s")
        first = {"static": statics(model)} if k == 0 else {}
        model.update("x", stamp if dated else t, named, **first)
        horizons = [0.0, float(rng.random()), 7.5]
        known = {name: [float(rng.normal()), 0.5, None] for name in model.known or () if k % 2}
        question = Question(horizons=horizons, intervals=0.8, known=known)
        request = NewSamples([Sample(str(stamp) if dated else t, named)], forecast=question, **first)
        answer = service.take("x", request)
        future = {name: [np.nan if value is None else value for value in row] for name, row in known.items()}
        close(model, answer.prediction, model.forecast("x", horizons, intervals=0.8, known=future))
        again = service.take("x", request)
        assert (again.taken, again.repeated, again.prediction) == (0, 1, answer.prediction)
    assert service.forecast("x", question).prediction == answer.prediction
    shown = service.get("x")
    assert [len(shown.samples), len(shown.prediction.forecast)] == [8, 4]
    assert shown.samples[-1].values == pytest.approx(named)
    close(model, shown.prediction, model.forecast("x", [model.horizon_ * k / 4 for k in (1, 2, 3, 4)], intervals=0.9))
    (listed,) = service.newest(5, 2).series
    assert (listed.prediction, len(listed.samples)) == (shown.prediction, 2)
    later = [point.time for point in shown.prediction.forecast]
    by_time = service.forecast("x", Question(times=later))  # a time that was told is understood
    close(model, by_time.prediction, told(model, shown.prediction))


def test_whole_series_say_what_predict_says(forecaster, service):
    model, _ = forecaster
    names, T = model.encoder_.channels_, 9
    series = [list(stream(model, T, seed)) for seed in (5, 6)]
    for known in model.known or ():  # of the first series the known channel alone goes on
        series[0][-2:] = [(t, {known: 1.5 + t}) for t, _ in series[0][-2:]]
    at = [START + (np.array([t for t, _ in each]) * 3600).round().astype("timedelta64[s]") for each in series]
    numbers = not model._scene.seasons.calendar
    labels = model.encoder_.categories_
    values = [
        [[labels[name].index(row[name]) if name in labels and name in row else row.get(name, np.nan) for name in names]
         for _, row in each]
        for each in series
    ]  # fmt: skip
    more = {}
    if model.encoder_.static_names_:
        more = {"static": np.array([[61.0, 1.0]] * 2), "static_names": model.encoder_.static_names_}
    times = [np.array([t for t, _ in each]) for each in series] if numbers else at
    pairs = list(zip(times, map(np.array, values), strict=True))
    data = lt.SeriesSet.from_arrays(pairs, channels=names, time_unit=model.encoder_.time_unit_, **more)
    data = data.replace_unchecked(categories=labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = model.predict(data, horizons=[0.5, 4.0], intervals=0.8)
    bodies = [
        WholeSeries([Sample(t if numbers else str(s), row) for (t, row), s in zip(each, stamps, strict=True)],
                    static=statics(model))
        for each, stamps in zip(series, at, strict=True)
    ]  # fmt: skip
    question = Question(horizons=[0.5, 4.0], intervals=0.8)
    answers = service.predict(PredictionRequest(bodies, forecast=question)).predictions
    for row, answer in enumerate(answers):
        close(model, answer.prediction, [part[row] for part in wanted])
    rows = np.array(values)
    since = [np.array([t for t, _ in each]) - (0.0 if numbers else each[0][0]) for each in series]
    tensors = [
        Tensor("times", [2, T], "FP64", np.array(since).ravel().tolist()),
        Tensor("values", [2, T, len(names)], "FP32", [None if v != v else v for v in rows.ravel().tolist()]),
        Tensor("horizons", [2], "FP64", [0.5, 4.0]),
        Tensor("coverage", [1], "FP64", [0.8]),
    ]
    if model.encoder_.static_names_:
        tensors.append(Tensor("static", [2, 2], "FP32", [61.0, 1.0] * 2))
    if not numbers:
        starts = [float(stamps[0].astype(np.int64)) / 3.6e12 for stamps in at]
        tensors.append(Tensor("origin", [2], "FP64", starts))
    assert {each.name for each in tensors} <= {each.name for each in model_facts(service.model).inputs}
    said = infer(service, InferenceRequest(tensors)).outputs
    assert [each.name for each in said] == ["forecast", "low", "high"]
    scale = model._scene.standard.scale
    for each, part in zip(said, wanted, strict=True):
        np.testing.assert_allclose(np.reshape(each.data, each.shape) / scale, part / scale, atol=5e-6)
    only = infer(service, InferenceRequest(tensors, outputs=[RequestedOutput("high")])).outputs
    assert only == [said[2]]


@pytest.fixture(scope="module")
def running(exports, tmp_path_factory):
    folder = exports("forecaster_known_bins")[1]
    with Service(folder, tmp_path_factory.mktemp("running") / "s.db") as made:
        yield made


WRONG = {
    "past": ({"times": [0.5]}, 422, "time_in_the_past"),
    "another clock": ({"times": ["2024-01-01"]}, 409, "other_clock"),
    "both": ({"times": [9.0], "horizons": [1.0]}, 422, "bad_question"),
    "before": ({"horizons": [-1.0]}, 422, "bad_body"),
    "a share of one": ({"intervals": 1.0}, 422, "bad_body"),
    "an unknown channel": ({"known": {"a": 1.0}}, 422, "unknown_channel"),
    "another number of values": ({"horizons": [1.0, 2.0], "known": {"b": [1.0]}}, 422, "bad_question"),
    "a text": ({"known": {"b": "much"}}, 422, "bad_value"),
    "too many": ({"horizons": [1.0] * 100_001}, 413, "too_many_forecasts"),
}


def test_forecasts_far_beyond_the_horizon_are_finite(running):
    assert running.send("far", [(2.0, {"a": 1.0})])[0] == 200
    got, answer = running.post("/series/far/forecast", {"horizons": [1.0, 1e6, 1e308]})
    assert got == 200
    assert np.isfinite([list(each["values"].values()) for each in answer["prediction"]["forecast"]]).all()


@pytest.mark.parametrize("name", WRONG)
def test_a_question_that_does_not_fit_takes_no_sample(running, name):
    question, status, code = WRONG[name]
    assert running.send("x", [(2.0, {"a": 1.0})])[0] == 200
    before = running.request("GET", "/series/x")[1]
    got, answer = running.send("x", [(3.0, {"a": 1.0})], forecast=question)
    assert (got, answer["code"]) == (status, code), answer
    got, answer = running.post("/series/x/forecast", question)
    assert (got, answer["code"]) == (status, code), answer
    assert running.request("GET", "/series/x")[1] == before


def test_a_forecaster_over_http(running):
    status, answer = running.send("y", [(2.0, {"a": 1.0, "k": "mid"})], forecast={"horizons": []})
    assert (status, answer["prediction"]) == (200, {"forecast": []})
    status, shown = running.request("GET", "/series/y?horizons=1,2.5&intervals=0.5")
    (first, second) = shown["prediction"]["forecast"]
    assert (first["time"], second["time"]) == (3.0, 4.5)
    assert set(first["values"]) == set(first["low"]) == set(first["high"])
    assert all(first["low"][name] <= first["values"][name] <= first["high"][name] for name in first["values"])
    for query in ("horizons=x", "horizons=1,,2", "horizons=-1", "intervals=1", "intervals=nan"):
        assert running.request("GET", f"/series/y?{query}")[0] == 422
    facts = running.request("GET", "/model")[1]
    assert (facts["task"], facts["known_channels"]) == ("forecasting", ["b"])
    assert "/series/{id}/forecast" in running.request("GET", "/openapi.json")[1]["paths"]
    assert running.post("/series/nobody/forecast", {})[1]["code"] == "unknown_series"


def test_other_models_have_no_forecasts(exported, tmp_path):
    made = service_of(Settings(exported, str(tmp_path / "s.db")))
    with pytest.raises(Refused, match="not for forecasting"):
        made.take("x", NewSamples([Sample(1.0, {"a": 1.0})], forecast=Question()))
    assert made.store.count() == 0
    made.store.close()


def test_a_folder_without_its_third_file_is_refused(exports, tmp_path):
    shutil.copytree(exports("forecaster_dated")[1], tmp_path / "folder")
    assert set(read_exported(tmp_path / "folder")) == {"step.onnx", "series.onnx", "forecast.onnx", "model.json"}
    (tmp_path / "folder" / "forecast.onnx").unlink()
    with pytest.raises(ValueError, match="not a complete folder"):
        read_exported(tmp_path / "folder")
