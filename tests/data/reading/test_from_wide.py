import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from liquidtime.data import SeriesSet
from oracles.series import assert_same

COLUMNS = {
    "who": ["b", "a", "a", "b", "a"],
    "t": [1.0, 2.0, 1.0, 1.0, 3.0],
    "hr": [80, 70, None, 82, None],
    "rhythm": ["sinus", "af", "sinus", "af", None],
    "age": [50, 40, 40, None, 40],
}
READ = {"id": "who", "time": "t", "static": ["age"], "categorical": ["rhythm"]}
MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("kind", MAKERS)
def test_each_row_is_a_sample_and_each_column_a_channel(kind):
    data = SeriesSet.from_wide(MAKERS[kind](COLUMNS), **READ)
    assert data.channels == ("hr", "rhythm")
    assert data.ids.tolist() == ["a", "b"]
    assert data.times.tolist() == [1.0, 2.0, 3.0, 1.0]
    nan = np.nan
    np.testing.assert_array_equal(data.values, np.array([[nan, 1], [70, 0], [nan, nan], [81, 0]], np.float32))
    assert data.categories == {"rhythm": ("af", "sinus")}
    assert data.static[:, 0].tolist() == [40.0, 50.0]
    assert [str(note) for note in data.notes] == [
        "repaired: 1 of 5 times were earlier than in the row before; sorted (series a at position 1)",
        "repaired: 2 of 7 values share their channel and time with others; averaged (of categories, the last was kept) "
        "(hr in series b at position 0, rhythm in series b at position 0)",
    ]


def test_wide_and_long_give_the_same_set():
    rng = np.random.default_rng(0)
    wide = pl.DataFrame({"who": rng.integers(0, 9, 60), "t": rng.permutation(60), "x": rng.normal(size=60)})
    wide = wide.with_columns(y=pl.col("x") * 2)
    long = wide.unpivot(index=["who", "t"], on=["x", "y"], variable_name="what", value_name="v")
    assert_same(
        SeriesSet.from_wide(wide, id="who", time="t"),
        SeriesSet.from_long(long, id="who", time="t", channel="what", value="v"),
    )


def test_channels_can_be_chosen_and_others_are_left_alone():
    frame = pl.DataFrame(COLUMNS)
    data = SeriesSet.from_wide(frame, id="who", time="t", values=["age", "hr"])
    assert data.channels == ("age", "hr")
    with pytest.raises(
        ValueError, match=r"`rhythm` must be numbers; 4 of 5 values .*'sinus' in series b at position 0.*`categ"
    ):
        SeriesSet.from_wide(frame, id="who", time="t")
    with pytest.raises(ValueError, match=r"`values` must name a column; .*'hhr'; did you mean `hr`"):
        SeriesSet.from_wide(frame, id="who", time="t", values=["hhr"])
    with pytest.raises(ValueError, match="`values` must name at least one column"):
        SeriesSet.from_wide(frame.select("who", "t"), id="who", time="t")
    with pytest.raises(ValueError, match="`categorical` must name a column"):
        SeriesSet.from_wide(frame, id="who", time="t", values=["hr"], categorical=["sex"])


def test_missing_numbers_and_truth_values():
    frame = pd.DataFrame({"who": [1, 1], "t": [0, 1], "x": [-1, 5], "on": [True, False]})
    data = SeriesSet.from_wide(frame, id="who", time="t", missing=[-1])
    np.testing.assert_array_equal(data.values, np.array([[np.nan, 1], [5, 0]], np.float32))


def test_nullable_columns_of_pandas_are_read():
    frame = pd.DataFrame({"who": [1, 1], "t": [0, 1], "x": pd.array([None, 5], dtype="Int64")})
    data = SeriesSet.from_wide(frame, id="who", time="t")
    np.testing.assert_array_equal(data.values, np.array([[np.nan], [5]], np.float32))
