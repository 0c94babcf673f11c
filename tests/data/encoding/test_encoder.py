import copy
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from liquidtime.data import SeriesEncoder, SeriesSet
from oracles.encoding import binned, encode, median_interval, scaling
from oracles.series import random_set

LENGTHS = [40, 0, 1, 30, 25]


def equal(one, other):
    for name in ("x", "dt", "times", "offsets", "static"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize("blocks", [("values", "mask", "since"), ("since",), ("mask", "values")])
@pytest.mark.parametrize("width", [None, 4.0])
@pytest.mark.parametrize("clip", [None, 0.01])
def test_every_number_is_that_of_the_definition(blocks, width, clip):
    data = random_set(0, LENGTHS)
    encoder = SeriesEncoder(blocks=blocks, clip=clip, bin_width=width)
    encoded = encoder.fit_transform(data)
    categorical = [name in data.categories for name in data.channels]
    parts = [(s.times, s.values) if width is None else binned(s, width, categorical) for s in data]
    time_scale = median_interval(data, width)
    assert encoder.time_scale_ == pytest.approx(time_scale, rel=1e-12)
    together = np.concatenate([values for _, values in parts])
    stats = {
        name: scaling([float(v) for v in together[:, c] if not np.isnan(v)], clip, name == "b")
        for c, name in enumerate(data.channels)
        if not categorical[c]
    }
    assert (encoder.scaling_.unit > 0).tolist() == [name == "b" for name in data.channels]
    for row, (times, values) in enumerate(parts):
        x, dt = encode(times, values, data.channels, data.categories, stats, time_scale, blocks)
        mine = slice(encoded.offsets[row], encoded.offsets[row + 1])
        np.testing.assert_allclose(encoded.x[mine], x.reshape(len(dt), encoder.input_size_), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(encoded.dt[mine], dt, rtol=1e-6)
    assert encoded.x.dtype == encoded.dt.dtype == encoded.static.dtype == np.float32
    assert len(encoder.layout_.inputs) == encoded.x.shape[1]


@pytest.mark.parametrize("C", [2, 3])
def test_encoding_leaves_the_data_alone(C):
    data = random_set(0, [9], C, categorical=False)[:1]
    narrow = SeriesSet(data.offsets, data.times, data.values[:, :1], ("a",))
    for one in (data, narrow):
        before = one.values.copy(), one.times.copy(), one.static.copy()
        SeriesEncoder().fit_transform(one)
        for array, kept in zip(before, (one.values, one.times, one.static), strict=True):
            np.testing.assert_array_equal(array, kept)


def test_columns_are_named():
    encoder = SeriesEncoder().fit(random_set(0, LENGTHS))
    assert encoder.layout_.inputs == (
        *("a", "b", "c0", "k=low", "k=mid", "k=top"),
        *("a observed", "b observed", "c0 observed", "k observed"),
        *("a since", "b since", "c0 since", "k since"),
    )
    assert encoder.layout_.statics == ("age", "age unknown", "ward=east", "ward=west")


def test_static_features_are_standardised_and_gaps_are_flagged():
    data = random_set(0, LENGTHS)
    encoded = SeriesEncoder(clip=None, log=False).fit_transform(data)
    age, known = data.static[:, 0], ~np.isnan(data.static[:, 0])
    expected = np.where(known, (age - age[known].mean()) / age[known].std(), 0.0)
    np.testing.assert_allclose(encoded.static[:, 0], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(encoded.static[:, 1], ~known)
    np.testing.assert_array_equal(encoded.static[:, 2:], data.static[:, 1:] == [[0, 1]])


@settings(max_examples=20)
@given(st.integers(0, 99), st.sampled_from([None, 4.0]))
def test_a_series_alone_gives_what_it_gives_in_the_set(seed, width):
    data = random_set(seed, LENGTHS)
    encoder = SeriesEncoder(bin_width=width).fit(data)
    whole = encoder.transform(data)
    for row in range(len(data)):
        alone = encoder.transform(data[row : row + 1])
        mine = slice(whole.offsets[row], whole.offsets[row + 1])
        np.testing.assert_array_equal(alone.x, whole.x[mine])
        np.testing.assert_array_equal(alone.dt, whole.dt[mine])
        np.testing.assert_array_equal(alone.static[0], whole.static[row])


@settings(max_examples=20)
@given(st.integers(0, 39), st.integers(0, 99))
def test_a_sample_does_not_depend_on_later_ones(cut, seed):
    data = random_set(seed, [40])
    encoder = SeriesEncoder().fit(data)
    changed = data.values.copy()
    changed[cut:] = np.where(np.isnan(changed[cut:]), 0.0, np.nan)
    later = SeriesSet(
        data.offsets, data.times, changed, data.channels, data.ids, data.static, data.static_names, "h", data.categories
    )
    one, other = encoder.transform(data), encoder.transform(later)
    np.testing.assert_array_equal(one.x[:cut], other.x[:cut])
    np.testing.assert_array_equal(one.dt, other.dt)


def test_statistics_come_from_the_training_part_only():
    data = random_set(5, [20] * 10)
    wild = SeriesSet(
        data.offsets, data.times * 7, data.values * 1000, (*data.channels[:3], "k2"), data.ids, time_unit="h"
    )
    encoder = SeriesEncoder().fit(data)
    before = json.dumps(encoder.to_dict(), default=lambda array: array.tolist())
    equal(SeriesEncoder().fit(data[:6]).transform(data[:6]), SeriesEncoder().fit_transform(data[:6]))
    with pytest.warns(UserWarning, match="training"):
        encoder.transform(wild)
    assert json.dumps(encoder.to_dict(), default=lambda array: array.tolist()) == before
    part, whole = SeriesEncoder().fit(data[:6]), SeriesEncoder().fit(data)
    assert not np.array_equal(part.scaling_.mean, whole.scaling_.mean)


def test_a_stored_encoder_gives_the_same_numbers():
    data = random_set(6, LENGTHS)
    encoder = SeriesEncoder(blocks=["values", "since"], clip=0.05, log=["a"], bin_width=2.0).fit(data)
    stored = encoder.to_dict()
    config = json.loads(json.dumps(stored["config"]))
    arrays = {name: np.array(array) for name, array in stored["arrays"].items()}
    assert all(array.dtype == np.float64 for array in arrays.values())
    again = SeriesEncoder.from_dict({"config": config, "arrays": arrays})
    equal(again.transform(data), encoder.transform(data))
    assert again.to_dict()["config"] == stored["config"]


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda c, a: c.update(format=2), "`config` must be of format 1; got 2"),
        (lambda c, a: c.pop("clip"), r"missing \['clip'\], unknown \[\]"),
        (lambda c, a: c.update(hello=1), r"missing \[\], unknown \['hello'\]"),
        (lambda c, a: a.pop("channel_mean"), "`channel_mean` must have shape"),
        (
            lambda c, a: a.update(channel_mean=np.zeros(9)),
            r"`channel_mean` must have shape \(C,\) = \(4,\); got \(9,\)",
        ),
        (lambda c, a: a.update(static_scale=np.zeros(2)), "`static_scale` must be numbers greater than 0"),
        (lambda c, a: a.update(other=np.zeros(2)), "some that the encoder does not know: other"),
        (lambda c, a: c.update(time_scale=0.0), "a time scale greater than 0"),
        (lambda c, a: c.update(blocks=["mask", "masks"]), "`blocks` must be one of"),
    ],
)
def test_a_stored_encoder_that_does_not_fit_together_is_refused(spoil, text):
    stored = SeriesEncoder().fit(random_set(6, LENGTHS)).to_dict()
    spoil(stored["config"], stored["arrays"])
    with pytest.raises(ValueError, match=text):
        SeriesEncoder.from_dict(stored)


