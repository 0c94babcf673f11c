"""An update happens whole or not at all."""

import copy
import datetime as dt
import pickle
import threading
from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import liquidtime as lt
from estimators.small import TINY, series
from liquidtime.estimators.network.network import SeriesNetwork


def trained(data=None, **settings):
    own, labels, _ = series(30, longest=90)
    data = own if data is None else data
    return lt.CfCClassifier(**TINY | {"epochs": 1, "n_estimators": 3, "bin_width": "scales"} | settings).fit(
        data, labels
    )


@pytest.fixture(scope="module")
def model():
    fitted = trained()
    assert len(fitted.encoders_) == 2
    return fitted


@pytest.fixture(autouse=True)
def forget(model):
    model.reset()


UTC = dt.UTC
BAD_FIRST = [
    ({"t": 0.0, "values": {"drif": 1.0}}, "did you mean `drift`"),
    ({"t": 0.0, "values": [1.0]}, "`values` must have shape"),
    ({"t": 0.0, "values": {"drift": float("inf")}}, "'drift' is infinite"),
    ({"t": 0.0, "values": {"drift": 1e39}}, "'drift' is too large for float32"),
    ({"t": 0.0, "values": {"drift": 10**400}}, "'drift' is infinite"),
    ({"t": 0.0, "values": {"drift": "high"}}, "must have numbers where training had numbers"),
    ({"t": 0.0, "values": {"drift": [1.0, 2.0]}}, "must have numbers where training had numbers"),
    ({"t": 0.0, "values": "abc"}, "`values` must be a mapping"),
    ({"t": float("nan"), "values": {"drift": 1.0}}, "`t` must be finite"),
    ({"t": -float("inf"), "values": {"drift": 1.0}}, "`t` must be finite"),
    ({"t": "noon", "values": {"drift": 1.0}}, "`t` must be one number or one time stamp"),
    ({"t": [1.0, 2.0], "values": {"drift": 1.0}}, "`t` must be one number or one time stamp"),
    ({"t": None, "values": {"drift": 1.0}}, "`t` must be a number or a time stamp"),
    ({"t": dt.time(12, 30), "values": {"drift": 1.0}}, "`t` must be a number or a time stamp"),
    ({"t": np.datetime64("NaT"), "values": {"drift": 1.0}}, "NaT"),
    ({"t": pd.NaT, "values": {"drift": 1.0}}, "NaT"),
    ({"t": dt.datetime(1066, 10, 14), "values": {"drift": 1.0}}, "1678"),
    ({"t": 0.0, "values": {}, "static": {"aeg": 1.0}}, "did you mean `age`"),
    ({"t": 0.0, "values": {}, "static": {"age": float("inf")}}, "'age' is infinite"),
    ({"t": 0.0, "values": {}, "static": {"age": "old"}}, "must have numbers where training had numbers"),
    ({"t": 0.0, "values": {}, "static": [61.0]}, "`static` must be a mapping"),
]
BAD_LATER = [
    *[(sample, text) for sample, text in BAD_FIRST if "static" not in sample],
    ({"t": 4.0, "values": {"drift": 1.0}}, "`t` must not be earlier than the previous sample, at 5.0; got 4.0"),
    ({"t": 1e308, "values": {"drift": 1.0}}, "`t` must be within"),
    ({"t": 6.0, "values": {"drift": 1.0}, "static": {"age": 1.0}}, "was set by its first sample"),
    (
        {"t": dt.datetime(2024, 1, 1), "values": {}},
        "`t` must be the same kind of time as before in this series, numbers",
    ),
    (
        {"t": 1_700_000_000_000_000_000, "values": {}},
        "`t` must be the same kind of time as before in this series, numbers",
    ),
]
GOOD = [(0.0, {"drift": 1.0}), (5.0, {"noise": -1.0, "drift": 0.5}), (5.0, {"drift": 2.0}), (11.0, {})]


