"""What intervals refuse, what they assume, and how much they hold at once."""

import numpy as np
import pytest

from liquidtime.training import bootstrap

RNG = np.random.default_rng(0)
TARGET, FIRST, SECOND = RNG.normal(size=(3, 40))
CALLS = {
    "value": lambda **options: bootstrap.bootstrap_interval("mae", TARGET, FIRST, **options),
    "difference": lambda **options: bootstrap.difference_interval("mae", TARGET, FIRST, SECOND, **options),
    "mean": lambda **options: bootstrap.mean_interval(TARGET, **options),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(("option", "value"), [
    ("level", 0.0), ("level", 1.0), ("level", 1.5), ("level", float("nan")), ("resamples", 99), ("resamples", 0),
    ("clusters", np.zeros(39)), ("clusters", np.zeros((40, 1))),
])  # fmt: skip
def test_options_out_of_range_are_refused(call, option, value):
    with pytest.raises(ValueError, match=f"`{option}` must"):
        call(**{option: value})


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_interval_is_for_95_per_cent_from_2000_resamples_unless_asked_otherwise(call):
    usual, wide = call(), call(level=0.99, resamples=300)
    assert (usual.level, usual.resamples, wide.level, wide.resamples) == (0.95, 2000, 0.99, 300)
    assert usual == call(level=0.95, resamples=2000, seed=0, clusters=None)
    assert usual != call(seed=1)


def test_both_predictions_of_a_difference_are_checked_and_lists_are_arrays():
    with pytest.raises(ValueError, match="`metric` must be one of"):
        bootstrap.difference_interval("maes", TARGET, FIRST, SECOND)
    for pair in ((FIRST[:-1], SECOND), (FIRST, SECOND[:-1]), (FIRST, np.full(40, np.nan))):
        with pytest.raises(ValueError, match="prediction"):
            bootstrap.difference_interval("mae", TARGET, *pair)
    lists = bootstrap.difference_interval("mae", TARGET.tolist(), FIRST.tolist(), SECOND.tolist())
    assert lists == CALLS["difference"]()
    assert bootstrap.mean_interval(["1", "2"]).value == 1.5


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_resamples_are_drawn_in_blocks_of_bounded_size(call, monkeypatch):
    usual, counts, rows = call(), bootstrap._counts, []
    monkeypatch.setattr(bootstrap, "_CELLS", 400)
    monkeypatch.setattr(bootstrap, "_counts", lambda *args: (rows.append(args[-1]), counts(*args))[1])
    got = call()
    np.testing.assert_allclose([got.value, got.low, got.high], [usual.value, usual.low, usual.high], rtol=1e-9)
    assert (set(rows), sum(rows)) == ({10}, 2000)
