"""Exported forecasters against `forecast`, at any time after every sample of random streams."""

import json
import shutil
import subprocess
import warnings

import numpy as np
import pytest
import torch

import liquidtime as lt
from estimators.small import TINY
from export.models import FORECASTERS, even
from liquidtime.export import graphs
from liquidtime.export.of_model import step_of
from liquidtime.export.run import run
from liquidtime.export.to_c import STRICT
from oracles.series import random_set

pytestmark = pytest.mark.slow
BOUND = 5e-6


@pytest.fixture(scope="module", params=FORECASTERS)
def model(request):
    return FORECASTERS[request.param]()


def stream(encoder, T, seed):
    """Yield times and values: several at one time, long gaps, much left out, unknown categories."""
    rng, t = np.random.default_rng(seed), 0.0
    for _ in range(T):
        t += float(rng.choice([0.0, 0.0, 0.3, 1.0, 2.5, 40.0])) * encoder.time_scale_
        row = rng.normal(size=len(encoder.channels_)) * 3 + 5
        for c, name in enumerate(encoder.channels_):
            if name in encoder.categories_:
                row[c] = rng.integers(-1, len(encoder.categories_[name]))
        row[rng.random(len(row)) < 0.4] = np.nan
        if encoder.plausible.bounds and rng.random() < 0.2:
            row[:] = 1e6
        yield t, row.astype(np.float32)


def asked(model, rng):
    # not a period from an earlier sample, where rounding decides whether it was seen by then
    horizon = float(rng.choice([0.0, 1e-3, 0.2003, 1.0, 3.0])) * model.horizon_
    known = {name: float(rng.normal()) for name in model.known or () if rng.random() < 0.5}
    return horizon, float(rng.choice([0.5, 0.9, 0.99])), known


def test_forecasts_after_every_sample_are_those_of_the_model(model):
    step, rng = step_of(model), np.random.default_rng(0)
    advance, ask = graphs.advance_graph(step), graphs.read_graph(step)
    encoder, F = model.encoder_, len(model.encoder_.static_names_)
    largest = 0.0
    for seed in range(3):
        model.reset()
        dated = step.calendar and seed < 2
        origin = np.datetime64("2024-03-28T07:30", "ns")  # three days before the clocks of Europe change
        state = step.start(1)
        if dated:
            hours = float(origin.astype(np.int64)) / 3.6e12
            state.doubles[0, step.clock["origin"].start], state.doubles[0, step.clock["dated"].start] = hours, 1.0
        for t, row in stream(encoder, 25, seed):
            t = round(t * 3600) / 3600 if dated else t
            model.update("x", origin + np.timedelta64(round(t * 3600), "s") if dated else t, row)
            given = torch.from_numpy(row)[None]
            feed = {"doubles": state[0], "floats": state[1], "t": torch.tensor([t], dtype=torch.float64)}
            after = run(advance, feed | {"values": given.nan_to_num(-7.0), "seen": ~given.isnan()})
            state = after["doubles_after"], after["floats_after"]
            horizon, coverage, known = asked(model, rng)
            wanted = model.forecast("x", [horizon], intervals=coverage, known=known)
            future = torch.tensor([[known.get(name, 0.0) for name in step.known_channels]])
            flags = torch.tensor([[name in known for name in step.known_channels]], dtype=torch.bool)
            now = state[0][:, step.scales[0].fields["step"].start]
            question = {"asked": now + horizon, "coverage": torch.tensor([coverage], dtype=torch.float64)}
            question |= {"future": future.reshape(1, -1).float(), "given": flags.reshape(1, -1)}
            question |= {"static": torch.zeros(1, F), "known": torch.zeros(1, F, dtype=torch.bool)}
            said = run(ask, {"doubles": state[0], "floats": state[1], **question})["prediction"][0].numpy()
            apart = np.abs(said - np.concatenate([part[0] for part in wanted])) / step.spread
            largest = max(largest, float(apart.max()))
    assert 0 < largest < BOUND


