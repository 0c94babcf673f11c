"""Choose epochs and learning rate: complete one-cycle schedules are tried on a held-out fold, the shortest first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.features.temperature import Calibration

_PLAIN = Calibration()
SEARCH, QUICK = BUDGETS = ("search", "quick")
"""Values of an estimator's `budget`."""
RATES = (1e-3, 3e-3)
LONGER = (30, 100)
"""Numbers of epochs to try after that of the quick budget."""
HELD_OUT = 0.25
"""Share of the training series to score trials on."""
LEAST_SERIES = 24
"""Smallest number of series for a search; with fewer, the held-out fold is not informative enough."""
_BLOCKS, _LEAST_BLOCKS = 40, 6
"""Largest number of blocks of held-out series to compare trials by, and the smallest number that is enough."""
_STEPS, _EPOCHS, _MOST_EPOCHS = 200, 6, 100
_MOST_SAMPLES = 5_000_000
"""Largest number of weighted samples that all epochs of a cycle may read, in the trial and in all members after it."""
_SHORTER = 4
"""Relative cost advantage of a sample with a front end, whose recurrent layer reads every eighth position."""
_WIDE = 100
"""Number of inputs at which a sample costs twice as much as one with few inputs."""


@dataclass(frozen=True)
class Choice:
    """The settings with which a network is trained.

    Args:
        epochs: of the one-cycle.
        learning_rate: its highest.
        front_end: what stands before the recurrent layer, one of `FRONT_ENDS` or None.
        summary: what the read-out sees of whole series, one of `SUMMARIES` or None.
    """

    epochs: int
    learning_rate: float
    front_end: str | None = None
    summary: str | None = None


@dataclass(frozen=True)
class Trial:
    """A choice that was tried, with its result.

    Args:
        choice: what was tried.
        loss: on the held-out series; infinite where training diverged.
        calibration: that classifiers had this loss with.
        by_block: the losses on blocks of the held-out series, the same for all trials; empty where not known.
    """

    choice: Choice
    loss: float
    calibration: Calibration = _PLAIN
    by_block: tuple[float, ...] = ()


def batch_size_of(S: int) -> int:
    """Return the default number of series per batch: about a 25th of S, a power of 2 from 8 to 128."""
    return int(2 ** min(7, max(3, round(math.log2(S / 25)))))


def quick_epochs(S: int, batch_size: int) -> int:
    """Return the epochs of the quick budget: 6, or as many as it takes for 200 steps, at most 100."""
    return min(_MOST_EPOCHS, max(_EPOCHS, math.ceil(_STEPS / math.ceil(S / batch_size))))


def search(
    quick: int,
    samples: float,
    members: int,
    front_ends: Sequence[str | None],
    summaries: Sequence[str | None],
    attempts: Callable[[int, Sequence[Choice]], list[Trial]],
) -> list[Trial]:
    """Try one level of epochs after another, until one has no better loss than those before; return all trials.

    The first level has the epochs of the quick budget at both rates, without and with a summary. The second, of 30
    epochs, has both rates too, with the summary that was better, and every other front end at the higher rate, with and
    without one. The third has 100 epochs of the best so far. What would read too many samples is left out.

    Args:
        quick: epochs of the quick budget.
        samples: of all training series together, as `weighed` returns them.
        members: networks of the ensemble.
        front_ends: to choose from; the first is tried first.
        summaries: to choose from.
        attempts: trains by each of several choices, of which the first has this number among the trials, and judges
            the results.
    """
    trials: list[Trial] = []
    for level, epochs in enumerate((quick, *(longer for longer in LONGER if longer > quick))):
        best = min(trials, key=lambda trial: trial.loss, default=None)
        tried_here = summaries if best is None else (best.choice.summary,)
        choices = [Choice(epochs, rate, front_ends[0], own) for own in tried_here for rate in RATES]
        if level == 1:
            choices += [Choice(epochs, RATES[-1], other, own) for other in front_ends[1:] for own in summaries]
        elif level > 1 and best is not None:
            choices = [replace(best.choice, epochs=epochs)]
        choices = [choice for choice in choices if level == 0 or _affordable(choice, samples, members)]
        tried = attempts(len(trials), choices)
        trials += tried
        if best is not None and min((trial.loss for trial in tried), default=math.inf) >= best.loss:
            break
    return trials


def best_of(trials: Sequence[Trial], quick: Choice) -> Trial | None:
    """Return the trial of least loss, or that of the quick budget where the other is not clearly better.

    Of many trials, the one that is best on a few series is often so by chance. The quick budget, which needs no search
    and costs least, gives way only to what is better by more than a standard error of the difference, paired by blocks.

    Args:
        trials: of one search.
        quick: how the quick budget trains.

    Returns:
        None where there is no trial.
    """
    best = min(trials, key=lambda trial: trial.loss, default=None)
    plain = next((trial for trial in trials if trial.choice == quick and math.isfinite(trial.loss)), None)
    if best is None or plain is None or len(plain.by_block) < _LEAST_BLOCKS or not best.by_block:
        return best
    apart = np.array(plain.by_block) - np.array(best.by_block)
    apart = apart[np.isfinite(apart)]
    error = float(apart.std(ddof=1) / math.sqrt(len(apart))) if len(apart) >= _LEAST_BLOCKS else 0.0
    return best if plain.loss - best.loss > error else plain


def blocks_of(held: npt.NDArray[np.int64], groups: npt.NDArray[Any] | None) -> list[npt.NDArray[np.int64]]:
    """Return held-out series in at most 40 blocks of about as many, or of about as many groups, which stay whole.

    Args:
        held: (H,) positions of the series.
        groups: (S,) groups of all series; None for none.
    """
    units = np.arange(len(held)) if groups is None else np.unique(groups[held], return_inverse=True)[1]
    parts = np.array_split(np.arange(units.max() + 1), min(_BLOCKS, int(units.max()) + 1))
    return [held[np.isin(units, part)] for part in parts]


def weighed(samples: int, inputs: int) -> float:
    """Return a number of samples, each weighed by what it costs to read with this many inputs."""
    return samples * (1 + inputs / _WIDE)


def _affordable(choice: Choice, samples: float, members: int) -> bool:
    read = samples if choice.front_end is None else samples / _SHORTER
    return choice.epochs * read * (members + 1) <= 2 * _MOST_SAMPLES
