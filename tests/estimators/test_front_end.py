"""Convolutions before the recurrent layer: what they compute, when they are offered, and that every path takes them."""

import json

import numpy as np
import pytest
import torch

import liquidtime as lt
from estimators.forged import sign
from estimators.small import TINY, series
from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.estimators.network.front_end import FRONT_ENDS, ConvolutionalReader, suits
from liquidtime.estimators.network.inputs import Prepared

ONE = TINY | {"epochs": 1}


def waves(S=40, seed=0, least=50, longest=90):
    """Return dense series of two channels, one a category, with gaps; the class is the shape of a short wave."""
    rng = np.random.default_rng(seed)
    y, times, values, offsets = np.arange(S) % 2, [], [], [0]
    for i in range(S):
        n = int(rng.integers(least, longest))
        t = np.cumsum(rng.exponential(size=n))
        start = int(rng.integers(0, n - 20))
        wave = 0.2 * rng.normal(size=n) + 10 * rng.normal()
        wave[start : start + 20] += 2 * np.sin(np.arange(20) * (0.4 if y[i] else 0.9))
        row = np.stack([wave, rng.integers(0, 2, n)], axis=1).astype(float)
        row[rng.random(row.shape) < 0.1] = np.nan
        times.append(t), values.append(row), offsets.append(offsets[-1] + n)
    return SeriesSet(
        offsets=np.array(offsets), times=np.concatenate(times), values=np.concatenate(values),
        channels=("wave", "state"), categories={"state": ("off", "on")},
    ), y  # fmt: skip


def reader(data, form, seed=0):
    encoder = SeriesEncoder().fit(data)
    torch.manual_seed(seed)
    return encoder, ConvolutionalReader("cfc", form, 4, 8, 1, encoder.input_size_, encoder.layout_).eval()


def batch(encoder, data):
    encoded = encoder.transform(data)
    T = int(encoded.lengths.max())
    x, dt = torch.zeros(len(encoded), T, encoded.x.shape[1]), torch.zeros(len(encoded), T)
    for i, (a, b) in enumerate(zip(encoded.offsets[:-1], encoded.offsets[1:], strict=True)):
        x[i, : b - a], dt[i, : b - a] = torch.from_numpy(encoded.x[a:b]), torch.from_numpy(encoded.dt[a:b])
    return x, dt, torch.from_numpy(encoded.lengths)


