import hashlib
import json
import os
import pickle

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError

import liquidtime as lt
from estimators.forged import sign
from estimators.small import TINY, series
from liquidtime.cells import CfCCell
from liquidtime.estimators import ModelFolderError
from liquidtime.estimators.files.model_folder import _is_pickle
from liquidtime.files.contents import tensors_from_bytes, tensors_to_bytes
from liquidtime.training import DamagedFolder


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    data, labels, _ = series(30, longest=90)
    model = lt.CfCClassifier(**TINY | {"n_estimators": 3, "class_weight": "balanced"}).fit(data, labels)
    assert len(model.encoders_) == 2
    path = tmp_path_factory.mktemp("models") / "good"
    model.save(path, metrics={"auc": 0.75})
    return model, path


@pytest.fixture
def folder(saved, tmp_path):
    """A copy of the good folder, to be spoiled."""
    copy = tmp_path / "model"
    copy.mkdir()
    for file in saved[1].iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


def reconfigured(folder, change):
    config = json.loads((folder / "config.json").read_text())
    change(config)
    (folder / "config.json").write_text(json.dumps(config))
    sign(folder)


def retensored(folder, change):
    tensors = tensors_from_bytes((folder / "model.safetensors").read_bytes())
    change(tensors)
    (folder / "model.safetensors").write_bytes(tensors_to_bytes(tensors))
    sign(folder)


@pytest.mark.parametrize("kind", ["classifier", "regressor", "steps", "forecaster"])
def test_what_is_loaded_predicts_the_same_bits(kind, tmp_path):
    data, labels, level = series(30)
    model = {
        "classifier": lambda: lt.CfCClassifier(**TINY).fit(data, labels),
        "regressor": lambda: lt.CfCRegressor(**TINY).fit(data, np.stack([level, -level], axis=1)),
        "steps": lambda: lt.CfCRegressor(**TINY, per_step=True).fit(data, np.arange(len(data.times))),
        "forecaster": lambda: lt.CfCForecaster(**TINY, horizon=5.0).fit(data),
    }[kind]()
    model.save(tmp_path / "model")
    again = lt.load(tmp_path / "model")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.predict(data), model.predict(data))
    again.save(tmp_path / "second")
    for name in ("config.json", "model.safetensors", "README.md"):
        assert (tmp_path / "second" / name).read_bytes() == (tmp_path / "model" / name).read_bytes()


def test_the_folder_says_what_the_model_is(saved):
    model, path = saved
    assert sorted(file.name for file in path.iterdir()) == [
        "README.md",
        "config.json",
        "manifest.json",
        "model.safetensors",
    ]
    config = json.loads((path / "config.json").read_text())
    assert config["format"] == 3
    assert config["seed"] == model.seed_
    assert config["learned"]["classes"] == ["a", "b", "c"]
    assert [encoder["time_unit"] for encoder in config["encoders"]] == ["h", "h"]
    assert config["versions"]["torch"] == torch.__version__
    assert lt.load(path).metrics_ == {"auc": 0.75}
    card = (path / "README.md").read_text()
    assert "drift, noise, never" in card
    assert f"Networks by turns: samples as they are, bins of {model.encoders_[1].bin_width:g}." in card
    assert "| auc | 0.75 |" in card


def test_arrays_and_classes_of_any_plain_type_come_back(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 6))
    for place, classes in enumerate(([3, 7], [True, False], [0.0, 2.0], ["x", "yy"])):
        model = lt.CfCClassifier(**TINY | {"epochs": 1}).fit(X, np.array(classes)[np.arange(20) % 2])
        model.save(tmp_path / str(place))
        again = lt.load(tmp_path / str(place))
        assert again.classes_.dtype == model.classes_.dtype
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        with pytest.raises(ValueError, match="X has 5 features"):
            again.predict(X[:, :5])


def test_a_function_for_a_network_is_asked_for_again(tmp_path):
    data, labels, _ = series(20)
    own = lambda D: CfCCell(D, 6, backbone_layers=0)  # noqa: E731
    model = lt.CfCClassifier(**TINY | {"network": own}).fit(data, labels)
    model.save(tmp_path / "model")
    with pytest.raises(ModelFolderError, match=r"functions are never stored. Pass it: load\(path, network=...\)"):
        lt.load(tmp_path / "model")
    again = lt.load(tmp_path / "model", network=own)
    np.testing.assert_array_equal(again.predict_proba(data), model.predict_proba(data))


def test_saving_again_keeps_the_one_before(saved, tmp_path):
    model, _ = saved
    model.save(tmp_path / "model")
    model.save(tmp_path / "model", metrics={"auc": 0.9})
    assert lt.load(tmp_path / "model").metrics_ == {"auc": 0.9}
    assert lt.load(tmp_path / "model.previous").metrics_ == {}
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match=r"thesis\.txt"):
        model.save(tmp_path / "full")
    with pytest.raises(NotFittedError):
        lt.CfCClassifier().save(tmp_path / "none")


