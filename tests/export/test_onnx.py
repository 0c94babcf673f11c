"""ONNX files against the library, run by onnxruntime alone."""

import json
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch

import liquidtime as lt
from export.models import MODELS, trained
from liquidtime.export.graphs import step_graph
from liquidtime.export.of_model import step_of
from liquidtime.export.trace import trace
from oracles.series import random_set

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from liquidtime.export import onnx_runner

KINDS = ["scales", "per_step", "ltc", "wired", "mixed_memory", "gru"]


@pytest.fixture(scope="module", params=KINDS)
def exported(request, tmp_path_factory):
    model, folder = MODELS[request.param](), tmp_path_factory.mktemp("onnx") / "folder"
    return model, folder, lt.export.onnx(model, folder)


def test_the_check_ran_and_its_numbers_are_told(exported):
    _, folder, result = exported
    assert 0.0 < result.largest_difference < 5e-6
    assert result.microseconds > 0
    assert {file.name: file.stat().st_size for file in folder.iterdir() if file.name != "manifest.json"} == result.sizes
    assert len(json.loads((folder / "vectors.json").read_text())) == 20


def test_whole_sets_equal_the_model(exported):
    model, folder, _ = exported
    if len(model.encoder_.channels_) != 4 or not hasattr(model, "classes_"):
        pytest.skip("a set of another shape")
    data = random_set(8, [20, 0, 1, 7])
    static = [{"age": age, "ward": ("east", "west")[int(ward)]} for age, ward in data.static]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = model.predict_proba(data)
    runner = onnx_runner.Model(folder)
    series = [(each.times, each.values) for each in data]
    np.testing.assert_allclose(runner.predict_proba(series, static), wanted, atol=5e-6)
    assert runner.predict(series, static) == model.classes_[wanted.argmax(axis=1)].tolist()