@pytest.mark.parametrize("form", FRONT_ENDS)
def test_an_output_does_not_depend_on_the_other_series_of_a_batch(form):
    data, _ = waves(6)
    encoder, model = reader(data, form)
    for norm in model.norms:
        if form == "convolution":
            norm.mean.normal_(), norm.variance.uniform_(0.5, 2.0)
    x, dt, lengths = batch(encoder, data)
    y, _ = model(x, dt=dt, lengths=lengths)
    assert y.shape == (6, -(-x.shape[1] // 8), model.output_size)
    for i, n in enumerate(lengths.tolist()):
        alone, _ = model(x[i : i + 1, :n], dt=dt[i : i + 1, :n], lengths=lengths[i : i + 1])
        steps = -(-n // 8)
        assert int(model.steps_of(lengths)[i]) == alone.shape[1] == steps
        torch.testing.assert_close(y[i : i + 1, :steps], alone, atol=1e-5, rtol=1e-4)
        assert not y[i, steps:].any()


def test_only_the_own_form_is_blind_to_a_series_own_mean_and_scale():
    data, _ = waves(6)
    encoder, _ = reader(data, "convolution")
    x, dt, lengths = batch(encoder, data)
    other = x.clone()
    other[..., 0] = 3 * other[..., 0] + 1  # the wave; its category stays
    for form, blind in (("convolution", False), ("convolution-own", True)):
        model = reader(data, form)[1]
        y, scaled = (model(one, dt=dt, lengths=lengths)[0][..., : model.layer.output_size] for one in (x, other))
        assert torch.allclose(y, scaled, atol=1e-4) == blind


def test_training_statistics_leave_out_what_lies_behind_the_end():
    data, _ = waves(6)
    encoder, model = reader(data, "convolution")
    _, padded = reader(data, "convolution")
    x, dt, lengths = batch(encoder, data)
    more = torch.nn.functional.pad(x, (0, 0, 0, 80)), torch.nn.functional.pad(dt, (0, 80))
    for one, (inputs, intervals) in ((model, (x, dt)), (padded, more)):
        one.train()(inputs, dt=intervals, lengths=lengths)
        assert not torch.equal(one.norms[0].mean, torch.zeros(8))
    for one, other in zip(model.buffers(), padded.buffers(), strict=True):
        torch.testing.assert_close(one, other)


def test_it_is_offered_where_series_are_long_and_dense():
    def offered(data):
        encoder = SeriesEncoder().fit(data)
        return suits(Prepared.of(encoder, data))

    data, _ = waves(8)
    assert offered(data)
    assert not offered(waves(8, least=25, longest=40)[0])
    sparse = data.values.copy()
    sparse[:, 0] = np.nan
    sparse[::3, 1] = np.nan
    assert not offered(SeriesSet(data.offsets, data.times, sparse, data.channels, categories=data.categories))


def test_the_search_chooses_it_for_short_waves_and_says_so(monkeypatch):
    monkeypatch.setattr("liquidtime.estimators.network.budget.LONGER", (20,))
    monkeypatch.setattr("liquidtime.estimators.faces.fitting.quick_epochs", lambda S, batch_size: 1)
    data, y = waves(120)
    model = lt.CfCClassifier(**TINY | {"epochs": None, "bin_width": "scales", "n_estimators": 2, "random_state": 1})
    model.set_params(summary=None).fit(data, y)
    assert [trial.choice.front_end for trial in model.trials_] == [None] * 4 + list(FRONT_ENDS)
    assert model.front_end_ == model.choice_.front_end in FRONT_ENDS
    assert len(model.encoders_) == 1
    new, truth = waves(100, seed=1)
    assert model.score(new, truth) > 0.7
    plain = lt.CfCClassifier(**TINY | {"epochs": None, "front_end": None}).fit(data, y)
    assert {trial.choice.front_end for trial in plain.trials_} == {None}


@pytest.mark.parametrize("form", FRONT_ENDS)
def test_every_path_takes_it_and_a_live_sample_is_refused_with_the_reason(form, tmp_path):
    data, _, level = series(24)
    data = data[np.arange(2, 24)]
    labels, level = np.arange(22) % 2, level[2:]
    for model, y in (
        (lt.CfCClassifier(**ONE, front_end=form), labels),
        (lt.CfCRegressor(**ONE, front_end=form), level),
    ):
        model.fit(data, y)
        whole = model.predict_proba if isinstance(model, lt.CfCClassifier) else model.predict
        expected = whole(data)
        evolution = model.evolve(data)
        ends = evolution.outputs[evolution.offsets[1:] - 1]
        np.testing.assert_allclose(ends.reshape(expected.shape), expected, atol=1e-5)
        head = data[3:4].head(4)
        np.testing.assert_allclose(
            evolution.outputs[evolution.offsets[3] + 3].ravel(), np.ravel(whole(head)), atol=1e-5
        )
        with pytest.raises(ValueError, match=r"front end .* fit with front_end=None"):
            model.update("one", 0.0, {"drift": 1.0})
        model.save(tmp_path / "model")
        again = lt.load(tmp_path / "model")
        assert again.front_end_ == form
        np.testing.assert_array_equal(
            again.predict_proba(data) if isinstance(model, lt.CfCClassifier) else again.predict(data), expected
        )


def test_series_without_samples_and_deep_networks_are_read(tmp_path):
    data, labels, _ = series(30)
    model = lt.CfCClassifier(**ONE, front_end="convolution", network="gru", num_layers=3).fit(data, labels)
    assert np.isfinite(model.predict_proba(data)).all()
    assert np.isfinite(model.predict_proba(data[:1])).all()  # without samples
    model.save(tmp_path / "deep")
    np.testing.assert_array_equal(lt.load(tmp_path / "deep").predict_proba(data), model.predict_proba(data))


def test_what_cannot_have_one_is_refused(tmp_path):
    data, labels, _ = series(30)
    with pytest.raises(ValueError, match="`front_end` must be"):
        lt.CfCClassifier(**ONE, front_end="convolve").fit(data, labels)
    for network in ("transformer", "rnn_impute"):
        with pytest.raises(ValueError, match="`front_end` must be None"):
            lt.CfCClassifier(**ONE, front_end="convolution", network=network).fit(data, labels)
        assert lt.CfCClassifier(**ONE, network=network).fit(data, labels).front_end_ is None
    with pytest.raises(ValueError, match="`per_step`"):
        lt.CfCRegressor(**ONE, front_end="convolution", per_step=True).fit(data, np.zeros(len(data.times)))
    home = tmp_path / "model"
    lt.CfCClassifier(**ONE, front_end="convolution").fit(data, labels).save(home)
    for change in ({"front_end": "pickle"}, {"front_end": "convolution-own"}):
        config = json.loads((home / "config.json").read_text())
        config["learned"] |= change
        (home / "config.json").write_text(json.dumps(config))
        sign(home)
        with pytest.raises(ValueError, match=r"front_end|tensor"):
            lt.load(home)