def answers(model, samples=GOOD, id="good"):
    return [
        model.update(id, t, values, static={"age": 61.0, "sex": "f"} if not k else None)
        for k, (t, values) in enumerate(samples)
    ]


@pytest.mark.parametrize(("sample", "text"), BAD_FIRST)
def test_a_refused_first_sample_leaves_no_series_and_the_retry_works(model, sample, text):
    wanted = answers(model)
    with pytest.raises((ValueError, TypeError), match=text):
        model.update("a", **sample)
    assert list(model._live) == ["good"]
    np.testing.assert_array_equal(answers(model, id="a"), wanted)


@pytest.mark.parametrize(("sample", "text"), BAD_LATER)
def test_a_refused_later_sample_changes_nothing(model, sample, text):
    wanted = answers(model)
    got = answers(model, GOOD[:3], "a")
    with pytest.raises((ValueError, TypeError), match=text):
        model.update("a", **sample)
    got.append(model.update("a", *GOOD[3]))
    np.testing.assert_array_equal(got, wanted)


def test_a_thousand_refused_first_samples_leave_no_series(model):
    for k in range(1000):
        with pytest.raises(ValueError, match="did you mean"):
            model.update(k, 0.0, {"drif": 1.0})
    assert len(model._live) == 0


CLOCKS = {
    "float": [0.0, 1.0, 2.5],
    "whole": [0, 1, 2],
    "large": [2**60, 2**60 + 1, 2**60 + 2],
    "naive": [dt.datetime(2024, 1, 1, hour) for hour in (0, 1, 2)],
    "numpy": [np.datetime64("2024-01-01T00") + np.timedelta64(hour, "h") for hour in (0, 1, 2)],
    "pandas": [pd.Timestamp(2024, 1, 1, hour) for hour in (0, 1, 2)],
    "aware": [dt.datetime(2024, 1, 1, hour, tzinfo=UTC) for hour in (0, 1, 2)],
    "zone": [dt.datetime(2024, 1, 1, hour, tzinfo=dt.timezone(dt.timedelta(hours=hour / 2))) for hour in (0, 2, 4)],
    "pandas aware": [pd.Timestamp(2024, 1, 1, hour, tz="Europe/Berlin") for hour in (1, 2, 3)],
}
KIND = {
    "float": 0,
    "whole": 0,
    "large": 1,
    "naive": 2,
    "numpy": 2,
    "pandas": 2,
    "aware": 3,
    "zone": 3,
    "pandas aware": 3,
}


@pytest.mark.parametrize("first", CLOCKS)
@pytest.mark.parametrize("second", CLOCKS)
def test_a_series_keeps_the_kind_of_its_clock(model, first, second):
    times = [CLOCKS[first][0], CLOCKS[second][1], CLOCKS[first][2]]
    one = model.update("a", times[0], {"drift": 1.0})
    np.testing.assert_array_equal(one, model.update("b", CLOCKS[first][0], {"drift": 1.0}))
    if KIND[first] == KIND[second]:
        got = [model.update("a", t, {"drift": 2.0}) for t in times[1:]]
        wanted = [model.update("b", t, {"drift": 2.0}) for t in (CLOCKS[first][1], CLOCKS[first][2])]
    else:
        earlier = "|not be earlier than the previous sample" if (first, second) == ("large", "whole") else ""
        with pytest.raises(ValueError, match=f"`t` must (be the same kind of time as before in this series{earlier})"):
            model.update("a", times[1], {"drift": 2.0})
        got = [model.update("a", times[2], {"drift": 2.0})]
        wanted = [model.update("b", times[2], {"drift": 2.0})]
    np.testing.assert_array_equal(got, wanted)


