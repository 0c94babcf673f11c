"""Live series on disk, their bound, and threads."""

import datetime
import json
import pickle
import threading

import numpy as np
import pytest
from safetensors.torch import save

import liquidtime as lt
from estimators.small import TINY, series
from export.models import trained
from liquidtime.files.bounded import DamagedFolder
from liquidtime.files.contents import tensors_from_bytes
from liquidtime.files.folders import read_folder, write_folder

UTC = datetime.UTC


@pytest.fixture(scope="module")
def model():
    return trained(n_estimators=3, bin_width="scales")


def samples(seed=0, n=9):
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.choice([0.0, 0.4, 7.0], n))
    return [(float(t), {"a": float(rng.normal()), "k": "mid"} if rng.random() < 0.7 else {}) for t in times]


def test_saved_series_go_on_as_if_nothing_had_happened(model, tmp_path):
    model.reset()
    for id in ("ward 1", 7):
        for k, (t, values) in enumerate(samples()[:5]):
            model.update(id, t, values, static={"age": 61.0, "ward": "west"} if k == 0 else None)
    stamp = datetime.datetime(2024, 5, 1, 8, 30, tzinfo=UTC)
    model.update("stamped", stamp, {"a": 1.0})
    model.streams.save(tmp_path / "streams")
    files = sorted(path.name for path in (tmp_path / "streams").iterdir())
    assert files == ["manifest.json", "streams.json", "streams.safetensors"]

    def rest():
        out = [model.update(id, t, values) for id in ("ward 1", 7) for t, values in samples()[5:]]
        return [*out, model.update("stamped", stamp + datetime.timedelta(hours=3), {"b": 2.0})]

    wanted = rest()
    model.reset()
    model.update("not saved", 0.0, {})
    model.streams.load(tmp_path / "streams")
    assert list(model.streams) == ["ward 1", 7, "stamped"]
    np.testing.assert_array_equal(rest(), wanted)
    with pytest.raises(ValueError, match="the same kind"):
        model.update("stamped", 5.0, {})
    with pytest.raises(ValueError, match="was set by its first sample"):
        model.update(7, 1e3, {}, static={"age": 3.0})


def test_a_forecaster_remembers_what_its_naive_forecasts_need(tmp_path):
    data = lt.SeriesSet.from_arrays([(np.arange(30.0), np.sin(np.arange(30.0) + s)[:, None]) for s in range(6)])
    model = lt.CfCForecaster(**TINY | {"epochs": 1}).fit(data)
    for k in range(9):
        model.update("a", float(k), [np.sin(k)])
    model.update("b", 0.0, [0.5])
    model.streams.save(tmp_path / "streams")
    wanted = [model.forecast(id, [1.0, 4.0]) for id in "ab"]
    model.reset()
    model.streams.load(tmp_path / "streams")
    np.testing.assert_array_equal([model.forecast(id, [1.0, 4.0]) for id in "ab"], wanted)
    model.update("a", 9.0, [0.1])


def test_no_series_are_saved_too(model, tmp_path):
    model.reset()
    model.streams.save(tmp_path / "streams")
    model.update("a", 0.0, {})
    model.streams.load(tmp_path / "streams")
    assert len(model.streams) == 0


def test_series_of_another_model_and_damaged_ones_are_refused_and_change_nothing(model, tmp_path):
    model.reset()
    model.update("a", 0.0, {"a": 1.0})
    model.streams.save(tmp_path / "streams")
    with pytest.raises(ValueError, match="another model"):
        trained(random_state=5).streams.load(tmp_path / "streams")
    path = tmp_path / "streams" / "streams.safetensors"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    model.update("b", 0.0, {})
    with pytest.raises(DamagedFolder):
        model.streams.load(tmp_path / "streams")
    assert list(model.streams) == ["a", "b"]
    with pytest.raises(FileNotFoundError):
        model.streams.load(tmp_path / "nothing")
    model.update(("tuple",), 0.0, {})
    with pytest.raises(TypeError, match="texts or whole numbers"):
        model.streams.save(tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda about: about | {"format": 2}, lambda about: about | {"clocks": []}, lambda about: {},
        lambda about: about | {"ids": ["a", "a"], "clocks": 2 * about["clocks"]},
        lambda about: about | {"ids": ["a", "b"], "clocks": 2 * about["clocks"]},
        lambda about: about | {"clocks": [["sundial", None]]}, lambda about: about | {"clocks": [["numbers", "x"]]},
        lambda about: about | {"ids": [["a"]]}, lambda about: about | {"ids": 1}, lambda about: about | {"ids": [None]},
        lambda about: about | {"ids": {"a": 1}}, lambda about: about | {"clocks": [[[], None]]}, lambda about: [],
        lambda about: about | {"ids": [1.5]},
    ],
)  # fmt: skip
def test_a_forged_folder_is_refused(model, tmp_path, change):
    model.reset()
    model.update("a", 0.0, {"a": 1.0})
    model.streams.save(tmp_path / "streams")
    files = {name: data for name, data in read_folder(tmp_path / "streams").items() if name != "manifest.json"}
    files["streams.json"] = json.dumps(change(json.loads(files["streams.json"]))).encode()
    write_folder(tmp_path / "forged", files)
    with pytest.raises(ValueError):
        model.streams.load(tmp_path / "forged")
    assert list(model.streams) == ["a"]


