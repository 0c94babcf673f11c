"""The full set a of PhysioNet 2012, against the counts that its README gives."""

import numpy as np
import polars as pl
import pytest

from liquidtime.data import SeriesEncoder, SeriesSet, align_labels, read_frame
from real_data import REAL

ROOT = REAL / "physionet2012"
pytestmark = pytest.mark.data("physionet2012/records-a.parquet")
LONG = {"id": "record_id", "time": "minutes", "channel": "parameter", "value": "value", "time_unit": "min"}
DESCRIPTORS = ["Age", "Gender", "Height", "ICUType"]


@pytest.fixture(scope="module")
def frame():
    return read_frame(ROOT / "records-a.parquet")


@pytest.fixture(scope="module")
def stays(frame):
    return SeriesSet.from_long(frame, **LONG, static=DESCRIPTORS, categorical=["ICUType"], missing=[-1])


def test_counts_are_those_of_the_readme(frame, stays):
    plain = SeriesSet.from_long(frame, **LONG)
    assert len(plain) == len(stays) == 4000
    assert len(plain.channels) == 41
    assert [(note.kind, note.count) for note in plain.notes] == [("repaired", 3744)]
    measured = frame.filter(~pl.col("parameter").cast(pl.String).is_in([*DESCRIPTORS, "Weight"]))
    series = SeriesSet.from_long(measured, **LONG, ids=plain.ids)
    assert round(series.lengths[series.lengths > 0].mean(), 1) == 73.9
    assert int((series.lengths == 0).sum()) == 3
    assert len(series.channels) == 36
    assert len(plain.times) == frame.select("record_id", "minutes").n_unique()
    assert len(stays.channels) == 37
    assert stays.categories == {"ICUType": ("1", "2", "3", "4")}
    assert stays.ids[stays.lengths == 0].tolist() == [140501, 140936, 141264]
    assert np.isnan(stays.static).sum(axis=0).tolist() == [0, 3, 1894, 0]


def test_values_are_those_of_a_polars_pivot(frame):
    plain = SeriesSet.from_long(frame, **LONG)
    wide = frame.pivot("parameter", index=["record_id", "minutes"], values="value", aggregate_function="mean")
    wide = wide.sort("record_id", "minutes")
    np.testing.assert_array_equal(plain.times, wide["minutes"].to_numpy())
    np.testing.assert_array_equal(np.repeat(plain.ids, plain.lengths), wide["record_id"].to_numpy())
    np.testing.assert_allclose(plain.values, wide.select(plain.channels).to_numpy(), rtol=1e-6)


def test_labels_align_and_the_set_encodes(stays):
    outcomes = (
        read_frame(ROOT / "outcomes.parquet").filter(pl.col("set") == "a").sample(fraction=1.0, shuffle=True, seed=0)
    )
    data, died = align_labels(stays, outcomes, id="record_id", target="in_hospital_death", strict=True)
    assert (len(data), int(died.sum())) == (4000, 554)
    encoder = SeriesEncoder(bin_width=30.0)
    encoded = encoder.fit_transform(data)
    assert encoded.x.shape[1] == encoder.input_size_ == 3 * 37
    assert np.isfinite(encoded.x).all()
    assert np.abs(encoded.x).max() < 20
    halves = [np.unique(np.floor(series.times / 30)) for series in data]
    assert encoder.time_scale_ == 30 * np.median(np.concatenate([np.diff(half) for half in halves]))
    np.testing.assert_array_equal(encoded.lengths, [len(half) for half in halves])
    assert {"Bilirubin", "TroponinT", "Urine"} <= {
        name for name, unit in zip(data.channels, encoder.scaling_.unit, strict=True) if unit > 0
    }
    assert not {"HR", "Temp", "pH"} & {
        name for name, unit in zip(data.channels, encoder.scaling_.unit, strict=True) if unit > 0
    }