def test_time_stamps_need_a_unit_of_training():
    data, _, _ = series(30, longest=90)
    model = trained(data.replace_unchecked(time_unit=None))
    with pytest.raises(ValueError, match="`t` must be a number: the times of training had no unit"):
        model.update("a", dt.datetime(2024, 1, 1), {"drift": 1.0})
    assert len(model._live) == 0


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RuntimeError, SystemExit])
@pytest.mark.parametrize("calls", [1, 2, 3])
def test_an_error_in_any_member_leaves_the_old_state(model, monkeypatch, error, calls):
    """Members 1 and 3 read every sample, member 2 reads bins: none of them goes ahead of the others."""
    wanted = answers(model)
    got = answers(model, GOOD[:2], "a")
    advance, count = SeriesNetwork.advance, 0

    def failing(network, *arguments):
        nonlocal count
        count += 1
        result = advance(network, *arguments)
        if count == calls:
            raise error
        return result

    with monkeypatch.context() as patch:
        patch.setattr(SeriesNetwork, "advance", failing)
        for id, sample in (("a", GOOD[2]), ("new", GOOD[0])):
            count = 0
            with pytest.raises(error):
                model.update(id, *sample)
    assert set(model._live) == {"a", "good"}
    got += [model.update("a", *sample) for sample in GOOD[2:]]
    np.testing.assert_array_equal(got, wanted)


def test_what_one_scale_refuses_no_scale_takes(model):
    """A bin's start can lie further back than the sample before: only the second scale's interval overflows."""
    wanted = answers(model)
    got = answers(model, GOOD[:3], "a")
    narrow = copy.copy(model)
    narrow.encoders_ = [copy.copy(encoder) for encoder in model.encoders_]
    far = 3e38 * model.encoders_[0].time_scale_ / 2
    second = narrow.encoders_[1]
    second.time_scale_ = model.encoders_[0].time_scale_ / 1e3
    series = copy.copy(model._live["a"])
    assert len(series._steps) == 2
    series._steps[1]._encode = second.sample_step
    before = series._state
    with pytest.raises(ValueError, match="`t` must be within"):
        series.update(far, {"drift": 1.0})
    assert series._state is before
    series._steps[1]._encode = model.encoders_[1].sample_step
    got.append(model.update("a", *GOOD[3]))
    np.testing.assert_array_equal(got, wanted)


def test_outputs_that_are_not_finite_are_refused(model):
    broken = copy.deepcopy(model)
    wanted = answers(broken)
    got = answers(broken, GOOD[:3], "a")
    bias = broken.networks_[1].read_out.bias
    with torch.no_grad():
        value = bias.clone()
        bias.fill_(float("nan"))
        with pytest.raises(ValueError, match="not finite, so it was refused"):
            broken.update("a", *GOOD[3])
        with pytest.raises(ValueError, match="not finite, so it was refused"):
            broken.update("new", *GOOD[0])
        bias.copy_(value)
    assert set(broken._live) == {"good", "a"}
    got.append(broken.update("a", *GOOD[3]))
    np.testing.assert_array_equal(got, wanted)


def test_a_value_that_scaling_overflows_is_refused():
    data, labels, _ = series(30)
    tiny = data.replace_unchecked(values=data.values * np.float32(1e-30))
    model = lt.CfCClassifier(**TINY | {"epochs": 1}).fit(tiny, labels)
    for encoder in model.encoders_:
        encoder.scaling_.low[:], encoder.scaling_.high[:] = -np.inf, np.inf
    model.update("a", 0.0, {"drift": 1e-30})
    with pytest.raises(ValueError, match=r"inputs that float32 can hold; 'drift' does not at t = 1\.0"):
        model.update("a", 1.0, {"drift": 1e30})
    with pytest.raises(ValueError, match="float32 can hold once they are scaled; 'drift' of series 1"):
        model.predict_proba(data.replace_unchecked(values=np.where(np.isnan(data.values), np.nan, np.float32(1e30))))


GOOD_SAMPLE = st.tuples(
    st.sampled_from([0.0, 0.1, 2.0, 9.0]),
    st.dictionaries(st.sampled_from(["drift", "noise"]), st.floats(-5, 5, width=32) | st.none(), max_size=2),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(GOOD_SAMPLE, min_size=1, max_size=8), st.data())