def test_onnx_and_c_pass_their_own_check_and_the_runner_forecasts(model, tmp_path):
    pytest.importorskip("onnxruntime")
    from liquidtime.export.onnx_runner import Model

    assert 0 < lt.export.onnx(model, tmp_path / "onnx").largest_difference < BOUND
    runner, encoder, rng = Model(tmp_path / "onnx"), model.encoder_, np.random.default_rng(1)
    model.reset()
    for t, row in stream(encoder, 6, 7):
        assert runner.update("x", t, row) is None
        model.update("x", t, row)
    horizon, coverage, known = asked(model, rng)
    given = runner.forecast("x", [horizon, 2 * horizon], intervals=coverage, known=known)
    wanted = model.forecast("x", [horizon, 2 * horizon], intervals=coverage, known=known)
    scale = np.max(model._scene.standard.scale)
    np.testing.assert_allclose(np.array(given), np.array(wanted), rtol=0, atol=BOUND * scale)
    for call, text in [
        (lambda: runner.forecast("nobody", [1.0]), "no sample yet"),
        (lambda: runner.forecast("x", [-1.0]), "at least 0"),
        (lambda: runner.forecast("x", [1.0], intervals=1.0), "0.99"),
        (lambda: runner.predict_proba([]), "call forecast"),
        (lambda: runner.forecast("x", [1.0], known={"nothing": 1.0}), "known"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=text):
            call()
    if shutil.which("gcc"):
        assert lt.export.c(model, tmp_path / "c").largest_difference < BOUND


def test_whole_series_with_a_known_future(tmp_path):
    pytest.importorskip("onnxruntime")
    from liquidtime.export.onnx_runner import Model

    model = FORECASTERS["forecaster_known_bins"]()
    lt.export.onnx(model, tmp_path / "folder")
    data = random_set(8, [20, 9, 1, 7])
    data.values[-3:, [0, 2, 3]] = np.nan  # of the last series the known channel alone goes on
    static = [{"age": age, "ward": ("east", "west")[int(ward)]} for age, ward in data.static]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = model.predict(data, horizons=[0.5, 4.0], intervals=0.8)
    series = [(each.times, each.values) for each in data]
    given = Model(tmp_path / "folder").forecast_series(series, [0.5, 4.0], static, intervals=0.8)
    scale = np.max(model._scene.standard.scale)
    np.testing.assert_allclose(np.array(given), np.array(wanted), rtol=0, atol=BOUND * scale)


def test_a_series_denser_than_the_memory_is_told_of(tmp_path):
    pytest.importorskip("onnxruntime")
    from liquidtime.export.onnx_runner import Model

    model = FORECASTERS["forecaster_dated"]()
    lt.export.onnx(model, tmp_path / "folder", memory=20)
    runner = Model(tmp_path / "folder")
    for k in range(30):
        runner.update("calm", 24.0 * k, {"x": 5.0})
        runner.update("dense", 0.1 * k, {"x": 5.0})
    assert runner.forecast("calm", [1.0]).shape == (1, 1)
    with pytest.warns(UserWarning, match="more samples than the model can store"):
        runner.forecast("dense", [1.0])
    with pytest.raises(ValueError, match="`memory`"):
        step_of(model, memory=1)
    with pytest.raises(ValueError, match="applies only to forecasters"):
        step_of(lt.CfCClassifier(**TINY | {"epochs": 1}).fit(random_set(0, [9] * 4), [0, 1, 0, 1]), memory=9)


def test_the_memory_holds_what_data_need():
    model = FORECASTERS["forecaster_dated"]()
    stamps = np.datetime64("2024-01-01") + (np.arange(400) * 300).astype("timedelta64[s]")
    dense = lt.SeriesSet.from_arrays([(stamps, np.zeros((400, 1)))], channels=["x"], time_unit="h")
    assert step_of(model, data=dense).recent.capacity >= 24 * 12 + 1 > step_of(model).recent.capacity


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc (Debian: apt-get install gcc)")
def test_c_refuses_questions_without_an_answer(tmp_path):
    lt.export.c(FORECASTERS["forecaster_known_bins"](), tmp_path / "folder")
    (tmp_path / "folder" / "ask.c").write_text("""
#include "model.h"
#include <math.h>
#include <stdio.h>
int main(void)
{
    model_state state;
    float values[MODEL_CHANNELS] = {1, 2, 3, 0}, statics[MODEL_STATICS] = {NAN, NAN}, known[MODEL_KNOWN] = {NAN};
    double out[MODEL_OUTPUTS];
    model_start(&state);
    printf("%d ", model_forecast(&state, 5.0, statics, known, 0.9, out));
    model_update(&state, 5.0, values);
    printf("%d ", model_forecast(&state, 4.9, statics, known, 0.9, out));
    printf("%d ", model_forecast(&state, NAN, statics, known, 0.9, out));
    printf("%d ", model_forecast(&state, 6.0, statics, known, NAN, out));
    printf("%d ", model_forecast(&state, 6.0, statics, known, 1.0, out));
    known[0] = INFINITY;
    printf("%d ", model_forecast(&state, 6.0, statics, known, 0.9, out));
    known[0] = 2;
    printf("%d ", model_forecast(&state, 6.0, statics, known, 0.9, out));
    printf("%d\\n", model_forecast(&state, 1e300, statics, known, 0.9, out));
    return 0;
}
""")
    for options in (STRICT, ("-std=c99", "-Ofast")):
        command = ["gcc", *options, "model.c", "ask.c", "-lm", "-o", "ask"]
        subprocess.run(command, cwd=tmp_path / "folder", check=True)
        done = subprocess.run(["./ask"], cwd=tmp_path / "folder", capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["6", "2", "1", "7", "7", "3", "0", "0"]  # however far ahead


def test_a_stack_is_refused_and_its_networks_are_exported_with_the_change(tmp_path):
    pytest.importorskip("onnxruntime")
    from estimators.stacking import small_forecasts

    data = small_forecasts.swings(20, 0)
    model = small_forecasts.forecaster(data)
    with pytest.raises(ValueError, match="part='networks'"):
        step_of(model)
    result = lt.export.onnx(model, tmp_path / "folder", data=data, part="networks")
    wanted = model.compare(data)["model"].mse, model.cfc_.compare(data)["model"].mse
    assert f"mse {wanted[0]:.4g} -> {wanted[1]:.4g}" in result.facts["part"]
    described = json.loads((tmp_path / "folder" / "model.json").read_text())
    assert described["targets"] == list(model.channels_)


def test_an_old_forecaster_is_refused():
    old = even(FORECASTERS["forecaster_dated"]())
    old._carried = object()
    with pytest.raises(ValueError, match="fit it again"):
        step_of(old)
