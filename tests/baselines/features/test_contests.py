"""Contests of kernels against a plain loop, bounded in number, and what they add: which shape, not how strong."""

import numpy as np

from baselines.features.series import ragged
from liquidtime.baselines.features import contests
from liquidtime.baselines.features.contests import CONTEST_VIEWS, SIZE
from liquidtime.baselines.features.resampling import RegularGrid, Resampled
from liquidtime.baselines.features.responses import HALF, TAPS, TRIPLES, viewed


def test_outcomes_are_those_of_a_loop():
    data = ragged(3, S=5, C=3, least=50, most=90, missing=0.2)
    series = RegularGrid.fit(data).resample(data)
    chosen = contests.drawn(len(series.values), [1, 4], 10_000, seed=2)[::11]
    table = contests.outcomes(series, chosen)
    assert table.shape == (5, 2 * SIZE * len(chosen)) == (5, len(contests.names_of(chosen)))
    ends = np.cumsum(series.counts)
    for number, contest in enumerate(chosen):
        values = viewed(series, contest.view)
        for row, (end, count) in enumerate(zip(ends, series.counts, strict=True)):
            padded = np.pad(values[:, end - count : end], ((0, 0), (HALF * contest.dilation,) * 2))
            taps = [padded[:, k * contest.dilation : k * contest.dilation + count] for k in range(TAPS)]
            responses = [  # in the order of sums that leaves ties at the padded ends as they are
                sum((np.float32(3.0) * (taps[a][c] + taps[b][c] + taps[d][c]) - sum(taps)[c]) for c in contest.channels)
                for a, b, d in contest.triples
            ]
            winners, losers = np.argmax(responses, axis=0), np.argmin(responses, axis=0)
            shares = [np.mean(end == place) for end in (winners, losers) for place in range(SIZE)]
            column = number * 2 * SIZE
            # a tie may go either way in single precision: at most at one place of the series
            np.testing.assert_allclose(table[row, column : column + 2 * SIZE] ** 2, shares, atol=1.01 / count)


def test_every_kernel_takes_part_once_per_view_and_dilation():
    drawn = contests.drawn(4, [1, 2], 10_000, seed=0)
    for view in CONTEST_VIEWS:
        for dilation in (1, 2):
            own = [triple for one in drawn if (one.view, one.dilation) == (view, dilation) for triple in one.triples]
            assert sorted(own) == sorted(TRIPLES)


def test_contests_are_bounded_by_the_budget():
    assert len(contests.drawn(2, [1, 2, 4], 70, seed=0)) == 10
    assert contests.drawn(2, [1, 2, 4], SIZE - 1, seed=0) == []
    nothing = contests.outcomes(Resampled(np.array([3]), np.zeros((2, 3), dtype=np.float32)), [])
    assert nothing.shape == (1, 0)


def test_shares_do_not_depend_on_the_level_of_the_response():
    waves = np.sin(np.arange(120) / 3.0).astype(np.float32)
    series = Resampled(np.array([60, 60]), np.concatenate([waves[:60], 5.0 * waves[:60]])[None])
    table = contests.outcomes(series, contests.drawn(1, [1], 10_000, seed=0))
    np.testing.assert_allclose(table[0], table[1], atol=np.sqrt(1.01 / 60))
