"""The encoder among scikit-learn's transformers."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import liquidtime as lt
from liquidtime.baselines.features import RichFeatures
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
    with pytest.raises(ValueError, match="`bin_width` must be finite and greater than 0"):
        SeriesEncoder().set_params(bin_width=-1)
    with pytest.raises(TypeError, match="`bin_widht` is not an argument of SeriesEncoder; did you mean `bin_width`"):
        SeriesEncoder().set_params(bin_widht=1)


def test_encoded_series_are_series():
    encoded = SeriesEncoder().fit_transform(DATA, Y)
    data = encoded.as_set()
    np.testing.assert_array_equal(data.values, encoded.x)
    assert data.lengths.tolist() == DATA.lengths.tolist()


def test_the_output_is_a_frame_with_one_row_per_step_where_asked_for():
    encoded = SeriesEncoder().fit(DATA).transform(DATA)
    encoder = SeriesEncoder().set_output(transform="pandas").fit(DATA)
    frame = encoder.transform(DATA)
    assert list(frame.columns) == list(encoder.get_feature_names_out())
    assert frame.index.names == ["id", "time"]
    np.testing.assert_array_equal(frame.to_numpy(), encoded.x)
    np.testing.assert_array_equal(frame.index.get_level_values("time"), encoded.times)
    other = encoder.set_output(transform="polars").transform(DATA)
    assert other.columns == ["id", "time", *encoder.get_feature_names_out()]
    np.testing.assert_array_equal(other["0 observed"].to_numpy(), frame["0 observed"])
    assert isinstance(encoder.set_output(transform="default").transform(DATA), type(encoded))
    with pytest.raises(ValueError, match="`transform` must be one of"):
        encoder.set_output(transform="numpy")


def test_a_pipeline_that_outputs_frames_predicts_the_same():
    def piped():
        return make_pipeline(SeriesEncoder(bin_width=1.0), lt.CfCClassifier(epochs=1, hidden_size=4, random_state=0))

    framed = piped().set_output(transform="pandas").fit(DATA, Y)
    assert list(framed[:-1].get_feature_names_out()) == list(framed[0].get_feature_names_out())
    assert clone(framed)[0].fit_transform(DATA).shape[1] == 6
    np.testing.assert_allclose(framed.predict_proba(DATA), piped().fit(DATA, Y).predict_proba(DATA), atol=1e-6)


def test_tables_of_features_per_series_are_frames_too_for_models_of_other_libraries():
    features = RichFeatures().set_output(transform="pandas")
    table = features.fit_transform(DATA)
    assert table.shape == (12, len(features.get_feature_names_out()))
    model = make_pipeline(RichFeatures(), SimpleImputer(), LogisticRegression()).set_output(transform="polars")
    assert model.fit(DATA, Y).predict(DATA).shape == (12,)
    assert model[:-1].transform(DATA).columns == list(model[:-1].get_feature_names_out())
