"""Sets as tables and arrays of other libraries, and as pictures."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from liquidtime.data import SeriesSet
from oracles.series import assert_same

FRAME = pl.DataFrame(
    {
        "who": ["a", "a", "b", "b", "b"],
        "when": ["2024-03-01 00:00:00.000000001", "2024-03-01 06:00", "2024-01-01", "2024-01-02", "2024-01-04"],
        "x": [1.0, None, 3.0, 4.5, 5.0],
        "kind": ["red", "blue", None, "red", "red"],
        "age": [40, 40, 50, 50, 50],
    }
)
READ = {"id": "who", "time": "when", "static": ["age"], "categorical": ["kind"], "time_unit": "h"}


@pytest.fixture(scope="module")
def data():
    return SeriesSet.from_wide(FRAME, **READ)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_set_comes_back_from_its_table(data, kind):
    table = getattr(data, f"to_{kind}")(id="who", time="when")
    assert list(table.columns) == ["who", "when", "x", "kind", "age"]
    assert_same(SeriesSet.from_wide(table, **READ), data)
    numbers = SeriesSet.from_arrays([([0, 2], [[1.0, 2.0], [np.nan, 4.0]]), ([5], [[1.0, np.nan]])], time_unit="s")
    assert_same(SeriesSet.from_wide(getattr(numbers, f"to_{kind}")(), id="id", time="time", time_unit="s"), numbers)
    with pytest.raises(ValueError, match="differ from the names of channels and features; got 'x'"):
        getattr(data, f"to_{kind}")(id="x")


def test_tables_hold_stamps_nulls_and_names(data):
    table = data.to_polars()
    assert table["time"].dtype == pl.Datetime("ns")
    assert table["time"].dt.nanosecond()[0] == 1
    assert table["x"].to_list() == [1.0, None, 3.0, 4.5, 5.0]
    assert table["kind"].to_list() == ["red", "blue", None, "red", "red"]
    frame = data.to_pandas()
    assert pd.api.types.is_datetime64_any_dtype(frame["time"])
    assert frame["kind"].isna().tolist() == [False, False, True, False, False]


def test_arrays_of_xarray_are_padded(data):
    pytest.importorskip("xarray")
    arrays = data.to_xarray()
    assert dict(arrays.sizes) == {"series": 2, "step": 3, "channel": 2, "feature": 1}
    np.testing.assert_array_equal(arrays["values"].sel(series="b", channel="x"), np.array([3, 4.5, 5], np.float32))
    assert np.isnat(arrays["time"].values[0, 2])
    assert arrays["length"].values.tolist() == [2, 3]
    assert arrays["static"].sel(feature="age").values.tolist() == [40, 50]


def test_pictures_have_a_panel_per_channel_on_the_true_time_axis(data):
    pytest.importorskip("matplotlib")
    figure = data.plot()
    assert [panel.get_ylabel() for panel in figure.axes] == ["x", "kind"]
    x, kind = figure.axes
    assert [line.get_label() for line in x.lines] == ["a", "b"]
    assert x.lines[1].get_xdata().tolist() == [0.0, 24.0, 72.0]
    assert [text.get_text() for text in kind.get_yticklabels()] == ["blue", "red"]
    assert kind.lines[0].get_drawstyle() == "steps-post"
    assert "(h)" in kind.get_xlabel()
    one = data[1].plot(channels=["x"])
    assert len(one.axes) == 1
    assert one.axes[0].lines[0].get_xdata()[0] == np.datetime64("2024-01-01")
    assert data.plot(ids=["b"], channels=["x"]).axes[0].lines[0].get_ydata().tolist() == [3.0, 4.5, 5.0]
    with pytest.raises(ValueError, match=r"there is no 'kinds'; did you mean `kind`\?"):
        data.plot(channels=["kinds"])
    with pytest.raises(TypeError, match="must be lists"):
        data.plot(ids="b")


def test_what_a_picture_leaves_out_is_said():
    pytest.importorskip("matplotlib")
    many = SeriesSet.from_arrays(np.zeros((9, 4, 12)), axes="STC")
    assert many.plot().get_suptitle() == "5 of 9 series, 8 of 12 channels"