def test_bad_samples_among_good_ones_leave_no_trace(model, gaps, draw):
    model.reset()
    time, times, rows, out = 0.0, [], [], None
    for gap, values in gaps:
        for bad, _ in draw.draw(st.lists(st.sampled_from(BAD_LATER if times else BAD_FIRST), max_size=3)):
            if times and bad["t"] == 4.0:
                bad = bad | {"t": time - 1.0}
            with pytest.raises((ValueError, TypeError)):
                model.update("a", **bad)
        time += gap
        out = model.update("a", time, values)
        times.append(time)
        rows.append([values.get("drift"), values.get("noise"), None])
    assert list(model._live) == ["a"]
    table = np.array(rows, dtype=np.float32)
    frame = pd.DataFrame({"id": 1, "t": times, "drift": table[:, 0], "noise": table[:, 1], "never": table[:, 2]})
    frame["age"], frame["sex"] = np.nan, pd.Series([None] * len(frame), dtype=object)
    whole = lt.SeriesSet.from_wide(frame.drop(columns=["age", "sex"]), id="id", time="t", time_unit="h")
    with pytest.warns(UserWarning, match="static features of training are missing"):
        wanted = model.predict_proba(whole)[0]
    np.testing.assert_allclose(out, wanted, atol=3e-6)


def test_threads_update_different_and_the_same_series(model):
    rng = np.random.default_rng(0)
    samples = [(float(t), {"drift": float(v)}) for t, v in enumerate(rng.normal(size=40))]
    wanted = [model.update("alone", t, values) for t, values in samples][-1]
    model.reset()
    errors, results = [], {}

    def work(id, part):
        try:
            for t, values in part:
                results[id] = model.update(id, t, values)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k, samples)) for k in range(4)]
    equal = [(0.0, {"drift": 1.0})] * 30  # one time: the order of the threads does not matter
    threads += [threading.Thread(target=work, args=("shared", equal)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(model._live) == 5
    for k in range(4):
        np.testing.assert_array_equal(results[k], wanted)
    assert float(model._live["shared"]._state.scales[0].samples.time_count[0, 0]) == 120.0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_continues_the_series_on_its_own(model, copied):
    wanted = answers(model)
    model.reset()
    got = answers(model, GOOD[:2], "a")
    other = copied(model)
    for one in (model, other):
        rest = [one.update("a", *sample) for sample in GOOD[2:]]
        np.testing.assert_array_equal([*got, *rest], wanted)


def test_a_model_loaded_in_inference_mode_updates(model, tmp_path):
    wanted = answers(model)
    model.save(tmp_path / "model")
    with torch.inference_mode():
        again = lt.load(tmp_path / "model")
        first = again.update("inside", *GOOD[0])
    np.testing.assert_allclose(answers(again), wanted, rtol=0, atol=1e-6)  # such weights are read without tables
    assert first.shape == wanted[0].shape


def test_reset_starts_again(model):
    wanted = answers(model)
    model.reset("good")
    assert len(model._live) == 0
    np.testing.assert_array_equal(answers(model), wanted)
    model.reset("never there")
    model.reset()
    assert len(model._live) == 0


def test_missing_values_in_every_spelling(model):
    wanted = model.update("a", 0.0, {"drift": 1.0})
    for k, nothing in enumerate((None, float("nan"), np.nan, pd.NA, pd.NaT, np.float32("nan"))):
        np.testing.assert_array_equal(model.update(k, 0.0, {"drift": 1.0, "noise": nothing}), wanted)


class Other(Mapping):
    """A mapping that fails halfway."""

    def __iter__(self):
        return iter(("drift", "noise"))

    def __len__(self):
        return 2

    def __getitem__(self, name):
        if name == "noise":
            raise OSError("the sensor is gone")
        return 1.0


def test_values_that_fail_while_they_are_read(model):
    with pytest.raises(OSError, match="the sensor is gone"):
        model.update("a", 0.0, Other())
    assert len(model._live) == 0
