import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from liquidtime.data import SeriesSet
from oracles.series import assert_same

COLUMNS = {"id": "who", "time": "t", "channel": "what", "value": "v"}
FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "lazy": lambda columns: pl.DataFrame(columns).lazy(),
    "pandas-object": lambda columns: pd.DataFrame(columns).astype({"what": object}),
    "pandas-categorical": lambda columns: pd.DataFrame(columns).astype({"what": "category"}),
    "polars-categorical": lambda columns: pl.DataFrame(columns).with_columns(pl.col("what").cast(pl.Categorical)),
    "pyarrow-dictionary": lambda columns: pa.table({**columns, "what": pa.array(columns["what"]).dictionary_encode()}),
}


def frame(rows, kind="polars"):
    names = ("who", "t", "what", "v")
    return FRAMES[kind]({name: [row[place] for row in rows] for place, name in enumerate(names)})


def read(rows, kind="polars", **options):
    return SeriesSet.from_long(frame(rows, kind), **COLUMNS, **options)


row = st.tuples(
    st.integers(-3, 3),
    st.integers(0, 5).map(float),
    st.sampled_from("abc"),
    st.integers(-8, 8).map(float) | st.just(math.nan),
)


@given(st.lists(row, min_size=1, max_size=40))
def test_every_value_is_where_a_dictionary_puts_it(rows):
    data = read(rows)
    cells: dict[tuple, list[float]] = {}
    for who, t, what, v in rows:
        if not math.isnan(v):
            cells.setdefault((who, t, what), []).append(v)
    assert data.ids.tolist() == sorted({who for who, *_ in rows})
    assert data.channels == tuple(sorted({what for _, _, what, _ in rows}))
    found = {}
    for series in data:
        assert series.times.tolist() == sorted({t for who, t, _ in cells if who == series.id})
        for t, values in zip(series.times, series.values, strict=True):
            found |= {
                (series.id, t, name): v
                for name, v in zip(data.channels, values.tolist(), strict=True)
                if not math.isnan(v)
            }
    assert found == pytest.approx({key: sum(vs) / len(vs) for key, vs in cells.items()}, rel=1e-6)
    repeats = sum(len(vs) - 1 for vs in cells.values())
    assert sum(note.count for note in data.notes if "share" in note.what) == repeats


@settings(max_examples=30)
@given(st.lists(row, min_size=1, max_size=20, unique_by=lambda row: row[:3]), st.randoms())
def test_the_order_of_rows_does_not_matter(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert_same(read(rows), read(shuffled))


ROWS = [
    ("p2", 3, "hr", 80.0),
    ("p1", 1, "hr", 60.0),
    ("p1", 0, "temp", 37.0),
    ("p1", 1, "hr", 62.0),
    ("p2", 3, "temp", 38.0),
]


@pytest.mark.parametrize("kind", FRAMES)
def test_any_data_frame_gives_the_same_set(kind):
    data = read(ROWS, kind)
    assert_same(data, read(ROWS))
    np.testing.assert_array_equal(data.values, np.array([[np.nan, 37], [61, np.nan], [80, 38]], np.float32))


def test_repairs_are_counted_and_the_first_are_named():
    notes = [str(note) for note in read(ROWS).notes]
    assert notes == [
        "repaired: 1 of 5 times were earlier than in the row before; sorted (series p1 at position 1)",
        "repaired: 1 of 5 values share their channel and time with others; averaged (of categories, the last was kept) "
        "(hr in series p1 at position 1)",
    ]
    assert read([ROWS[0], ROWS[4]]).notes == ()


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (ROWS[:3], "`strict` forbids: repaired: 1 of 3 times were earlier than in the row before"),
        ([ROWS[1], ROWS[3]], "`strict` forbids: repaired: 1 of 2 values share their channel and time"),
        ([*ROWS[:2], ("p1", 2, "", 1.0)], "`strict` forbids: dropped: 1 of 3 rows with an empty channel name"),
    ],
)
def test_strict_refuses_what_would_be_repaired(rows, text):
    read(rows)
    with pytest.raises(ValueError, match=text):
        read(rows, strict=True)


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_empty_channel_names_are_dropped(kind):
    data = read([("p", 0, "hr", 1.0), ("p", 1, "", 2.0), ("q", 1, None, 2.0), ("p", 2, " hr ", 3.0)], kind)
    assert data.channels == ("hr",)
    assert data.ids.tolist() == ["p", "q"]
    assert data.lengths.tolist() == [2, 0]
    assert [str(note) for note in data.notes] == ["dropped: 2 of 4 rows with an empty channel name"]