@pytest.mark.parametrize(
    "change",
    [
        lambda name, tensor: tensor.bfloat16(), lambda name, tensor: tensor[:0], lambda name, tensor: tensor[..., None],
        lambda name, tensor: tensor.double() if "lengths" in name else tensor,
        lambda name, tensor: tensor * 0 + 2**62 if "lengths" in name else tensor,
        lambda name, tensor: tensor * 0 - 7 if "lengths" in name else tensor,
    ],
)  # fmt: skip
def test_forged_numbers_are_refused(tmp_path, change):
    data = lt.SeriesSet.from_arrays([(np.arange(30.0), np.sin(np.arange(30.0) + s)[:, None]) for s in range(6)])
    model = lt.CfCForecaster(**TINY | {"epochs": 1}).fit(data)
    model.update("a", 0.0, [0.5])
    model.update("b", 0.0, [0.5])
    model.streams.save(tmp_path / "streams")
    files = {name: data for name, data in read_folder(tmp_path / "streams").items() if name != "manifest.json"}
    tensors = tensors_from_bytes(files["streams.safetensors"])
    assert any("lengths" in name for name in tensors)
    forged = {name: change(name, tensor).contiguous() for name, tensor in tensors.items()}
    write_folder(tmp_path / "forged", files | {"streams.safetensors": save(forged)})
    with pytest.raises(DamagedFolder):
        model.streams.load(tmp_path / "forged")
    write_folder(tmp_path / "no texts", files | {"streams.json": b"\xff\xfe"})
    with pytest.raises(DamagedFolder):
        model.streams.load(tmp_path / "no texts")
    assert list(model.streams) == ["a", "b"]


def test_beyond_the_bound_the_series_that_waited_longest_is_forgotten(model):
    model.reset()
    model.streams.most = 3
    try:
        for id in "abc":
            model.update(id, 0.0, {})
        model.update("a", 1.0, {})
        model.update("d", 0.0, {})
        assert list(model.streams) == ["c", "a", "d"]
        model.streams.most = 1
        assert list(model.streams) == ["d"]
        with pytest.raises(ValueError, match="`most`"):
            model.streams.most = 0
    finally:
        model.streams.most = None


def test_threads_that_start_and_update_the_same_series_lose_nothing(model):
    model.reset()
    wrong = []

    def feed(n):
        for k in range(20):
            try:
                model.update(k % 5, 0.0, {"a": 1.0})
            except ValueError as error:
                wrong.append((n, error))

    threads = [threading.Thread(target=feed, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    counts = [model.streams[id].state.scales[0].samples.time_count[0, 0] for id in range(5)]
    assert counts == [16.0] * 5


def test_a_new_series_does_not_wait_for_another_that_is_starting(model, monkeypatch):
    model.reset()
    started, go_on = threading.Event(), threading.Event()
    streams, start = model.streams, model.streams._start

    def slow(static):
        if not started.is_set():
            started.set()
            assert go_on.wait(30)
        return start(static)

    monkeypatch.setattr(streams, "_start", slow)
    thread = threading.Thread(target=model.update, args=(0, 0.0, {}))
    thread.start()
    assert started.wait(30)
    model.update(1, 0.0, {})
    go_on.set()
    thread.join()
    assert sorted(streams) == [0, 1]


def test_a_fit_starts_without_series_and_a_copy_by_pickle_keeps_them():
    data, labels, _ = series(30)
    model = lt.CfCClassifier(**TINY | {"epochs": 1}).fit(data, labels)
    model.update("a", 0.0, {"drift": 1.0})
    model.streams.most = 5
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.update("a", 2.0, {}), model.update("a", 2.0, {}))
    assert copy.streams.most == 5
    model.fit(data, labels)
    assert len(model.streams) == 0
