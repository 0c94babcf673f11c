"""The clock of the service against the library's, and what it refuses."""

import datetime

import numpy as np
import pytest

from liquidtime.data.encoding import Clock as LibraryClock
from liquidtime.serving.clock import KINDS, Clock
from liquidtime.serving.refusal import Refused

HOUR = 3600 * 10**9
STREAMS = {
    "numbers": ([0.5, 3, 3, 1e300], None),
    "large": ([2**60, 2**60 + 1, 2**62], None),
    "large, then small": ([-(2**60), 5], None),
    "naive": (["2024-01-01", "2024-01-01T05:30", "2024-01-01 05:30:00.000000001", "2200-12-31T23:59:59.5"],
              np.datetime64),
    "aware": (
        ["2024-03-31T00:30:00+01:00", "2024-03-31T00:00:00Z", "2024-03-31T05:00+0545", "2024-04-01T00:00:00.25-09:30"],
        datetime.datetime.fromisoformat,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STREAMS)
def test_times_are_those_of_the_library(name):
    told, as_stamp = STREAMS[name]
    ours, theirs = Clock(), LibraryClock()
    for t in told:
        ours, ticks, time = ours.read(t, HOUR)
        theirs, wanted = theirs.read(as_stamp(t) if as_stamp else t, "h")
        assert time == wanted
        assert KINDS[ours.kind] == theirs.kind
        assert ours.read(ours.tell(ticks), HOUR)[1] == ticks  # what is told can be sent again


def test_what_is_told_keeps_every_digit():
    clock, ticks, _ = Clock().read("2024-01-01T05:30:00.123456789", HOUR)
    assert clock.tell(ticks) == "2024-01-01T05:30:00.123456789"
    clock, ticks, _ = Clock().read("2024-01-01T05:30:00+02:00", HOUR)
    assert clock.tell(ticks) == "2024-01-01T03:30:00Z"
    clock, ticks, _ = Clock().read(2**60 + 1, HOUR)
    assert clock.tell(ticks) == 2**60 + 1


@pytest.mark.parametrize("first", [1.0, 2**60, "2024-01-01", "2024-01-01T00:00Z"])
@pytest.mark.parametrize("second", [2.5, 2**61, "2024-01-02", "2024-01-02T00:00Z"])
def test_a_series_keeps_to_its_kind_of_clock(first, second):
    clock, _, _ = Clock().read(first, HOUR)
    if Clock().read(second, HOUR)[0].kind == clock.kind:
        clock.read(second, HOUR)
    else:
        with pytest.raises(Refused, match="the same type of time as before in this series") as refusal:
            clock.read(second, HOUR)
        assert (refusal.value.status, refusal.value.code) == (409, "other_clock")


@pytest.mark.parametrize(
    "told",
    [
        "", "yesterday", "2024-13-01", "2024-01-32", "2024-01-01T25:00", "2024-01-01T00:00:60",
        "2024-01-01T00:00+25:00",
        "2024-01-01T00:00.5", "01.02.2024", "2024-01-01T00:00:00.1234567890", "1500-01-01", "9999-01-01", "٢٠٢٤-01-01",
        "2024-01-01T00:00:00Z\n", "NaN", 10**30, -(10**30), float("nan"), float("inf"),
    ],
)  # fmt: skip
def test_what_is_no_time_is_refused(told):
    with pytest.raises(Refused) as refusal:
        Clock().read(told, HOUR)
    assert (refusal.value.status, refusal.value.code) == (422, "bad_time")


def test_a_model_without_a_unit_takes_numbers_only():
    with pytest.raises(Refused, match="had no unit"):
        Clock().read("2024-01-01", None)
    assert Clock().read(5, None)[2] == 5.0
