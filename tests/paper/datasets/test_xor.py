import hashlib

import numpy as np
import pytest
import torch

from liquidtime.paper.datasets import xor, xor_split


@pytest.fixture(scope="module")
def train():
    return xor("train")


def test_golden_hash_of_the_papers_training_set(train):
    inside = np.arange(32) < train.lengths.numpy()[:, None]
    digest = hashlib.sha256()
    for part in (train.x[..., 0].numpy(), train.dt.numpy(), inside, train.y.numpy()):
        digest.update(np.ascontiguousarray(part).tobytes())
    assert digest.hexdigest()[:16] == "dc5c27e9956ac993"


def test_first_sequence_and_means(train):
    length = int(train.lengths[0])
    assert train.x[0, :length, 0].tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0, 0]
    assert (train.dt[0, :length] * 32).tolist() == [1, 2, 1, 3, 3, 1, 3, 1, 1, 2]
    assert int(train.y[0]) == 0
    assert float(train.lengths.double().mean()) == pytest.approx(9.2506, abs=5e-5)
    assert float(xor("test").lengths.double().mean()) == pytest.approx(9.3144, abs=5e-5)


def test_both_encodings_tell_the_same_streams():
    dense, event = xor("test", "dense", size=200), xor("test", "event", size=200)
    assert torch.equal(dense.y, event.y)
    for i in range(200):
        n, k = int(dense.lengths[i]), int(event.lengths[i])
        bits = dense.x[i, :n, 0]
        runs = (event.dt[i, :k] * 32).round().int()
        assert int(runs.sum()) == n
        # An event's value is the bit at its end; the bits since the last event before it are the last value again.
        told = []
        for value, run in zip(event.x[i, :k, 0].tolist(), runs.tolist(), strict=True):
            told += [told[-1] if told else value] * (run - 1) + [value]
        assert told == bits.tolist()
        assert int(bits.sum()) % 2 == int(dense.y[i])


def test_refusals():
    with pytest.raises(ValueError, match="`encoding` must be one of 'event', 'dense'"):
        xor("test", "events")
    with pytest.raises(ValueError, match="`split` must be one of 'train', 'test'"):
        xor("val")


def test_validation_is_a_tenth_of_the_training_streams():
    whole, split = xor("train", size=200), xor_split(size=200, test_size=20, seed=5)
    assert [len(part) for part in split.parts().values()] == [180, 20, 20]
    ids = torch.cat([split.train.ids, split.validation.ids])
    assert ids.sort().values.tolist() == list(range(200))
    for part in (split.train, split.validation):
        T = part.x.shape[1]
        assert torch.equal(part.x, whole.x[part.ids, :T])
        assert torch.equal(part.y, whole.y[part.ids])
    assert len(xor_split(protocol="published", size=200, test_size=20).train) == 200