def test_the_runner_takes_names_and_time_stamps_and_refuses_what_update_refuses(exported):
    model, folder, _ = exported
    if len(model.encoder_.channels_) != 4:
        pytest.skip("has no categories")
    runner = onnx_runner.Model(folder)
    samples = [
        ("2024-01-01T00:00", {"a": 1.0, "k": "mid"}),
        ("2024-01-01T05:30", {"b": 2.0, "k": "strange", "a": None}),
    ]
    model.reset()
    for k, (stamp, values) in enumerate(samples):
        static = {"static": {"ward": "west"}} if k == 0 else {}
        t = np.datetime64(stamp)
        wanted = np.reshape(model.update("x", t, values, **static), -1)
        np.testing.assert_allclose(runner.update("x", t, values, **static), wanted, atol=5e-6)
    for t, values, text in [
        (9.0, {"a": 1.0}, "same type"), (np.datetime64("2024-01-01T05:00"), {}, "earlier than"),
        (np.datetime64("2025-01-01"), {"strange": 1.0}, "not one of"),
        (np.datetime64("2025-01-01"), {"a": np.inf}, "finite"),
        (np.datetime64("2025-01-01"), [0.0, 0.0, 0.0, 7.0], "position"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=text):
            runner.update("x", t, values)
    np.testing.assert_allclose(runner.update("x", t, {}), np.reshape(model.update("x", t, {}), -1), atol=5e-6)
    with pytest.raises(ValueError, match="finite"):
        runner.update("new", np.inf, {})
    runner.reset()
    with pytest.raises(ValueError, match="too large for float32"):
        [runner.update("far", t, {"a": 1.0}) for t in (-1e300, 1e300)]


def test_the_runner_needs_neither_torch_nor_this_package(exported):
    _, folder, _ = exported
    code = (
        "import sys\n"
        f"sys.path = [p for p in sys.path if 'liquidtime' not in p]; sys.path.insert(0, {str(folder)!r})\n"
        "import runner\n"
        f"print(max(runner.check({str(folder)!r})))\n"
        "assert not {'torch', 'liquidtime', 'onnx'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 5e-6 * 1.1e3  # per_step's targets have a deviation of a thousand


@pytest.mark.parametrize("exported", ["per_step"], indirect=True)
def test_the_runner_refuses_files_that_are_not_as_they_were_written(exported, tmp_path):
    _, folder, _ = exported
    step, series = ((folder / name).read_bytes() for name in ("step.onnx", "series.onnx"))
    for k, (name, content) in enumerate(
        [
            ("model.json", b""), ("model.json", b"[]"), ("model.json", b"\xff{}"), ("manifest.json", b"[1"),
            ("manifest.json", b'{"files": []}'), ("manifest.json", b"[" * 10**5),
            ("step.onnx", step[:-1]), ("step.onnx", series),
        ]
    ):  # fmt: skip
        shutil.copytree(folder, tmp_path / str(k))
        (tmp_path / str(k) / name).write_bytes(content)
        with pytest.raises(ValueError, match="was changed"):
            onnx_runner.Model(tmp_path / str(k)).update("x", 1.0, {})


@pytest.mark.parametrize(
    "layer",
    [
        lambda: lt.CfC(3, 5),
        lambda: lt.LTC(3, 5),
        lambda: lt.CfC(3, 4, num_layers=2, mixed_memory=True, batch_first=False),
        lambda: lt.CfC(2, 4, variant="cf_s", backbone_activation="gelu", proj_size=3),
        lambda: lt.CfC(3, 4, variant="no_gate", num_layers=2, bidirectional=True, batch_first=False),
        lambda: lt.LTC(2, 4, bidirectional=True, proj_size=2),
        lambda: lt.CfC(3, wiring=lt.wirings.AutoNCP(9, 2), mixed_memory=True),
        lambda: lt.LTC(3, wiring=lt.wirings.AutoNCP(9, 2), num_layers=2),
        lambda: lt.CfC(3, 5).double().train(),
    ],
)
def test_a_bare_layer_is_one_file(layer, tmp_path):
    import onnxruntime

    rnn = layer()
    lt.export.onnx(rnn, tmp_path / "rnn.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "rnn.onnx", providers=["CPUExecutionProvider"])
    assert rnn.training  # the layer itself is left as it is
    rnn.float()
    shape = (4, 9) if rnn.batch_first else (9, 4)
    x, dt = torch.randn(*shape, rnn.input_size), torch.rand(*shape)
    with torch.inference_mode():
        first = rnn(x, dt=dt)[1]
        y, h = rnn(x, first, dt=dt)
    starts = [first] if isinstance(first, torch.Tensor) else list(first)
    ends = [h] if isinstance(h, torch.Tensor) else list(h)
    names = [given.name for given in session.get_inputs()]
    feed = dict(zip(names, [x.numpy(), dt.numpy(), *(part.numpy() for part in starts)], strict=True))
    for given, wanted in zip(session.run(None, feed), [y, *ends], strict=True):
        np.testing.assert_allclose(given, wanted.numpy(), atol=5e-6)


def test_a_model_that_came_out_wrong_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr("liquidtime.export.vectors.BOUND", 0.0)
    with pytest.raises(lt.export.CheckFailed, match="nothing was written"):
        lt.export.onnx(trained(), tmp_path / "folder")
    assert not list(tmp_path.iterdir())


def test_real_series_become_test_vectors(tmp_path):
    data = random_set(8, [20, 0, 70, 7])
    lt.export.onnx(trained(), tmp_path / "folder", data=data)
    vectors = json.loads((tmp_path / "folder" / "vectors.json").read_text())
    assert [vector["id"] for vector in vectors] == ["s0", "s2", "s3"]
    assert [len(vector["times"]) for vector in vectors] == [20, 60, 7]
    np.testing.assert_array_equal(np.array(vectors[0]["values"], dtype=np.float32), data.values[:20])


def test_nothing_is_computed_twice_and_nothing_that_is_not_needed():
    graph = step_graph(step_of(trained()))
    made = [
        (made.kind, tuple(map(id, made.inputs)), repr(made.options), made.output.dtype, made.output.shape)
        for made in graph.operations
    ]
    assert len(set(made)) == len(made)


def test_what_has_no_counterpart_is_named():
    with pytest.raises(ValueError, match=r"aten\.cumsum"):
        trace(lambda x: x.cumsum(dim=1), {"x": torch.zeros(1, 3)}, ["y"])
    with pytest.raises(ValueError, match="over series"):
        trace(lambda x: x - x.sum(dim=[0], keepdim=True), {"x": torch.zeros(1, 3)}, ["y"])
