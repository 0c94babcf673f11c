"""Exported folders that are cut, forged or mixed: refused when the service opens them, with the reason."""

import hashlib
import json
import shutil

import onnx
import pytest

from liquidtime.serving.model import ServedModel


def signed(folder):
    """Put the sums of the files as they are now into manifest.json, as a forger would."""
    sums = {
        file.name: {"size": file.stat().st_size, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
        for file in folder.iterdir()
        if file.name != "manifest.json"
    }
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "files": sums}))


def forged(folder, described):
    """Put another description into model.json, and into the models beside it."""
    text = json.dumps(described)
    (folder / "model.json").write_text(text)
    for path in folder.glob("*.onnx"):
        model = onnx.load(path)
        (entry,) = [each for each in model.metadata_props if each.key == "manifest"]
        entry.value = text
        onnx.save(model, path)
    signed(folder)


@pytest.fixture
def copy(exported, tmp_path):
    return shutil.copytree(exported, tmp_path / "copy")


def test_a_folder_that_was_signed_again_is_served(copy):
    forged(copy, json.loads((copy / "model.json").read_text()))
    assert ServedModel(copy).outputs == 2


@pytest.mark.parametrize("name", ["manifest.json", "model.json", "step.onnx", "series.onnx"])
def test_files_that_are_cut_or_missing(copy, name):
    content = (copy / name).read_bytes()
    for piece in (None, b"", content[:1], content[: len(content) // 2], content[:-2], b"\xff" + content, b"[" * 60_000):
        (copy / name).unlink() if piece is None else (copy / name).write_bytes(piece)
        with pytest.raises(ValueError, match=r"not a complete folder|does not have the sha256"):
            ServedModel(copy)
        if piece is not None and name != "manifest.json":
            signed(copy)
            with pytest.raises(ValueError, match=r"not a model that|does not describe|no model that|of another model"):
                ServedModel(copy)


CHANGES = {
    "no channels": lambda it: it.pop("channels"),
    "channels that are no list": lambda it: it.update(channels={"a": 1}),
    "a channel less": lambda it: it["channels"].pop(),
    "a channel more": lambda it: it["channels"].append(it["channels"][0] | {"name": "more"}),
    "a channel without a name": lambda it: it["channels"][0].pop("name"),
    "a number as a name": lambda it: it["channels"][0].update(name=7),
    "categories that are texts": lambda it: it["channels"][3].update(categories="abc"),
    "no static": lambda it: it.pop("static"),
    "a static feature less": lambda it: it["static"].pop(),
    "no state": lambda it: it.update(state=None),
    "a state of nothing": lambda it: it["state"].update(doubles=0),
    "a state without end": lambda it: it["state"].update(floats=10**15),
    "a negative state": lambda it: it["state"].update(floats=-1),
    "no outputs": lambda it: it.update(outputs=0),
    "outputs without end": lambda it: it.update(outputs=10**12),
    "another number of outputs": lambda it: it.update(outputs=3),
    "classes less": lambda it: it.update(classes=[0]),
    "classes that are lists": lambda it: it.update(classes=[[0], [1]]),
    "a threshold that is a text": lambda it: it.update(threshold="0.5"),
    "time units that are none": lambda it: it.update(nanoseconds_per_time_unit=0),
    "negative time units": lambda it: it.update(nanoseconds_per_time_unit=-1.0),
    "infinite time units": lambda it: it.update(nanoseconds_per_time_unit=float("inf")),
    "time units that are not a number": lambda it: it.update(nanoseconds_per_time_unit=float("nan")),
    "facts that are a list": lambda it: it.update(facts=[1]),
    "another task": lambda it: it.update(task="forecasting"),
    "a task that is none": lambda it: it.update(task=["regression"]),
    "another format": lambda it: it.update(format=2),
    "a format that is none": lambda it: it.update(format={}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_descriptions_that_do_not_fit_their_models(copy, name):
    described = json.loads((copy / "model.json").read_text())
    CHANGES[name](described)
    forged(copy, described)
    with pytest.raises(ValueError, match=str(copy)):
        ServedModel(copy)


def test_models_whose_tensors_do_not_fit(copy):
    for first, second in (("step.onnx", "series.onnx"), ("series.onnx", "step.onnx")):
        kept = (copy / first).read_bytes()
        shutil.copy(copy / second, copy / first)
        signed(copy)
        with pytest.raises(ValueError, match="contains a model that does not run"):
            ServedModel(copy)
        (copy / first).write_bytes(kept)
    model = onnx.load(copy / "step.onnx")
    model.graph.output[2].type.tensor_type.shape.dim[1].dim_value = 2
    model.graph.node[-1].input[0] = model.graph.node[-3].input[0]  # the state where the prediction should be
    onnx.save(model, copy / "step.onnx")
    signed(copy)
    with pytest.raises(ValueError, match=r"step.onnx is no model|does not run"):
        ServedModel(copy)
