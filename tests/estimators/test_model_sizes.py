"""A model folder that asks for more than its file holds is refused before a network is built."""

import json
import time

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import liquidtime as lt
from estimators.forged import sign
from estimators.small import TINY, series
from liquidtime.estimators.files.model_config import check_sizes
from liquidtime.estimators.files.model_folder import ModelFolderError
from liquidtime.networks import ALIASES, NETWORKS, entry_of

D, H, U, R, PIECES, OUTPUTS = 6, 2, 64, 4, 5, 1


@pytest.mark.parametrize("network", [*NETWORKS, *ALIASES])
def test_what_a_network_has_is_never_too_little(network):
    """A narrow network beside many backbone units that it may not read."""
    entry = entry_of(network)
    built = entry.model(D, H, 1, mask=True) if entry.reads_series else entry.cell(D, H, U, masks=[3, 4, 5])
    weights = list(built.parameters())
    read_out = R * (3 * built.output_size + PIECES + OUTPUTS)
    elements, tensors = sum(weight.numel() for weight in weights) + read_out, len(weights) + 4
    params = {"hidden_size": H, "backbone_units": U, "num_layers": 1, "network": network, "read_out_units": R}
    check_sizes(params, 1, D, PIECES, OUTPUTS, elements, tensors)
    with pytest.raises(ModelFolderError, match=r"asks for at least .* weights"):
        check_sizes({**params, "hidden_size": 10**9}, 1, D, PIECES, OUTPUTS, elements, tensors)
    with pytest.raises(ModelFolderError, match=r"asks for at least .* tensors"):
        check_sizes({**params, "num_layers": 20_000}, 1, D, PIECES, OUTPUTS, 10**9, tensors)
    with pytest.raises(ModelFolderError, match=r"asks for at least .* tensors"):
        check_sizes(params, 1000, D, PIECES, OUTPUTS, 10**9, tensors)


@pytest.mark.parametrize("network", ["cfc", "lstm", "gru_d"])
def test_layers_that_the_file_has_no_tensors_for_are_not_built(network, tmp_path):
    data, labels, _ = series(24)
    settings = TINY | {"epochs": 1, "hidden_size": 1, "backbone_units": 1, "network": network}
    lt.CfCClassifier(**settings).fit(data, labels).save(tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    config["params"]["num_layers"] = 20_000
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    weights = tmp_path / "model" / "model.safetensors"
    save_file(load_file(weights) | {"member-0/surplus": np.zeros(200_000, np.float32)}, weights)
    sign(tmp_path / "model")
    began = time.perf_counter()
    with pytest.raises(ModelFolderError, match=r"asks for at least .* tensors"):
        lt.load(tmp_path / "model")
    assert time.perf_counter() - began < 2
