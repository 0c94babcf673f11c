"""A folder written by format 1 must load in every later version, and predict what it predicted then."""

from pathlib import Path

import numpy as np

import liquidtime as lt
from estimators.small import series

FROZEN = Path(__file__).parent / "frozen_model"


def test_format_1_still_loads_and_predicts_the_same():
    model = lt.load(FROZEN / "format-1")
    assert isinstance(model, lt.CfCClassifier)
    assert model.n_estimators == len(model.networks_) == 2
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.metrics_ == {"accuracy": 0.5}
    assert model.encoder_.time_unit_ == "h"
    data, _, _ = series(8, seed=5)
    stored = np.loadtxt(FROZEN / "probabilities.csv", delimiter=",")
    np.testing.assert_allclose(model.predict_proba(data), stored, atol=1e-5)
    assert np.ptp(stored, axis=0).min() > 0.02  # the figures differ from series to series