def column(name, values, **options):
    N = len(values)
    return SeriesSet([0, N], np.arange(N), np.array(values, float)[:, None], (name,), **options)


def test_other_channels_and_categories_are_named_in_warnings():
    train = SeriesSet([0, 2], [0, 1], [[1, 0], [2, 1]], ("a", "k"), categories={"k": ("x", "y")})
    encoder = SeriesEncoder().fit(train)
    new = SeriesSet([0, 2], [0, 1], [[1, 5], [0, 5]], ("k", "z"), categories={"k": ("w", "x")})
    with pytest.warns(UserWarning, match="training") as caught:
        encoded = encoder.transform(new)
    assert [str(warning.message) for warning in caught] == [
        "1 channels of training are missing and treated as not observed: a",
        "1 channels were not in training and are left out: z",
        "1 values of 'k' are categories unknown in training, used as missing: w",
    ]
    names = encoder.layout_.inputs
    got = dict(zip(names, encoded.x.T.tolist(), strict=True))
    assert got["a"] == [0, 0]
    assert got["a observed"] == [0, 0]
    assert got["k=x"] == [1, 0]
    assert got["k=y"] == [0, 0]
    assert got["k observed"] == [1, 1]
    assert all(warning.filename == __file__ for warning in caught)


def test_another_unit_none_of_the_channels_and_other_kinds_are_refused():
    encoder = SeriesEncoder().fit(column("a", [1, 2], time_unit="min"))
    with pytest.raises(ValueError, match=r"unit of training, 'min'; got 'h'. Convert it with .in_unit\('min'\)"):
        encoder.transform(column("a", [1], time_unit="h"))
    with pytest.raises(ValueError, match=r"'min'; got None. Read it with the same `time_unit`"):
        encoder.transform(column("a", [1]))
    with pytest.raises(ValueError, match=r"channels of training \(a\); it has none of them, only b"):
        encoder.transform(column("b", [1], time_unit="min"))
    with pytest.raises(ValueError, match="'a' with the same kind of values as in training, where it was a number"):
        encoder.transform(column("a", [0], time_unit="min", categories={"a": ("x",)}))
    hours = column("a", [1, 2, 1], time_unit="min")
    equal(encoder.transform(hours.in_unit("h").in_unit("min")), encoder.transform(hours))


