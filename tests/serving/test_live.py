"""Samples of live series without HTTP: equal to the library on every sample, idempotent, all or none."""

import threading
import warnings

import numpy as np
import pytest
from msgspec import structs

import liquidtime as lt
from liquidtime.serving.launch import service_of
from liquidtime.serving.live import sizes_of, take
from liquidtime.serving.messages import NewSamples, Sample
from liquidtime.serving.model import ServedModel
from liquidtime.serving.record import numbers, read_record
from liquidtime.serving.refusal import Refused
from liquidtime.serving.settings import Settings


@pytest.fixture(scope="module")
def served(exported):
    return ServedModel(exported)


def taken(served, record, samples, static=None, keep=100):
    return take(served, record, [Sample(t, values) for t, values in samples], static, keep, 0.0)


def last(record):
    return numbers(record.newest[-1].prediction, np.float64)


def test_every_sample_gives_what_update_gives(served, model, streams, statics):
    for id, samples in streams.items():
        record = None
        model.reset()
        for k, (t, values) in enumerate(samples):
            static = statics[id] if k == 0 else None
            record = taken(served, record, [(t, values)], static).record
            record = read_record(record.to_bytes(), sizes_of(served))  # as it comes back from a store
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wanted = model.update(id, t, values, **({"static": static} if static is not None else {}))
            np.testing.assert_allclose(last(record), wanted, atol=5e-6)
        assert record.times == len(samples)


@pytest.mark.parametrize("stamped", [False, True])
def test_pieces_of_a_stream_in_any_cut_give_what_the_whole_gives(served, data, streams, statics, stamped):
    rng = np.random.default_rng(1)
    start = np.datetime64("2026-01-01T00:00:00", "ns")
    for row, (id, samples) in enumerate(streams.items()):
        times = data[row].times
        if stamped:  # which count from the first sample
            ticks = np.round(3600e9 * (times - times[0])).astype(np.int64)
            times = ticks / 3600e9
            told = [f"{start + np.timedelta64(n, 'ns')}Z" for n in ticks.tolist()]
            samples = [(t, values) for t, (_, values) in zip(told, samples, strict=True)]
        pieces = [(t, {name: values[name]} if name else {}) for t, values in samples for name in values or [None]]
        record, at = None, 0
        while at < len(pieces):
            width = int(rng.integers(1, 5))
            record = taken(served, record, pieces[at : at + width], statics[id]).record
            again = taken(served, record, pieces[max(0, at - 3) : at + width], statics[id])
            assert (again.taken, again.record is record) == (0, True)
            at += width
        wanted = served.whole([(times, data[row].values)], [data.static[row].astype(np.float32)])[0]
        np.testing.assert_allclose(last(record), wanted, atol=5e-6)


def test_a_value_is_known_by_its_time_and_channel(served):
    record = taken(served, None, [(1.0, {"a": 1.0}), (2.0, {"b": 2.0}), (2.5, {})]).record
    before = record.to_bytes()
    for known in ([(1.0, {"a": 1.0})], [(2.0, {})], [(1.0, {"a": None, "b": None}), (2.0, {"b": 2.0})], [(2.5, {})]):
        outcome = taken(served, record, known)
        assert (outcome.taken, outcome.repeated, outcome.record.to_bytes()) == (0, len(known), before)
    more = taken(served, record, [(2.5, {"a": 4.0})])  # the newest time is open for further channels
    assert (more.taken, more.record.times) == (1, 3)
    both = taken(served, more.record, [(2.5, {"a": 4.0, "b": 1.0})])
    assert (both.taken, both.record.times) == (1, 3)
    whole = taken(served, None, [(1.0, {"a": 1.0}), (2.0, {"b": 2.0}), (2.5, {"a": 4.0, "b": 1.0})]).record
    np.testing.assert_allclose(last(both.record), last(whole), atol=1e-6)


