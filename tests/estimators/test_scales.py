import copy
import warnings

import numpy as np
import pytest

import liquidtime as lt
from estimators.small import TINY, series

NETWORKS = ["cfc", "lstm", "cfc_mm"]


@pytest.fixture(scope="module", params=NETWORKS)
def fitted(request):
    data, labels, _ = series(30, longest=90)
    settings = TINY | {"network": request.param, "n_estimators": 3, "num_layers": 2}
    return lt.CfCClassifier(**settings).fit(data, labels)


def regular(steps, S=12):
    rng = np.random.default_rng(0)
    return lt.SeriesSet.from_arrays([(np.arange(steps) * 0.5, rng.normal(size=(steps, 2))) for _ in range(S)])


def widths(data, **settings):
    model = lt.CfCClassifier(**TINY | {"epochs": 1} | settings).fit(data, np.arange(len(data)) % 2)
    return [encoder.bin_width for encoder in model.encoders_]


def test_each_scale_is_four_times_coarser_while_series_fill_five_bins():
    assert widths(regular(20), n_estimators=5) == [None]  # a span of 9.5 and bins of 2
    assert widths(regular(21), n_estimators=5) == [None, 2.0]
    assert widths(regular(81), n_estimators=5) == [None, 2.0, 8.0]
    assert widths(regular(81), n_estimators=2) == [None, 2.0]
    assert widths(regular(81)) == [None]
    assert widths(regular(81), n_estimators=3, bin_width=None) == [None]
    assert widths(regular(81), n_estimators=3, bin_width=3.0) == [3.0]
    assert widths(regular(81), n_estimators=2, network="transformer") == [None]


def test_long_series_are_read_in_a_bounded_number_of_steps(monkeypatch):
    monkeypatch.setattr("liquidtime.estimators.network.scales.MOST_STEPS", 40)
    assert widths(regular(40), n_estimators=2) == [None, 2.0]
    assert widths(regular(80), n_estimators=2) == [1.0, 4.0]
    assert widths(regular(81), n_estimators=2) == [2.0, 8.0]
    rng = np.random.default_rng(0)
    for steps in (100, 200, 400):
        times = [np.cumsum(rng.pareto(0.7, steps) + 1e-6) for _ in range(6)]  # most samples come in bursts
        data = lt.SeriesSet.from_arrays([(t, rng.normal(size=(steps, 1))) for t in times])
        model = lt.CfCClassifier(**TINY | {"epochs": 1}).fit(data, np.arange(6) % 2)
        assert len(model.encode(data).prepared().times) <= 40 * 6
        evolution = model.evolve(data)
        ends = evolution.offsets[1:] - 1
        np.testing.assert_allclose(evolution.outputs[ends], model.predict_proba(data), atol=3e-6)


def test_the_course_of_long_series_is_that_of_their_beginnings_at_every_scale(monkeypatch):
    monkeypatch.setattr("liquidtime.estimators.network.scales.MOST_STEPS", 40)
    data = regular(150)
    model = lt.CfCClassifier(**TINY | {"epochs": 1, "n_estimators": 3}).fit(data, np.arange(12) % 2)
    assert [encoder.bin_width for encoder in model.encoders_] == [2.0, 8.0]
    evolution = model.evolve(data)
    assert len(evolution.times) == evolution.offsets[-1] == 12 * 38
    for step in (0, 7, 36, 37):
        ends = np.searchsorted(data[0].times, evolution.times[step] + 2.0, side="left")
        heads = data.head(np.full(12, ends))
        np.testing.assert_allclose(evolution.outputs[step::38], model.predict_proba(heads), atol=3e-6)
    few = model.evolve(data, points=5)
    np.testing.assert_allclose(few.outputs[4::5], model.predict_proba(data), atol=3e-6)


def test_members_take_turns_and_answer_with_their_mean(fitted):
    data, _, _ = series(20, seed=2, longest=90)
    assert [fitted._encoder_of(member).bin_width is None for member in range(3)] == [True, False, True]
    each = []
    for member in range(3):
        alone = copy.copy(fitted)
        alone.networks_ = [fitted.networks_[member]]
        alone.encoders_ = [fitted.encoders_[member % 2]]
        each.append(alone.predict_proba(data))
    assert np.abs(each[0] - each[1]).max() > 1e-3
    np.testing.assert_allclose(fitted.predict_proba(data), np.mean(each, axis=0), atol=1e-6)


