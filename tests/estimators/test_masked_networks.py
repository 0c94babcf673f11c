"""Networks that read what was observed get it from the encoder's layout."""

import numpy as np
import pytest
import torch

import liquidtime as lt
from estimators.small import TINY
from liquidtime.baselines.recurrent import GRUDCell, ImputeGRUCell
from liquidtime.data.encoding.encoder_layout import Layout


def test_masks_belong_to_the_columns_of_values():
    layout = Layout(("values", "mask", "since"), ["HR", "rhythm", "pH"], [], {"rhythm": ["a", "b"]}, [])
    for column, mask in enumerate(layout.mask_of):
        assert layout.inputs[mask] == f"{layout.inputs[column].split('=')[0]} observed"
    assert len(layout.mask_of) == 4
    assert Layout(("values",), ["HR"], [], {}, []).mask_of == ()
    assert Layout(("mask",), ["HR"], [], {}, []).mask_of == ()


@pytest.mark.parametrize(("network", "kind"), [("gru_d", GRUDCell), ("rnn_impute", ImputeGRUCell)])
def test_an_estimator_tells_the_network_what_was_observed(network, kind, tmp_path):
    rng = np.random.default_rng(0)
    series = []
    for _ in range(16):
        t = np.sort(rng.uniform(0, 10, 6))
        values = rng.normal(size=(6, 2))
        values[rng.random((6, 2)) < 0.4] = np.nan
        series.append((t, values))
    data, y = lt.SeriesSet.from_arrays(series), np.arange(16) % 2
    model = lt.CfCClassifier(**TINY | {"network": network, "epochs": 1}).fit(data, y)
    (cell,) = model.networks_[0].recurrent.cells
    assert type(cell) is kind
    assert cell.imputed.masks.tolist() == list(model.encoder_.layout_.mask_of)
    model.save(tmp_path / "model")
    again = lt.load(tmp_path / "model")
    assert torch.equal(again.networks_[0].recurrent.cells[0].imputed.masks, cell.imputed.masks)
    np.testing.assert_array_equal(again.predict_proba(data), model.predict_proba(data))