REFUSED = {
    "late, of an unknown time": ([(1.5, {"a": 1.0})], 409, "late_sample", "samples[0].time"),
    "late, of a known time": ([(1.0, {"b": 1.0})], 409, "late_sample", "samples[0].time"),
    "out of order": ([(4.0, {"a": 1.0}), (3.5, {"a": 1.0})], 409, "late_sample", "samples[1].time"),
    "another value": ([(1.0, {"a": 1.5})], 409, "other_value", "samples[0].values.a"),
    "another value now": ([(3.0, {"k": "low"})], 409, "other_value", "samples[0].values.k"),
    "another value in the request": ([(4.0, {"a": 1.0}), (4.0, {"a": 2.0})], 409, "other_value", "samples[1].values.a"),
    "another clock": ([("2024-01-01", {"a": 1.0})], 409, "other_clock", "samples[0].time"),
    "an unknown channel": ([(4.0, {"A1": 1.0})], 422, "unknown_channel", "samples[0].values"),
    "a value with its unit": ([(4.0, {"a": "80 bpm"})], 422, "bad_value", "samples[0].values.a"),
    "a number as a text": ([(4.0, {"a": "80"})], 422, "bad_value", "samples[0].values.a"),
    "too large a value": ([(4.0, {"a": 1e39})], 422, "bad_value", "samples[0].values.a"),
    "a whole number without end": ([(4.0, {"a": 10**400})], 422, "bad_value", "samples[0].values.a"),
    "an infinite value": ([(4.0, {"a": float("inf")})], 422, "bad_value", "samples[0].values.a"),
    "NaN is not sent as a number": ([(4.0, {"a": float("nan")})], 422, "bad_value", "samples[0].values.a"),
    "a time too far": ([(1e308, {"a": 1.0}), (1.7e308, {"a": 1.0})], 422, "not_finite", "samples[0]"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_request_with_a_sample_that_does_not_fit_changes_nothing(served, name):
    samples, status, code, at = REFUSED[name]
    record = taken(served, None, [(-1.0, {"b": 0.5}), (1.0, {"a": 1.0}), (3.0, {"k": "top"})]).record
    before = record.to_bytes()
    for front in ([], [(3.0, {"a": 2.0}), (3.25, {"b": 1.0})]):  # good samples before it are not taken either
        with pytest.raises(Refused) as refusal:
            taken(served, record, front + samples)
        assert (refusal.value.status, refusal.value.code) == (status, code)
        if not front:
            assert refusal.value.at == at
    assert record.to_bytes() == before


def test_static_features_are_set_once(served):
    record = taken(served, None, [(1.0, {"a": 1.0})], {"age": 70.0}).record
    other = taken(served, None, [(1.0, {"a": 1.0})]).record
    assert not np.array_equal(last(record), last(other))
    assert taken(served, record, [(1.0, {"a": 1.0})], {"age": 70}).repeated == 1  # the same request again
    with pytest.raises(Refused, match="were set by its first samples"):
        taken(served, record, [(2.0, {"a": 1.0})], {"age": 71})
    with pytest.raises(Refused, match="'agee' is not a static feature of the model; did you mean `age`"):
        taken(served, None, [(2.0, {"a": 1.0})], {"agee": 71})


def test_the_newest_samples_are_remembered_and_those_of_a_request_always(served):
    stream = [(float(t), {"a": t / 7}) for t in range(30)]
    record = taken(served, None, stream, keep=5).record
    assert len(record.newest) == 30
    assert taken(served, record, stream, keep=5).repeated == 30
    record = taken(served, record, [(30.0, {"a": 1.0})], keep=5).record
    assert [each.ticks for each in record.newest] == [26.0, 27.0, 28.0, 29.0, 30.0]
    with pytest.raises(Refused, match="late") as refusal:
        taken(served, record, stream[3:4], keep=5)
    assert refusal.value.code == "late_sample"
    assert record.times == 31


def test_categories_are_told_by_name(served, model):
    for told, wanted in (("mid", "mid"), ("no such category", "no such category")):
        record = taken(served, None, [(1.0, {"k": told})]).record
        model.reset()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_allclose(last(record), model.update("x", 1.0, {"k": wanted}), atol=5e-6)


def test_a_damaged_record_is_refused(served):
    record = taken(served, None, [(1.0, {"a": 1.0}), (2.0, {"b": 1.0})]).record
    content, sizes = record.to_bytes(), sizes_of(served)
    for damaged in (content[:-3], b"", b"\xff" * 20 + content[20:], b"\x93\x01\x02\x03", b"\x02" + content):
        with pytest.raises(ValueError, match="stored series"):
            read_record(damaged, sizes)
    with pytest.raises(ValueError, match="size differs"):
        read_record(content, sizes._replace(doubles=sizes.doubles + 1))
    newest = record.newest[-1]
    for change in (
        {"static": b"\0" * 3},
        {"kind": 9},
        {"kind": -1},
        {"kind": 2},  # time stamps without an origin
        {"origin": 5},  # numbers with one
        {"newest": []},
        *(
            {"newest": [structs.replace(newest, **own)]}
            for own in (
                {"prediction": b"\0" * 15},
                {"channels": b"\0" * 3},
                {"channels": b"\0" * 4},
                {"channels": b"\xff\xff"},
                {"channels": b"\0", "values": b"\0\0"},
            )
        ),
    ):
        with pytest.raises(ValueError, match="do not fit together"):
            read_record(structs.replace(record, **change).to_bytes(), sizes)


def test_whole_series_of_any_lengths_equal_the_model(served, model, data, batch, monkeypatch):
    series = [(each.times, each.values) for each in data]
    statics = [row.astype(np.float32) for row in data.static]
    wanted = np.stack(list(batch.values()))
    np.testing.assert_allclose(served.whole(series, statics), wanted, atol=5e-6)
    monkeypatch.setattr("liquidtime.serving.model._AT_ONCE", 100)  # a few series in each call
    np.testing.assert_allclose(served.whole(series, statics), wanted, atol=5e-6)
    monkeypatch.setattr("liquidtime.serving.model._MOST", 40)
    with pytest.raises(Refused, match="a series may have at most 10 samples") as refusal:
        served.whole(series, statics)
    assert refusal.value.status == 413


def test_old_series_are_forgotten_and_the_number_of_series_is_bounded(exported, tmp_path):
    service = service_of(Settings(exported, str(tmp_path / "s.db"), most_series=3, oldest=60.0))
    clock = [1000.0]
    service._now = lambda: clock[0]
    for id in "abc":
        service.take(id, NewSamples([Sample(1.0, {"a": 1.0})]))
        clock[0] += 30.0
    with pytest.raises(Refused, match="3 series are stored") as refusal:
        service.take("d", NewSamples([Sample(1.0, {"a": 1.0})]))
    assert refusal.value.status == 429
    service.take("a", NewSamples([Sample(2.0, {"a": 1.0})]))  # those that are there go on
    assert service.evict() == 0
    clock[0] += 1.0
    assert service.evict() == 1
    assert {each.id for each in service.newest(10, 0).series} == {"a", "c"}
    service.take("d", NewSamples([Sample(1.0, {"a": 1.0})]))
    service.store.close()


def test_a_clock_that_is_set_does_not_make_series_old(exported, tmp_path):
    service = service_of(Settings(exported, str(tmp_path / "s.db"), oldest=600.0))
    now, passed = [5.0], [0.0]  # a machine that starts in 1970
    service._now, service._passed = (lambda: now[0]), (lambda: passed[0])
    for id in "ab":
        service.take(id, NewSamples([Sample(1.0, {"a": 1.0})]))
    assert service.evict() == 0
    now[0] += 1.8e9  # and then learns the time
    assert service.evict() == 0
    for clock in (now, passed):
        clock[0] += 500.0
    service.take("a", NewSamples([Sample(2.0, {"a": 1.0})]))
    assert service.evict() == 0
    for clock in (now, passed):
        clock[0] += 200.0
    assert service.evict() == 1
    assert [each.id for each in service.newest(10, 0).series] == ["a"]
    now[0] -= 1e6  # backwards: they only look younger
    assert service.evict() == 0
    service.store.close()


def test_paths_in_one_answer_have_a_bound(exported, tmp_path):
    service = service_of(Settings(exported, str(tmp_path / "s.db"), keep=10_000))
    assert service.newest(1000, 100).total == 0
    with pytest.raises(Refused, match="`limit` times `path` may be at most 100,000"):
        service.newest(1000, 1000)
    service.store.close()


def test_series_that_are_deleted_while_others_send_start_whole(exported, tmp_path, served):
    """Two services on one file: two threads send, a third deletes the series and a fourth evicts."""
    services = [service_of(Settings(exported, str(tmp_path / "s.db"), oldest=1e6, keep=1000)) for _ in range(2)]
    problems, ended = [], threading.Event()

    def send(service, name, offset):
        for k in range(60):
            try:
                service.take("x", NewSamples([Sample(float(k // 4), {name: k // 4 + offset})]))
            except Refused as refusal:
                problems.extend([] if refusal.code == "late_sample" else [refusal])  # the other thread is ahead
            except Exception as error:
                problems.append(error)

    def disturb(service, action):
        while not ended.wait(0.01):
            try:
                action(service)
            except Refused as refusal:
                problems.extend([] if refusal.code == "unknown_series" else [refusal])
            except Exception as error:
                problems.append(error)

    senders = [threading.Thread(target=send, args=args) for args in zip(services, "ab", (0.0, 0.5), strict=True)]
    others = [
        threading.Thread(target=disturb, args=(services[0], lambda service: service.delete("x"))),
        threading.Thread(target=disturb, args=(services[1], lambda service: service.evict())),
    ]
    for thread in (*senders, *others):
        thread.start()
    for thread in senders:
        thread.join()
    ended.set()
    for thread in others:
        thread.join()
    assert not problems
    services[0].take("x", NewSamples([Sample(1e3, {"c0": 1.0})]))
    record = read_record(services[1].store.get("x").content, sizes_of(served))
    assert record.times == len(record.newest)
    again = [
        (own.time, {served.channels.names[at]: value for at, value in own.observed().items()}) for own in record.newest
    ]
    np.testing.assert_allclose(last(taken(served, None, again).record), last(record), atol=5e-6)
    for service in services:
        service.store.close()


def test_a_model_of_several_labels_says_each(tmp_path):
    from estimators.small import TINY
    from oracles.series import random_set

    data = random_set(0, [20, 12, 9, 15, 18, 11])
    model = lt.CfCMultiLabelClassifier(**TINY | {"epochs": 1}).fit(data, np.arange(18).reshape(6, 3) % 2)
    lt.export.onnx(model, tmp_path / "labels")
    served = ServedModel(tmp_path / "labels")
    record = taken(served, None, [(1.0, {"a": 1.0})]).record
    wanted = np.ravel(model.update("x", 1.0, {"a": 1.0}))
    said = served.in_words(last(record))
    np.testing.assert_allclose(list(said.probabilities.values()), wanted, atol=5e-6)
    assert said.labels == (wanted >= 0.5).tolist()


def test_the_threshold_of_the_model_decides(served, monkeypatch):
    assert served.in_words(np.array([0.7, 0.3])).label == 0
    monkeypatch.setitem(served.description, "threshold", 0.25)
    assert served.in_words(np.array([0.7, 0.3])).label == 1