def test_a_network_of_the_ensemble_is_that_of_its_bins_alone():
    """The second network has the numbers that an estimator with those bins, and its seed, would train."""
    data, labels, _ = series(30, longest=90)
    both = lt.CfCClassifier(**TINY | {"n_estimators": 2}).fit(data, labels)
    width = both.encoders_[1].bin_width
    binned = lt.CfCClassifier(**TINY | {"n_estimators": 2, "bin_width": width}).fit(data, labels)
    for name, tensor in both.networks_[1].state_dict().items():
        np.testing.assert_array_equal(tensor.numpy(), binned.networks_[1].state_dict()[name].numpy(), err_msg=name)


def test_updates_evolution_and_prefixes_agree_at_every_sample(fitted):
    data, _, _ = series(30, seed=3, longest=90)
    evolution = fitted.evolve(data)
    np.testing.assert_array_equal(evolution.times, data.times)
    np.testing.assert_array_equal(evolution.offsets, data.offsets)
    ends = data.offsets[1:][data.lengths > 0] - 1
    np.testing.assert_allclose(evolution.outputs[ends], fitted.predict_proba(data)[data.lengths > 0], atol=3e-6)
    for place in (1, 5, 8):
        one = data[place]
        static = {"age": float(one.static[0]), "sex": "fm"[int(one.static[1])]}
        fitted.reset()
        for k, (time, values) in enumerate(zip(one.times, one.values, strict=True)):
            live = fitted.update(place, time, values, static=static if k == 0 else None)
            np.testing.assert_allclose(live, evolution.outputs[data.offsets[place] + k], atol=3e-6)
            if k % 10 == 0:
                prefix = data[place : place + 1].head(k + 1)
                np.testing.assert_allclose(live, fitted.predict_proba(prefix)[0], atol=3e-6)


def test_a_saved_ensemble_has_all_its_scales(fitted, tmp_path):
    data, _, _ = series(30, seed=4, longest=90)
    fitted.save(tmp_path / "model")
    again = lt.load(tmp_path / "model")
    assert [encoder.bin_width for encoder in again.encoders_] == [encoder.bin_width for encoder in fitted.encoders_]
    assert [encoder.time_scale_ for encoder in again.encoders_] == [encoder.time_scale_ for encoder in fitted.encoders_]
    np.testing.assert_array_equal(again.predict_proba(data), fitted.predict_proba(data))
    np.testing.assert_array_equal(again.evolve(data).outputs, fitted.evolve(data).outputs)


def test_validation_is_read_at_the_scale_of_each_member():
    data, labels, level = series(40, longest=90)
    settings = TINY | {"n_estimators": 3, "bin_width": "scales"}
    for model, y in ((lt.CfCClassifier(**settings), labels), (lt.CfCRegressor(**settings), level)):
        model.fit(data[:30], y[:30], validation=(data[30:], y[30:]))
        assert len(model.encoders_) == 2
        assert all(result.best_epoch is not None for result in model.results_)
        one = data[9]
        static = {"age": float(one.static[0]), "sex": "fm"[int(one.static[1])]}
        for k, (time, values) in enumerate(zip(one.times, one.values, strict=True)):
            live = model.update("nine", time, values, static=static if k == 0 else None)
            wanted = model.evolve(data[9:10]).outputs[k] if k % 9 == 0 else live
            np.testing.assert_allclose(np.reshape(live, -1), np.reshape(wanted, -1), atol=1e-5)


def test_channels_of_new_data_are_compared_once(fitted):
    data, _, _ = series(10, longest=90)
    renamed = data.replace_unchecked(channels=("drift", "noise", "other"))
    for ask in (fitted.predict_proba, fitted.evolve):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            ask(renamed)
        assert len(seen) == len({str(warning.message) for warning in seen}) > 0


def test_where_there_is_one_time_scale_only():
    data, labels, _ = series(20, longest=90)
    with pytest.raises(ValueError, match="`bin_width` must be one of 'scales'"):
        lt.CfCClassifier(**TINY, bin_width="scale").fit(data, labels)
    with pytest.raises(ValueError, match="`bin_width` must be one width for all networks, or None"):
        lt.CfCForecaster(**TINY, bin_width="scales").fit(data)
    with pytest.raises(ValueError, match="`per_step` needs single samples, not bins"):
        lt.CfCRegressor(**TINY, bin_width="scales", per_step=True).fit(data, np.zeros(len(data.times)))
