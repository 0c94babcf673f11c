"""Networks that read what was observed get it from the encoder's layout."""

import numpy as np
import pytest
import torch

import liquidtime as lt
from estimators.small import TINY
from liquidtime.baselines.recurrent import GRUDCell, ImputeGRUCell
from liquidtime.cells import GRUCell
from liquidtime.data.encoding.encoder_layout import Layout
from liquidtime.networks import MASKED, NETWORKS, cell_maker


def test_masks_belong_to_the_columns_of_values():
    layout = Layout(("values", "mask", "since"), ["HR", "rhythm", "pH"], [], {"rhythm": ["a", "b"]}, [])
    for column, mask in enumerate(layout.mask_of):
        assert layout.inputs[mask] == f"{layout.inputs[column].split('=')[0]} observed"
    assert len(layout.mask_of) == 4
    assert Layout(("values",), ["HR"], [], {}, []).mask_of == ()
    assert Layout(("mask",), ["HR"], [], {}, []).mask_of == ()


@pytest.mark.parametrize(
    ("network", "kind", "later"), [("gru_d", GRUDCell, GRUDCell), ("rnn_impute", ImputeGRUCell, GRUCell)]
)
def test_only_the_first_layer_has_masks(network, kind, later):
    make = cell_maker(network, 5, 6, [2, 3])
    first, second = make(4), make(4)
    assert type(first) is kind
    assert first.imputed.masks.tolist() == [2, 3]
    assert type(second) is later
    assert getattr(second, "imputed", None) is None
    assert type(cell_maker(network, 5, 6)(4)) is later
    assert set(MASKED) <= set(NETWORKS)


def test_an_estimator_tells_gru_d_what_was_observed(tmp_path):
    rng = np.random.default_rng(0)
    series = []
    for _ in range(16):
        t = np.sort(rng.uniform(0, 10, 6))
        values = rng.normal(size=(6, 2))
        values[rng.random((6, 2)) < 0.4] = np.nan
        series.append((t, values))
    data, y = lt.SeriesSet.from_arrays(series), np.arange(16) % 2
    model = lt.CfCClassifier(**TINY | {"network": "gru_d", "epochs": 1}).fit(data, y)
    cell = model.networks_[0].recurrent.cells[0]
    assert cell.imputed.masks.tolist() == list(model.encoder_.layout_.mask_of)
    model.save(tmp_path / "model")
    again = lt.load(tmp_path / "model")
    assert torch.equal(again.networks_[0].recurrent.cells[0].imputed.masks, cell.imputed.masks)
    np.testing.assert_array_equal(again.predict_proba(data), model.predict_proba(data))
