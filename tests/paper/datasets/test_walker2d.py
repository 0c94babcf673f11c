import numpy as np
import pytest
import torch

from liquidtime.paper.datasets import walker2d
from real_data import REAL
from small_data import write_all


def reference_protocol(path):
    """The protocol in words: one draw a step, train then validation then test, windows every quarter."""
    stored = np.load(path)
    ends = np.cumsum(stored["lengths"])
    rng = np.random.RandomState(891374)
    for part in range(3):
        x, y, dt = [], [], []
        for number in stored["split_order"]:
            if stored["split"][number] != part:
                continue
            rollout = stored["observations"][ends[number] - stored["lengths"][number] : ends[number]]
            kept, skipped = [], 0
            for step in range(len(rollout) - 1):
                skipped += 1
                if rng.rand() < 0.9:
                    kept.append((step, skipped))
                    skipped = 0
            for start in range(0, len(kept) - 64, 16):
                steps = [step for step, _ in kept[start : start + 64]]
                x.append(rollout[steps])
                y.append(rollout[np.array(steps) + 1])
                dt.append([elapsed for _, elapsed in kept[start : start + 64]])
        yield np.array(x), np.array(y), np.array(dt)


def test_windows_are_those_of_the_protocol(tmp_path):
    write_all(tmp_path)
    split = walker2d(tmp_path)
    expected = reference_protocol(tmp_path / "walker2d" / "walker2d.npz")
    for part, (x, y, dt) in zip(split.parts().values(), expected, strict=True):
        np.testing.assert_array_equal(part.x.numpy(), x)
        np.testing.assert_array_equal(part.y.numpy(), y)
        np.testing.assert_array_equal(part.dt.numpy(), dt)
    assert torch.equal(walker2d(tmp_path, protocol="published").test.x, split.test.x)
    with pytest.raises(ValueError, match="`window` must be at least 4; got 2"):
        walker2d(tmp_path, window=2)


@pytest.mark.data("walker2d/walker2d.npz")
def test_the_real_rollouts():
    from liquidtime.paper.datasets.prepare.walker2d import CONTENT, digest, split_order

    split = walker2d(REAL)
    assert [len(part) for part in split.parts().values()] == [9_684, 1_272, 1_937]
    assert [len(part.ids.unique()) for part in split.parts().values()] == [300, 40, 60]
    assert split.train.x.shape[1:] == (64, 17)
    assert bool((split.train.dt % 1 == 0).all())
    assert float(split.train.dt.min()) == 1
    stored = np.load(REAL / "walker2d" / "walker2d.npz")
    assert digest(stored["observations"], stored["lengths"]) == CONTENT
    order, parts = split_order(400)
    np.testing.assert_array_equal(order, stored["split_order"])
    np.testing.assert_array_equal(parts, stored["split"])
