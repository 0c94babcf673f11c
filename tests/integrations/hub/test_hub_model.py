import hashlib
import json
import os
import shutil

import huggingface_hub
import numpy as np
import pytest
import torch

import liquidtime as lt
from estimators.small import TINY, series
from liquidtime.estimators.files.model_config import ModelFolderError
from liquidtime.files.bounded import DamagedFolder
from liquidtime.integrations.hub import HubModel


@pytest.fixture(scope="module")
def problem():
    return series(40, empty=False)


@pytest.fixture(scope="module")
def model(problem):
    data, labels, _ = problem
    return lt.CfCClassifier(**TINY).fit(data, labels)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    home = tmp_path_factory.mktemp("hub") / "model"
    model.save_pretrained(home)
    return home


def downloaded(folder, cache, name="me/model"):
    """Put a folder into a cache as the hub's client does: links into a store of blobs."""
    commit = "a" * 40
    home = cache / f"models--{name.replace('/', '--')}"
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text(commit)
    (home / "blobs").mkdir()
    place = home / "snapshots" / commit
    place.mkdir(parents=True)
    for file in folder.iterdir():
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        shutil.copy(file, home / "blobs" / digest)
        os.symlink(f"../../blobs/{digest}", place / file.name)
    return name


def test_a_model_comes_back_from_a_folder_as_it_was(problem, model, folder):
    data, _, _ = problem
    again = lt.CfCClassifier.from_pretrained(folder)
    np.testing.assert_array_equal(again.predict_proba(data), model.predict_proba(data))
    assert {file.name for file in folder.iterdir()} == {
        "config.json",
        "manifest.json",
        "model.safetensors",
        "README.md",
    }
    np.testing.assert_array_equal(lt.load(folder).predict_proba(data), model.predict_proba(data))


def test_a_model_comes_back_from_the_hubs_own_cache_without_a_network(problem, model, folder, tmp_path):
    data, _, _ = problem
    name = downloaded(folder, tmp_path)
    again = lt.CfCClassifier.from_pretrained(name, cache_dir=tmp_path, local_files_only=True)
    np.testing.assert_array_equal(again.predict_proba(data), model.predict_proba(data))


def test_the_card_says_which_library_it_is_and_may_be_edited_and_the_weights_may_not(model, folder, tmp_path):
    card = huggingface_hub.ModelCard.load(folder / "README.md")
    assert card.data.library_name == "liquidtime"
    assert "time-series" in card.data.tags
    assert 'lt.CfCClassifier.from_pretrained("owner/name")' in card.text
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "README.md").write_text("---\nlicense: mit\n---\nEdited on the hub.")
    (copy / ".gitattributes").write_text("*.safetensors filter=lfs")
    assert isinstance(lt.CfCClassifier.from_pretrained(copy), lt.CfCClassifier)
    weights = copy / "model.safetensors"
    raw = bytearray(weights.read_bytes())
    raw[-1] ^= 1
    weights.write_bytes(raw)
    with pytest.raises(DamagedFolder, match="another sha256"):
        lt.CfCClassifier.from_pretrained(copy)
    weights.write_bytes(raw[:-1])
    with pytest.raises(ModelFolderError, match=r"model.safetensors is missing, or does not have the size"):
        lt.CfCClassifier.from_pretrained(copy)


def test_pushing_uploads_the_whole_folder_and_no_pickle(model, monkeypatch):
    seen = {}

    class Api:
        def __init__(self, **how):
            pass

        def create_repo(self, repo_id, **how):
            return type("Repo", (), {"repo_id": repo_id})

        def upload_folder(self, repo_id, folder_path, **how):
            seen[repo_id] = sorted(os.listdir(folder_path))
            return "commit"

    monkeypatch.setattr("huggingface_hub.hub_mixin.HfApi", Api)
    assert model.push_to_hub("me/model", private=True) == "commit"
    assert seen == {"me/model": ["README.md", "config.json", "manifest.json", "model.safetensors"]}


def test_a_stack_comes_back_too(problem, tmp_path):
    data, _, level = problem
    model = lt.StackedRegressor(n_networks=1, random_state=0).fit(data, level)
    model.save_pretrained(tmp_path / "stack")
    assert 'lt.StackedRegressor.from_pretrained("owner/name")' in (tmp_path / "stack" / "README.md").read_text()
    again = lt.StackedRegressor.from_pretrained(tmp_path / "stack")
    np.testing.assert_array_equal(again.predict(data), model.predict(data))


