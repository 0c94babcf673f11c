"""Folders written by each format must load in every later version, and predict what they predicted then."""

import json
from pathlib import Path

import numpy as np
import pytest

import liquidtime as lt
from estimators.forged import sign
from estimators.small import TINY, series
from liquidtime.networks import ALIASES, NETWORKS

FROZEN = Path(__file__).parent / "frozen_model"


def assert_predicts(model, data, stored):
    figures = np.loadtxt(FROZEN / stored, delimiter=",")
    np.testing.assert_allclose(model.predict_proba(data), figures, atol=1e-5)
    assert np.ptp(figures, axis=0).min() > 0.02  # the figures differ from series to series


def test_format_1_still_loads_and_predicts_the_same(tmp_path):
    model = lt.load(FROZEN / "format-1")
    assert isinstance(model, lt.CfCClassifier)
    assert model.n_estimators == len(model.networks_) == 2
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.metrics_ == {"accuracy": 0.5}
    assert model.encoder_.time_unit_ == "h"
    data, _, _ = series(8, seed=5)
    assert_predicts(model, data, "probabilities.csv")
    model.save(tmp_path / "newer")
    assert_predicts(lt.load(tmp_path / "newer"), data, "probabilities.csv")


def test_format_2_still_loads_both_time_scales_and_predicts_the_same():
    model = lt.load(FROZEN / "format-2")
    assert model.n_estimators == len(model.networks_) == 3
    assert [encoder.bin_width for encoder in model.encoders_] == [None, 2.0]
    assert model.bin_width == "scales"
    data, _, _ = series(8, seed=5, longest=90)
    assert_predicts(model, data, "probabilities-2.csv")


def test_a_forecaster_of_the_first_form_still_loads_and_forecasts_the_same(tmp_path):
    model = lt.load(FROZEN / "forecaster-1")
    data, _, _ = series(8, seed=5)
    figures = np.loadtxt(FROZEN / "forecasts.csv", delimiter=",")
    np.testing.assert_allclose(model.predict(data, horizons=[0.5, 4.0]).reshape(8, -1), figures, atol=1e-4)
    age, sex = data[4].static
    static = {"age": float(age), "sex": "fm"[int(sex)]}
    for time, values in zip(data[4].times, data[4].values, strict=True):
        model.update("live", time, values, static=static)
        static = None
    np.testing.assert_allclose(model.forecast("live", [0.5, 4.0]).ravel(), figures[4], atol=1e-4)
    assert set(model.compare(data)) == {"model", "last_value", "straight_line", "mean_so_far"}
    with pytest.raises(ValueError, match="saved by an earlier version"):
        model.predict(data, horizons=[1.0], intervals=0.9)
    model.save(tmp_path / "again")
    np.testing.assert_allclose(
        lt.load(tmp_path / "again").predict(data, horizons=[0.5, 4.0]).reshape(8, -1), figures, atol=1e-4
    )


NAMES_OF_THE_FIRST_RELEASE = [
    "cfc",
    "no_gate",
    "cf_s",
    "cf_s_paper",
    "cfc_mm",
    "ltc",
    "lstm",
    "gru",
    "rnn",
    "augmented_lstm",
    "bidirectional_rnn",
    "cornn",
    "ct_gru",
    "ct_lstm",
    "ct_rnn",
    "gru_d",
    "gru_ode",
    "lipschitz_rnn",
    "ode_lstm",
    "ode_rnn",
    "phased_lstm",
    "rnn_decay",
    "rnn_delta_t",
    "rnn_impute",
    "hippo_lagt",
    "hippo_legs",
    "lmu",
    "relu_gru",
    "skip_lstm",
    "exp_rnn",
    "ip_net",
    "seft",
    "rnn_vae",
    "latent_ode_rnn",
    "latent_ode",
    "mtand",
    "mtand_full",
    "transformer",
    "bidirectional",
]


@pytest.mark.parametrize("name", NAMES_OF_THE_FIRST_RELEASE)
def test_a_folder_with_a_name_of_the_first_release_loads(name, tmp_path):
    data, labels, _ = series(12)
    model = lt.CfCClassifier(**TINY | {"epochs": 1, "network": name}).fit(data, labels)
    model.save(tmp_path / "model")
    assert json.loads((tmp_path / "model" / "config.json").read_text())["params"]["network"] == name
    np.testing.assert_array_equal(lt.load(tmp_path / "model").predict_proba(data), model.predict_proba(data))


def test_no_name_of_the_first_release_was_lost():
    assert set(NAMES_OF_THE_FIRST_RELEASE) <= {*NETWORKS, *ALIASES}


@pytest.mark.parametrize("alias", ALIASES)
def test_a_folder_with_another_name_for_a_network_is_the_same_model(alias, tmp_path):
    data, labels, _ = series(12)
    model = lt.CfCClassifier(**TINY | {"epochs": 1, "network": ALIASES[alias]}).fit(data, labels)
    model.save(tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    config["params"]["network"] = alias
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    sign(tmp_path / "model")
    again = lt.load(tmp_path / "model")
    assert again.network == alias
    np.testing.assert_array_equal(again.predict_proba(data), model.predict_proba(data))
    fitted = lt.CfCClassifier(**TINY | {"epochs": 1, "network": alias}).fit(data, labels)
    np.testing.assert_array_equal(fitted.predict_proba(data), model.predict_proba(data))