def test_odd_channels_are_handled_and_noted():
    data = SeriesSet([0, 2, 2], [0, 5], [[np.nan, 3], [np.nan, 3]], ("never", "same"))
    encoder = SeriesEncoder()
    encoded = encoder.fit_transform(data)
    assert [str(note) for note in encoder.notes_] == [
        "note: 1 of 2 channels were never observed in training (never)",
        "note: 1 of 2 channels were constant in training (same)",
    ]
    np.testing.assert_allclose(encoded.x[1], [0, 0, 0, 1, np.log(2), 0], rtol=1e-6)
    assert np.isfinite(encoded.x).all()
    assert encoded.lengths.tolist() == [2, 0]


def test_series_without_samples_alone_can_be_fitted():
    empty = SeriesSet([0, 0, 1], [3.0], [[1.0]], ("a",))
    encoder = SeriesEncoder().fit(empty)
    assert encoder.time_scale_ == 1.0
    assert encoder.transform(empty[:1]).x.shape == (0, 3)
    nothing = empty[:1]
    assert SeriesEncoder(bin_width=1.0).fit_transform(nothing).x.shape == (0, 3)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"blocks": ["value"]},
            "`blocks` must be one of 'values', 'mask', 'since'; got 'value'; did you mean `values`",
        ),
        ({"blocks": []}, "at least one block"),
        ({"clip": 0.5}, "`clip` must be a quantile"),
        ({"bin_width": 0}, "`bin_width` must be finite and greater than 0"),
    ],
)
def test_settings_are_checked(options, text):
    with pytest.raises(ValueError, match=text):
        SeriesEncoder(**options)


def test_misuse_is_named():
    with pytest.raises(TypeError, match="`bins` is not an argument of SeriesEncoder"):
        SeriesEncoder(bins=3)
    with pytest.raises(ValueError, match="not fitted"):
        SeriesEncoder().transform(column("a", [1]))
    with pytest.raises(ValueError, match="at least one series"):
        SeriesEncoder().fit(column("a", [1])[:0])
    with pytest.raises(ValueError, match=r"`log` must name channels .*'aa' is neither; did you mean `a`"):
        SeriesEncoder(log=["aa"]).fit(column("a", [1]))


def test_the_layout_is_made_once_and_follows_what_was_fitted():
    encoder = SeriesEncoder().fit(random_set(0, [5]))
    layout = encoder.layout_
    assert encoder.layout_ is layout
    assert encoder.sample_step is encoder.sample_step
    again = SeriesEncoder.from_dict(encoder.to_dict())
    assert again.layout_ is again.layout_
    assert again.layout_.inputs == layout.inputs
    encoder.blocks = ("values",)  # a setting, read by the next fit
    assert encoder.transform(random_set(0, [5])).x.shape[1] == len(layout.inputs)
    encoder.fit(random_set(0, [5], C=2))
    assert encoder.layout_.inputs == ("a", "b", "k=low", "k=mid", "k=top")
    assert encoder.stream().update(0.0, {"b": 1.0})[0].shape == (5,)
    other = copy.copy(encoder)
    other.time_scale_ = encoder.time_scale_ / 2
    for one in (encoder, other):
        stream = one.stream()
        stream.update(0.0, {"b": 1.0})
        assert stream.update(1.0, {"b": 1.0})[1] == np.float32(1.0 / one.time_scale_)
    with pytest.raises(ValueError, match="this encoder is not fitted"):
        _ = SeriesEncoder().layout_