def test_what_is_another_kind_of_model_is_said(folder, tmp_path):
    with pytest.raises(TypeError, match=r"is a CfCClassifier, not a CfCRegressor; call CfCClassifier.from_pretrained"):
        lt.CfCRegressor.from_pretrained(folder)
    with pytest.raises(TypeError, match="must be an estimator or a layer of liquidtime; got Linear"):
        HubModel(torch.nn.Linear(1, 1))
    (tmp_path / "manifest.json").write_text("[]")
    with pytest.raises(ModelFolderError, match="not a model of this library"):
        HubModel.from_pretrained(tmp_path)


def test_nothing_of_the_users_is_deleted_or_replaced(model, tmp_path):
    (tmp_path / "config.json").write_text("mine")
    with pytest.raises(FileExistsError):
        model.save_pretrained(tmp_path)
    assert (tmp_path / "config.json").read_text() == "mine"
    assert os.listdir(tmp_path) == ["config.json"]


def test_without_the_package_it_is_said_what_to_install(model, tmp_path, monkeypatch):
    import sys

    for name in [name for name in sys.modules if name.startswith("liquidtime.integrations.hub")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ImportError, match=r"pip install 'liquidtime\[hub\]'"):
        model.save_pretrained(tmp_path / "model")


LAYERS = {
    "plain": lambda: lt.CfC(3, 5, backbone_units=7),
    "many": lambda: lt.CfC(
        3, np.int64(4), "no_gate", 6, 2, "silu", num_layers=2, bidirectional=True, mixed_memory=True
    ),
    "wired": lambda: lt.CfC(3, wiring=lt.wirings.NCP(4, 3, 2, 2, 2, 1, 2, seed=3)),
    "switches": lambda: lt.CfC(3, 5, switch_times=(0.1, 10.0)),
    "ltc": lambda: lt.LTC(3, wiring=lt.wirings.Adjacency(np.eye(4, dtype=int), np.ones((3, 4), int), 2), unfolds=3),
    "double": lambda: lt.LTC(3, 4).double(),
}


@pytest.mark.parametrize("kind", LAYERS)
def test_a_layer_comes_back_as_it_was(kind, tmp_path):
    torch.manual_seed(1)
    layer = LAYERS[kind]()
    layer.save_pretrained(tmp_path / "layer")
    again = type(layer).from_pretrained(tmp_path / "layer")
    x, dt = torch.randn(2, 6, 3), torch.rand(2, 6)
    if kind == "double":
        x, dt = x.double(), dt.double()
    torch.testing.assert_close(again(x, dt=dt)[0], layer(x, dt=dt)[0], rtol=0, atol=0)
    assert "A layer" in (tmp_path / "layer" / "README.md").read_text()


def test_a_layer_whose_arguments_do_not_tell_it_is_refused(tmp_path):
    layer = lt.CfC(3, 5)
    layer.extra = torch.nn.Linear(2, 2)
    with pytest.raises(TypeError, match="was changed after its construction"):
        layer.save_pretrained(tmp_path / "a")

    class Own(lt.CfC):
        pass

    with pytest.raises(TypeError, match="only CfC and LTC layers"):
        Own(3, 5).save_pretrained(tmp_path / "b")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"hidden_size": 10**9}, "`hidden_size` is 1,000,000,000; model.safetensors has"),
        ({"num_layers": 10**6}, "`num_layers` is 1,000,000"),
        ({"hidden_size": 6}, "with shape"),
        ({"colour": 1}, "has no argument 'colour'"),
        ({"wiring": {"type": "NCP", "inter_neurons": 10**6}}, "too many neurons"),
        ({"solver": "semi_implicit"}, "has no argument 'solver'"),
    ],
)
def test_a_strangers_layer_is_refused_before_it_costs_anything(change, words, tmp_path):
    from liquidtime.files.folders import write_folder

    home = tmp_path / "layer"
    lt.CfC(3, 5).save_pretrained(home)
    config = json.loads((home / "config.json").read_text())
    config["arguments"] |= change
    files = {"config.json": json.dumps(config).encode(), "model.safetensors": (home / "model.safetensors").read_bytes()}
    write_folder(tmp_path / "bad", files)
    with pytest.raises(ModelFolderError, match=words):
        lt.CfC.from_pretrained(tmp_path / "bad")
