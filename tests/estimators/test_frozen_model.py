"""Folders written by each format must load in every later version, and predict what they predicted then."""

from pathlib import Path

import numpy as np

import liquidtime as lt
from estimators.small import series

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