@pytest.mark.parametrize(
    ("rows", "error", "text"),
    [
        ([("a", math.nan, "x", 1.0), ("a", math.inf, "x", 1.0)], ValueError,
         r"`time` must be finite; 2 of 2 are not. The first: nan in series a at position 0, inf in series a at pos"),
        ([("a", 0.0, "x", "1"), ("b", 0.0, "x", "low"), ("b", 1.0, "x", "!")], ValueError,
         r"`v` must be numbers; 2 of 3 values are not. The first: 'low' in series b at position 0, '!' in series b"),
        ([("a", 0.0, "x", 1e300)], ValueError, r"`v` must be finite in float32; 1 of 1 .*1e\+300 in series a at pos"),
        ([(None, 0.0, "x", 1.0), ("a", 0.0, "x", 1.0)], ValueError, "`id` must be present in every row; 1 of 2 .* 0"),
        ([("a", "noon", "x", 1.0)], TypeError, "`time` must be numbers or time stamps; 1 of 1 .* is 'noon'"),
        ([], ValueError, "`frame` must have rows; got an empty frame with columns 'who', 't', 'what', 'v'"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(rows, error, text):
    with pytest.raises(error, match=text):
        read(rows)


def test_missing_columns_are_named_with_the_nearest():
    with pytest.raises(ValueError, match=r"`time` must name a column; there is none called 'tt'; did you mean `t`\?"):
        SeriesSet.from_long(frame(ROWS), **COLUMNS | {"time": "tt"})
    with pytest.raises(ValueError, match=r"`id` must name a column; .* The columns are 'who', 't', 'what', 'v'."):
        SeriesSet.from_long(frame(ROWS), **COLUMNS | {"id": "patient"})
    with pytest.raises(TypeError, match=r"`frame` must be a data frame .*; got ndarray"):
        SeriesSet.from_long(np.zeros((2, 4)), **COLUMNS)


def test_numbers_written_as_text_are_read_and_noted():
    data = read([("a", 0, "x", " 1.5"), ("a", 1, "x", None), ("a", 2, "x", "2")])
    assert data.values[:, 0].tolist() == [1.5, 2.0]
    assert "repaired: 2 of 3 values of 'v' were text and were read as numbers" in [str(note) for note in data.notes]


STATIC = {
    "who": [7, 7, 9, 9, 9],
    "t": [0, 0, 0, 5, 6],
    "what": ["age", "hr", "age", "hr", "unit"],
    "v": ["50", "80", "-1", "70", "west"],
    "sex": ["f", "f", "m", None, "f"],
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_static_features_come_from_columns_and_channels(make):
    data = SeriesSet.from_long(
        make(STATIC), **COLUMNS, static=["age", "sex", "unit"], categorical=["sex", "unit"], missing=[-1]
    )
    assert data.channels == ("hr",)
    assert data.times.tolist() == [0.0, 5.0]
    assert data.static_names == ("age", "sex", "unit")
    np.testing.assert_array_equal(data.static, np.array([[50, 0, np.nan], [np.nan, 1, 0]], np.float32))
    assert data.categories == {"sex": ("f", "m"), "unit": ("west",)}
    assert any("static 'sex' differ" in str(note) and "series 9 at position 2" in str(note) for note in data.notes)


def test_static_features_come_from_a_table():
    table = pl.DataFrame({"who": ["p2", "p3"], "age": [40, 50]})
    data = read(ROWS, static=table)
    np.testing.assert_array_equal(data.static, np.array([[np.nan], [40]], np.float32))
    assert "dropped: 1 of 2 rows of the static table without a series (id p3)" in [str(note) for note in data.notes]
    with pytest.raises(
        ValueError, match=r"`static` must name columns or channels; 'temps' is neither; did you mean `temp`"
    ):
        read(ROWS, static=["temps"])
    with pytest.raises(ValueError, match=r"`categorical` must name .*'hrr' is neither; did you mean `hr`"):
        read(ROWS, categorical=["hrr"])


def test_categories_of_a_channel_are_numbered_by_name_and_the_last_counts():
    data = read([("a", 0, "k", "z"), ("a", 0, "k", "y"), ("a", 1, "x", "2"), ("b", 0, "k", "z")], categorical=["k"])
    assert data.categories == {"k": ("y", "z")}
    np.testing.assert_array_equal(data.values, np.array([[0, np.nan], [np.nan, 2], [1, np.nan]], np.float32))
    numbers = read([("a", 0, "k", 2.0), ("a", 1, "k", 10.0)], categorical=["k"])
    assert numbers.categories == {"k": ("10", "2")}


def test_units_and_words_among_numbers_are_told_apart():
    values = ["36,4 C", "97%", "not done", "12", "not done", "-3.5 mmol/l", "n", "<5 mg"]
    message = (
        r"`v` must be numbers; 7 of 8 values are not\. The first: '36,4 C' in series a at position 0, .* "
        r"4 look like numbers with a unit, such as '36,4 C': remove the unit\. "
        r"3 are words, most often 'not done' \(2\), 'n' \(1\): list them in `missing`"
    )
    with pytest.raises(ValueError, match=message):
        read([("a", float(place), "x", value) for place, value in enumerate(values)])


def test_ids_choose_and_order_the_series_and_keep_those_without_rows():
    data = read(ROWS, ids=["p9", "p2"])
    assert data.ids.tolist() == ["p9", "p2"]
    assert data.lengths.tolist() == [0, 1]
    assert str(data.notes[0]) == "dropped: 3 of 5 rows of series that `ids` does not name (id p1)"
    with pytest.raises(
        ValueError, match=r"none of 1 is there. The ids of the frame begin with p1, p2; the requested ids with x"
    ):
        read(ROWS, ids=["x"])


def test_ids_may_be_far_apart_and_of_any_whole_type():
    far = [-(2**62), 0, 2**62]
    for kind in (np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.float64):
        ids = np.array([100, 3, 100, 77], dtype=kind)
        columns = {"who": ids, "t": [0, 0, 1, 0], "what": ["x"] * 4, "v": [1.0, 2.0, 3.0, 4.0]}
        data = SeriesSet.from_long(pl.DataFrame(columns), **COLUMNS)
        assert data.ids.tolist() == [3, 77, 100]
        assert data.values[:, 0].tolist() == [2.0, 4.0, 1.0, 3.0]
    assert read([(who, 0, "x", 1.0) for who in far]).ids.tolist() == far