def test_a_changed_byte_is_found(folder):
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    with pytest.raises(DamagedFolder, match="has another sha256"):
        lt.load(folder)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda t: t.pop("member-1/hidden.weight"), "has no tensor 'hidden.weight'"),
        (lambda t: t.update({"member-0/extra": torch.zeros(1)}), "has a tensor 'extra' that the model does not"),
        (lambda t: t.update({"member-7/extra": torch.zeros(1)}), "has tensors of 'member-7'.*surplus"),
        (lambda t: [t.pop(name) for name in list(t) if name.startswith("member-1/")], "no tensors of 'member-1'"),
        (lambda t: t.update({"member-0/hidden.bias": torch.zeros(3)}), r"'hidden.bias' with shape \(3,\)"),
        (lambda t: t.update({"member-0/hidden.bias": torch.full((8,), torch.nan)}), "other than finite float32"),
        (lambda t: t.update({"encoder-0/channel_mean": torch.zeros(9).double()}), r"`channel_mean` must have shape"),
        (lambda t: t.update({"member-0/pieces.column": t["member-0/pieces.column"] + 1e6}), "pieces must be of"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(folder, change, text):
    retensored(folder, change)
    with pytest.raises(ModelFolderError, match=text):
        lt.load(folder)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda c: c.update(format=5), "has format 5; this version reads up to 4. Update liquidtime"),
        (lambda c: c.update(kind="CfCClassifer"), "did you mean `CfCClassifier`"),
        (lambda c: c["params"].update(hidden_size=10**12), "asks for at least .* weights"),
        (lambda c: c["params"].update(backbone_units=10**9), "asks for at least .* weights"),
        (lambda c: c["params"].update(num_layers=10**9), "asks for at least .* tensors"),
        (lambda c: c.update(pieces=[10**12, 5]), "asks for at least .* weights"),
        (lambda c: c.update(pieces=[5, 10**12]), "asks for at least .* weights"),
        (lambda c: c.update(pieces=[5, -1]), "whole numbers of at least 0 are needed"),
        (lambda c: c.update(pieces=[5]), "has 2 encoders, the pieces of 1 and 3 members"),
        (lambda c: c["encoders"].pop(), "has 1 encoders, the pieces of 2 and 3 members"),
        (lambda c: c["encoders"].__setitem__(1, 7), "an encoder of type int"),
        (lambda c: c["encoders"].reverse(), "must have bins, all but the first"),
        (lambda c: c["encoders"][1].update(time_unit="s"), "must have the same time_unit"),
        (lambda c: c["encoders"][1]["channels"].reverse(), "must have the same channels"),
        (lambda c: c.update(members=10**9), "asks for 1,000,000,000 members"),
        (lambda c: c.update(members="2"), "a `members` of type str"),
        (lambda c: c["params"].update(hiden_size=3), "other `params`"),
        (lambda c: c["params"].update(network="__import__('os')"), "`network` must be one of"),
        (lambda c: c["encoders"][0].update(channels=[1, 2, 3]), "`channels` are not a list of different texts"),
        (lambda c: c["encoders"][1].update(time_scale=-1.0), "time scale greater than 0"),
        (lambda c: c["learned"].update(classes=["a", "a", "b"]), "must be different"),
        (lambda c: c["learned"].update(classes_dtype="<M8[ns]"), "plain type"),
        (lambda c: c["learned"].update(classes_dtype="<f999999999"), "plain type"),
        (lambda c: c.pop("seed"), r"missing \['seed'\]"),
    ],
)
def test_configurations_that_cannot_be_are_refused(folder, change, text):
    reconfigured(folder, change)
    with pytest.raises(ModelFolderError, match=text):
        lt.load(folder)


def test_pickles_are_refused_by_name_and_by_content(folder):
    class Trap:
        def __reduce__(self):
            return (os.mkdir, (str(folder / "sprung"),))

    trap = pickle.dumps(Trap())
    (folder / "model.pkl").write_bytes(trap)
    with pytest.raises(ModelFolderError, match=r"model\.pkl looks like a pickle"):
        lt.load(folder)
    (folder / "model.pkl").unlink()
    (folder / "model.safetensors").write_bytes(trap)
    sign(folder)
    with pytest.raises(ModelFolderError, match="is a pickle under another name"):
        lt.load(folder)
    torch.save({"a": torch.zeros(2)}, folder / "model.safetensors")
    sign(folder)
    with pytest.raises(ModelFolderError, match="is a pickle under another name"):
        lt.load(folder)
    assert not (folder / "sprung").exists()


def test_nothing_outside_the_folder_is_read(folder, tmp_path):
    (tmp_path / "secret").write_text("{}")
    entry = {"bytes": 2, "sha256": hashlib.sha256(b"{}").hexdigest()}
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["../secret"] = entry
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
    with pytest.raises(DamagedFolder, match=r"'../secret' is not the plain name of a file inside the folder"):
        lt.load(folder)
    del manifest["files"]["../secret"]
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
    content = (folder / "config.json").read_bytes()
    (tmp_path / "config.json").write_bytes(content)
    (folder / "config.json").unlink()
    (folder / "config.json").symlink_to(tmp_path / "config.json")
    with pytest.raises(DamagedFolder, match=r"config\.json cannot be read"):
        lt.load(folder)


def test_missing_folders_and_files_are_named(folder, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no model folder"):
        lt.load(tmp_path / "nowhere")
    (folder / "config.json").unlink()
    with pytest.raises(DamagedFolder, match=r"config\.json cannot be read"):
        lt.load(folder)
    sign(folder)
    with pytest.raises(ModelFolderError, match=r"lists no config\.json"):
        lt.load(folder)


def test_no_length_of_the_weights_header_is_taken_for_a_pickle():
    files = [tensors_to_bytes({"a" * n: torch.zeros(1)}) for n in range(1, 300)]
    assert any(raw.startswith(b"\x80") for raw in files)
    assert not any(_is_pickle(raw) for raw in files)
    assert _is_pickle(pickle.dumps({"a": 1}))
