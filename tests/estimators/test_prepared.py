"""Batches are the same whatever is kept encoded, and statistics of many series are those of some of them."""

import numpy as np
import pytest

from estimators.small import TINY, series
from liquidtime.data import History, SeriesEncoder, SeriesSet
from liquidtime.data.container import drawn_series
from liquidtime.estimators import CfCClassifier, CfCRegressor
from liquidtime.estimators.network import inputs
from liquidtime.estimators.network.inputs import Prepared, SeriesBatches


@pytest.mark.parametrize("every_step", [False, True])
@pytest.mark.parametrize("width", [None, 5.0])
def test_a_batch_has_the_same_bits_whatever_is_kept(width, every_step):
    data, _, _ = series(40)
    encoder = SeriesEncoder(bin_width=width).fit(data)
    steps = encoder.steps(data)
    encoded, history = encoder.encode(steps), History(encoder)
    rows = history.at_steps(steps) if every_step else history.at_ends(steps)
    for budget in (0, 10_000, 10**9):
        prepared = Prepared(encoder, encoder.aligned(data), every_step, budget)
        assert prepared.offsets.tolist() == encoded.offsets.tolist()
        assert prepared.times.tolist() == encoded.times.tolist()
        seen = []
        for batch in SeriesBatches(prepared, 7):
            for place, row in enumerate(batch.rows.tolist()):
                own, n = slice(encoded.offsets[row], encoded.offsets[row + 1]), int(encoded.lengths[row])
                assert batch.lengths[place] == n
                np.testing.assert_array_equal(batch.x[place, :n], encoded.x[own])
                np.testing.assert_array_equal(batch.dt[place, :n], encoded.dt[own])
                assert not batch.x[place, n:].any()
                np.testing.assert_array_equal(batch.static[place], encoded.static[row])
                wanted = rows[own] if every_step else rows[row]
                np.testing.assert_array_equal(batch.history[place, :n] if every_step else batch.history[place], wanted)
                assert (batch.ids[place], int(batch.first[place])) == (data.ids[row], encoded.offsets[row])
            seen += batch.rows.tolist()
        assert sorted(seen) == list(range(40))
    assert 0 < Prepared(encoder, data, every_step, 10_000)._count < 40  # some, not all, were kept


def test_training_and_prediction_do_not_depend_on_what_is_kept(monkeypatch):
    data, labels, _ = series(60)
    answers = []
    for megabytes in ("0", "1000"):
        monkeypatch.setenv(inputs.VARIABLE, megabytes)
        model = CfCClassifier(**TINY | {"epochs": 2}, n_estimators=2).fit(data, labels)
        series_ = model.encode(data)
        answers.append([model.predict_proba(series_), model.predict_proba(series_), model.evolve(series_).outputs])
    for one, other in zip(*answers, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_budget_that_is_no_number_is_refused_by_its_name(monkeypatch):
    data, _, level = series(30)
    monkeypatch.setenv(inputs.VARIABLE, "lots")
    with pytest.raises(ValueError, match="LIQUIDTIME_ENCODED_MB must be a whole number of megabytes; got 'lots'"):
        CfCRegressor(**TINY).fit(data, level)


def many(S):
    rng = np.random.default_rng(3)
    lengths = rng.integers(0, 5, size=S)
    values = rng.normal(size=(lengths.sum(), 2)).astype(np.float32)
    times = np.concatenate([np.arange(n, dtype=np.float64) for n in lengths])
    return SeriesSet(np.concatenate([[0], np.cumsum(lengths)]), times, values, ("a", "b"))


def test_statistics_of_many_series_are_those_of_a_drawn_part(monkeypatch):
    data = many(300)
    exact = SeriesEncoder().fit(data)
    monkeypatch.setattr(drawn_series, "MOST_SERIES", 300)
    same = SeriesEncoder().fit(data)
    np.testing.assert_array_equal(exact.scaling_.mean, same.scaling_.mean)
    monkeypatch.setattr(drawn_series, "MOST_SERIES", 100)
    rows = drawn_series.drawn_rows(data)
    assert len(rows) == 100
    assert (np.diff(rows) > 0).all()
    assert rows.tolist() == drawn_series.drawn_rows(data).tolist()
    part, alone = SeriesEncoder().fit(data), SeriesEncoder().fit(data[rows])
    np.testing.assert_array_equal(part.scaling_.mean, alone.scaling_.mean)
    assert (part.scaling_.mean != exact.scaling_.mean).all()
    monkeypatch.setattr(drawn_series, "MOST_VALUES", 50)
    assert 0 < data.lengths[drawn_series.drawn_rows(data)].sum() * 2 <= 50


@pytest.mark.parametrize("every_step", [False, True])
def test_rows_of_the_read_out_are_spread_over_all(every_step):
    data = many(300)
    encoder = SeriesEncoder().fit(data)
    prepared = Prepared(encoder, data, every_step, 0)
    whole = prepared.seen_by_read_out(10**6)
    assert len(whole) == (len(data.times) if every_step else 300)
    np.testing.assert_array_equal(prepared.seen_by_read_out(70), whole[:: len(whole) // 70])


@pytest.mark.parametrize("samples", [1, 7, 10**6])
def test_blocks_hold_every_series_once(samples):
    data = many(50)
    blocks = list(data.blocks(samples))
    assert [row for rows, _ in blocks for row in range(rows.start, rows.stop)] == list(range(50))
    assert all(len(part.times) <= samples or len(part) == 1 for _, part in blocks)
    np.testing.assert_array_equal(np.concatenate([part.values for _, part in blocks]), data.values)
