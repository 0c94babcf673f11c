"""What holds for every data set: parts that share nothing, times that do not run back, the same seed the same bytes."""

import inspect

import pytest
import torch

from liquidtime.paper.datasets import DATASETS
from small_data import write_all


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return write_all(tmp_path_factory.mktemp("data"))


def load(name, root, **options):
    if "data_dir" in inspect.signature(DATASETS[name]).parameters:
        return DATASETS[name](root, **options)
    return DATASETS[name](size=300, test_size=50, **options)


CASES = [(name, protocol) for name in DATASETS for protocol in ("honest", "published")]


@pytest.mark.parametrize(("name", "protocol"), CASES)
def test_parts(name, protocol, root):
    split = load(name, root, protocol=protocol, seed=3)
    seen = set()
    for part in split.parts().values():
        N, T = part.dt.shape
        assert len(part) == N > 0
        assert part.x.shape[:2] == (N, T)
        assert part.lengths.shape == part.ids.shape == (N,)
        assert part.y.shape[0] == N
        assert len(part.y.shape) == 1 or part.y.shape[:2] == (N, T)
        assert {part.lengths.dtype, part.ids.dtype} == {torch.int64}
        assert part.dt.dtype is torch.float32
        assert bool((part.dt >= 0).all())
        assert bool(torch.isfinite(part.dt).all())
        assert int(part.lengths.min()) >= 1
        assert int(part.lengths.max()) <= T
        behind = torch.arange(T) >= part.lengths.unsqueeze(1)
        assert not part.x[behind].any()
        assert not part.dt[behind].any()
        if part.x.is_floating_point():
            assert bool(torch.isfinite(part.x).all())
        if part.mask is not None:
            assert part.mask.dtype is torch.bool
            assert not part.mask[behind].any()
        ids = set(part.ids.tolist())
        assert not ids & seen
        seen |= ids


@pytest.mark.parametrize("name", DATASETS)
def test_honest_has_a_validation_part_and_published_only_where_the_reference_has(name, root):
    assert load(name, root).validation is not None
    assert (load(name, root, protocol="published").validation is None) == (
        name in ("xor", "recall", "physionet2012", "imdb")
    )


def contents(split):
    tensors = [part.__dict__.values() for part in split.parts().values()]
    return [tensor.numpy().tobytes() for part in tensors for tensor in part if tensor is not None]


@pytest.mark.parametrize(("name", "protocol"), CASES)
def test_same_seed_same_bytes_another_seed_others(name, protocol, root):
    first = contents(load(name, root, protocol=protocol, seed=1))
    assert contents(load(name, root, protocol=protocol, seed=1)) == first
    drawn = protocol == "honest" or name in ("walker2d", "driving")
    assert (contents(load(name, root, protocol=protocol, seed=2)) != first) == drawn


@pytest.mark.parametrize("name", DATASETS)
def test_unknown_protocol_is_refused(name, root):
    with pytest.raises(ValueError, match="`protocol` must be one of 'honest', 'published'; got 'honset'; did you mean"):
        load(name, root, protocol="honset")


def test_take_cuts_to_the_longest_and_keeps_rows_together(root):
    train = load("physionet2012", root).train
    rows = torch.tensor([4, 1])
    taken = train.take(rows)
    T = int(train.lengths[rows].max())
    assert taken.x.shape[1] == taken.mask.shape[1] == T
    assert torch.equal(taken.x, train.x[rows, :T])
    assert torch.equal(taken.ids, train.ids[rows])
    walker = load("walker2d", root).train.take(rows)
    assert torch.equal(walker.y, load("walker2d", root).train.y[rows])
