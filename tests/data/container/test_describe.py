import json

import numpy as np

from liquidtime.data import Note, SeriesSet

NAN = np.nan
DATA = SeriesSet(
    offsets=[0, 3, 3, 4, 6],
    times=[0, 1, 4, 0, 5, 15],
    values=[[1, NAN, 7], [NAN, NAN, 7], [3, NAN, 7], [NAN, NAN, NAN], [5, NAN, 7], [9, NAN, NAN]],
    channels=("a", "never", "same"),
    ids=["p", "q", "r", "s"],
    static=[[1], [NAN], [3], [8]],
    static_names=("age",),
    time_unit="min",
    notes=(Note("dropped", "rows", 2, 8),),
)


def test_the_numbers_are_those_of_the_set():
    found = DATA.describe()
    assert (found.series, found.samples, found.observations) == (4, 6, 8)
    assert (found.lengths.least, found.lengths.median, found.lengths.largest) == (0, 1.5, 3)
    assert (found.intervals.least, found.intervals.median, found.intervals.largest) == (1, 3, 10)
    assert (found.spans.least, found.spans.largest) == (4, 10)
    assert [round(c.observed, 3) for c in found.channels] == [0.667, 0.0, 0.667]
    assert [c.series for c in found.channels] == [0.5, 0.0, 0.5]
    assert (found.channels[0].spread.least, found.channels[0].spread.median) == (1, 4)
    assert found.static[0].observed == 0.75
    assert [c.constant for c in found.channels] == [False, False, True]


def test_what_is_odd_is_noted_behind_the_notes_of_reading():
    assert [str(note) for note in DATA.describe().notes] == [
        "dropped: 2 of 8 rows",
        "note: 1 of 3 channels are never observed (never)",
        "note: 1 of 3 channels are constant (same)",
        "note: 2 of 4 series have no observation (series q, series r)",
        "note: 1 of 4 series have a single sample (series r)",
    ]


def test_the_text_and_the_dictionary_hold_it_all():
    text = str(DATA.describe())
    assert "4 series, 6 samples, 8 observed values" in text
    assert "intervals in min: min 1, median 3, max 10" in text
    assert "  a       66.67%  50.00%  min 1, median 4, max 9" in text
    assert "  never    0.00%   0.00%  none" in text
    assert json.loads(json.dumps(DATA.describe().to_dict()))["channels"][2]["name"] == "same"


def test_an_empty_set_can_be_described():
    found = DATA[:0].describe()
    assert (found.series, found.intervals.least) == (0, None)
    assert "0 series" in str(found)
