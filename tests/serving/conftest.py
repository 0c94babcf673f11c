import importlib.util
import warnings

import pytest

import liquidtime as lt
from export.models import trained
from oracles.series import random_set

NEEDED = ("onnx", "onnxruntime", "starlette", "uvicorn", "msgspec", "prometheus_client", "redis", "psycopg_pool")
if any(importlib.util.find_spec(name) is None for name in NEEDED):
    collect_ignore_glob = ["*"]


@pytest.fixture(scope="session")
def model():
    """Return a classifier with two scales, static features and a categorical channel."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return trained(n_estimators=2, bin_width="scales")


@pytest.fixture(scope="session")
def exported(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported") / "ward"
    lt.export.onnx(model, folder)
    return folder


@pytest.fixture(scope="session")
def data():
    """Return series that were not trained on, each value once at its time."""
    return random_set(5, [12, 9, 15, 1, 11, 8])


@pytest.fixture(scope="session")
def streams(data):
    """Return the samples of each series by id, as the service takes them, and its static features."""
    labels = data.categories["k"]
    made = {}
    for id, series in zip(data.ids.tolist(), data, strict=True):
        samples = []
        for t, row in zip(series.times.tolist(), series.values.tolist(), strict=True):
            named = dict(zip(data.channels, row, strict=True))
            values = {name: value for name, value in named.items() if value == value}
            if "k" in values:
                values["k"] = labels[int(values["k"])]
            samples.append((t, values))
        made[id] = samples
    return made


@pytest.fixture(scope="session")
def statics(data):
    rows = zip(data.ids.tolist(), data.static.tolist(), strict=True)
    wards = data.categories["ward"]
    return {id: ({"age": age} if age == age else {}) | {"ward": wards[int(ward)]} for id, (age, ward) in rows}


@pytest.fixture(scope="session")
def batch(model, data):
    """Return the probabilities of the whole series by id."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dict(zip(data.ids.tolist(), model.predict_proba(data), strict=True))
