"""The encoder among scikit-learn's transformers."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import liquidtime as lt
from liquidtime.data import SeriesEncoder, SeriesSet

rng = np.random.default_rng(0)
DATA = SeriesSet.from_arrays(
    [(np.cumsum(rng.uniform(0.1, 1, T)), rng.normal(size=(T, 2))) for T in rng.integers(2, 6, size=12)]
)
Y = np.arange(12) % 2


def test_a_pipeline_of_encoder_and_model_fits_predicts_and_clones():
    model = make_pipeline(SeriesEncoder(bin_width=1.0), lt.CfCClassifier(epochs=1, hidden_size=4, random_state=0))
    model.set_params(seriesencoder__bin_width=0.5)
    assert model.fit(DATA, Y).predict_proba(DATA).shape == (12, 2)
    again = clone(model)
    assert again.get_params()["seriesencoder__bin_width"] == 0.5
    assert not hasattr(again[0], "channels_")
    np.testing.assert_allclose(again.fit(DATA, Y).predict_proba(DATA), model.predict_proba(DATA))


def test_settings_are_checked_when_changed():
    with pytest.raises(ValueError, match="`bin_width` must be finite and over 0"):
        SeriesEncoder().set_params(bin_width=-1)
    with pytest.raises(TypeError, match="`bin_widht` is not an argument of SeriesEncoder; did you mean `bin_width`"):
        SeriesEncoder().set_params(bin_widht=1)


def test_encoded_series_are_series():
    encoded = SeriesEncoder().fit_transform(DATA, Y)
    data = encoded.as_set()
    np.testing.assert_array_equal(data.values, encoded.x)
    assert data.lengths.tolist() == DATA.lengths.tolist()
