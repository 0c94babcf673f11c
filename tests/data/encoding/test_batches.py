import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from liquidtime.data import Batches, SeriesEncoder, pad
from liquidtime.data.encoding import plan_batches
from oracles.series import random_set


def encoded_set(lengths):
    return SeriesEncoder().fit_transform(random_set(0, lengths))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=20), st.integers(1, 7), st.booleans())
def test_every_series_comes_once_and_whole(lengths, size, shuffled):
    encoded = encoded_set(lengths)
    batches = Batches(encoded, size, rng=np.random.default_rng(1) if shuffled else None)
    seen = []
    steps = 0
    for batch in batches:
        B, T, _ = batch.x.shape
        assert size >= B
        assert batch.dt.shape == (B, T)
        assert max(1, int(batch.lengths.max())) == T
        steps += B * T
        for x, dt, T_i, static, row in zip(*batch, strict=True):
            mine = slice(encoded.offsets[row], encoded.offsets[row + 1])
            np.testing.assert_array_equal(x[:T_i], encoded.x[mine])
            np.testing.assert_array_equal(dt[:T_i], encoded.dt[mine])
            np.testing.assert_array_equal(static, encoded.static[row])
            assert not x[T_i:].any()
            assert not dt[T_i:].any()
            seen.append(int(row))
    assert sorted(seen) == list(range(len(lengths)))
    assert len(batches) == -(-len(lengths) // size)
    assert batches.waste == pytest.approx(1 - sum(lengths) / steps)


def test_types_are_those_a_network_takes():
    batch = pad(encoded_set([2, 3]), np.array([1, 0]))
    assert [part.dtype for part in batch] == [torch.float32, torch.float32, torch.int64, torch.float32, torch.int64]
    assert batch.rows.tolist() == [1, 0]


def test_one_seed_gives_one_order_and_each_pass_another():
    encoded = encoded_set(list(range(40)))

    def passes(seed):
        batches = Batches(encoded, 4, rng=np.random.default_rng(seed))
        return [[batch.rows.tolist() for batch in batches] for _ in range(2)]

    assert passes(0) == passes(0)
    assert passes(0)[0] != passes(0)[1]
    assert passes(0) != passes(1)


def test_buckets_waste_less_than_chance():
    lengths = np.random.default_rng(0).integers(1, 200, 640).tolist()
    encoded = encoded_set(lengths)
    batches = Batches(encoded, 32, rng=np.random.default_rng(0))
    batches.plan()
    assert batches.waste < 0.1
    chance = plan_batches(encoded.lengths, np.arange(640), 32, np.random.default_rng(0), pool=1)
    steps = sum(len(rows) * encoded.lengths[rows].max() for rows in chance)
    assert 1 - sum(lengths) / steps > 0.4


def test_only_some_rows_can_be_taken():
    encoded = encoded_set([1, 5, 2, 7])
    rows = [row for batch in Batches(encoded, 2, rows=[3, 1]) for row in batch.rows.tolist()]
    assert sorted(rows) == [1, 3]
    with pytest.raises(IndexError, match="positions in 4 series"):
        Batches(encoded, 2, rows=[4])
    with pytest.raises(ValueError, match="`batch_size` must be at least 1"):
        Batches(encoded, 0)
    assert list(Batches(encoded, 2, rows=[])) == []
