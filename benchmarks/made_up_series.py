"""Made-up sets of various kinds to forecast: what tables of strangers may contain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from liquidtime.data import SeriesSet

Floats = npt.NDArray[np.float64]
Rng = np.random.Generator
HOUR = np.timedelta64(1, "h")


@dataclass(frozen=True, eq=False)
class MadeUp:
    """A set, and what a forecaster is told of it.

    Args:
        data: the series.
        settings: arguments of the forecaster.
    """

    data: SeriesSet
    settings: dict[str, Any] = field(default_factory=dict)


def walks(rng: Rng, S: int = 120) -> MadeUp:
    """Random walks at irregular times: nothing is better than the last value."""
    rows = []
    for _ in range(S):
        t = np.cumsum(rng.exponential(size=50))
        rows.append((t, np.cumsum(rng.normal(size=50) * np.sqrt(np.diff(t, prepend=0.0)))[:, None]))
    return MadeUp(SeriesSet.from_arrays(rows, channels=["level"]))


def seasons(rng: Rng, S: int = 40) -> MadeUp:
    """Daily and weekly courses of hourly values with gaps, each series with its own size."""
    start = np.datetime64("2024-02-05", "ns")
    hour = np.arange(21 * 24)
    rows = []
    for _ in range(S):
        kept = rng.random(len(hour)) > 0.25
        for gap in rng.integers(0, len(hour), 2):
            kept[gap : gap + 30] = False
        course = np.sin(2 * np.pi * (hour - 9) / 24) + 0.4 * np.sin(4 * np.pi * hour / 24)
        course = rng.uniform(1, 4) * course * np.where((hour // 24) % 7 < 5, 1.0, 0.4) + rng.normal(0, 5)
        rows.append((start + hour[kept] * HOUR, (course + 0.4 * rng.normal(size=len(hour)))[kept, None]))
    return MadeUp(SeriesSet.from_arrays(rows, channels=["load"], time_unit="h"))


def weekend(rng: Rng, S: int = 50) -> MadeUp:
    """Ten days over one weekend and a change of the clock, times with offsets of time zones."""
    hour = np.arange(240)
    stamps = pl.datetime_range(
        pl.datetime(2024, 3, 21, time_zone="UTC"), pl.datetime(2024, 3, 30, 23, time_zone="UTC"), "1h", eager=True
    )
    local = stamps.dt.convert_time_zone("Europe/Berlin")
    return _local_course(rng, S, local.dt.to_string("%Y-%m-%dT%H:%M:%S%:z"), local, hour)


def named_zone(rng: Rng, S: int = 30) -> MadeUp:
    """Days that follow the clock on the wall of a named zone, over two changes of it."""
    stamps = pl.datetime_range(
        pl.datetime(2023, 10, 9, time_zone="UTC"), pl.datetime(2023, 11, 19, 23, time_zone="UTC"), "3h", eager=True
    )
    local = stamps.dt.convert_time_zone("Europe/Berlin")
    return _local_course(rng, S, local, local, np.arange(len(local)))


def _local_course(rng: Rng, S: int, told: pl.Series, local: pl.Series, places: npt.NDArray[np.int64]) -> MadeUp:
    clock, day = local.dt.hour().to_numpy(), local.dt.weekday().to_numpy()
    open_hours = ((clock >= 8) & (clock < 18)) * np.where(day >= 6, 0.3, 1.0)
    tables = []
    for series in range(S):
        kept = np.flatnonzero(rng.random(len(places)) > 0.1)
        value = rng.uniform(20, 60) * open_hours + 5 + rng.normal(size=len(places))
        tables.append(
            pl.DataFrame({"id": np.full(len(kept), series), "time": told[kept], "visitors": np.maximum(value, 0)[kept]})
        )
    return MadeUp(SeriesSet.from_wide(pl.concat(tables), id="id", time="time", time_unit="h"))


def trends(rng: Rng, S: int = 100) -> MadeUp:
    """Straight lines of different slopes with noise."""
    rows = []
    for _ in range(S):
        t = np.sort(rng.uniform(0, 60, 40))
        rows.append((t, (rng.normal(0, 3) + rng.normal(0, 0.3) * t + 0.3 * rng.normal(size=40))[:, None]))
    return MadeUp(SeriesSet.from_arrays(rows, channels=["length"]))


def shifts(rng: Rng, S: int = 100) -> MadeUp:
    """Levels that jump now and then, under noise."""
    rows = []
    for _ in range(S):
        t = np.cumsum(rng.exponential(size=60))
        level = np.cumsum(np.where(rng.random(60) < 0.05, rng.normal(0, 5, 60), 0.0)) + rng.normal(0, 5)
        rows.append((t, (level + 0.5 * rng.normal(size=60))[:, None]))
    return MadeUp(SeriesSet.from_arrays(rows, channels=["level"]))


def counts(rng: Rng, S: int = 120) -> MadeUp:
    """Intermittent counts by day: mostly none."""
    start = np.datetime64("2024-01-01", "ns")
    days = np.arange(90)
    rows = []
    for _ in range(S):
        rate = np.exp(rng.normal(-1.0, 1.0)) * np.where(days % 7 < 5, 1.2, 0.5)
        rows.append((start + days * 24 * HOUR, rng.poisson(rate).astype(float)[:, None]))
    return MadeUp(SeriesSet.from_arrays(rows, channels=["sold"], time_unit="d"))


def shares(rng: Rng, S: int = 100) -> MadeUp:
    """Three shares of sum 1 that drift and return."""
    rows = []
    for _ in range(S):
        t = np.cumsum(rng.uniform(0.2, 1.8, size=50))
        drift = np.zeros((50, 3))
        home = rng.normal(size=3)
        drift[0] = home
        for k in range(1, 50):
            drift[k] = drift[k - 1] + 0.1 * (home - drift[k - 1]) + 0.35 * rng.normal(size=3)
        share = np.exp(2 * drift)
        rows.append((t, share / share.sum(axis=1, keepdims=True)))
    return MadeUp(SeriesSet.from_arrays(rows, channels=["a", "b", "c"]))


def regimes(rng: Rng, S: int = 100) -> MadeUp:
    """A level that rises, falls or stays as a category says, which is seen and changes rarely."""
    tables = []
    names = np.array(["up", "down", "idle"])
    for series in range(S):
        t = np.cumsum(rng.uniform(0.5, 1.5, size=60))
        state = np.cumsum(rng.random(60) < 0.06) + rng.integers(0, 3)
        speed = np.array([1.0, -1.0, 0.0])[state % 3]
        level = np.concatenate([[0.0], np.cumsum(speed[:-1] * np.diff(t))])
        level += rng.normal(0, 5) + 0.2 * rng.normal(size=60)
        tables.append(pl.DataFrame({"id": np.full(60, series), "t": t, "level": level, "mode": names[state % 3]}))
    return MadeUp(SeriesSet.from_wide(pl.concat(tables), id="id", time="t"))


def shocks(rng: Rng, S: int = 30) -> MadeUp:
    """Series on one clock that the same shocks move, each by its own share."""
    n = 300
    common = np.cumsum(np.where(rng.random(n) < 0.1, rng.normal(0, 2, n), 0.1 * rng.normal(size=n)))
    start = np.datetime64("2024-01-01", "ns")
    rows = []
    for _ in range(S):
        own = np.zeros(n)
        for k in range(1, n):
            own[k] = 0.9 * own[k - 1] + 0.3 * rng.normal()
        kept = rng.random(n) > 0.2
        rows.append((start + np.flatnonzero(kept) * 6 * HOUR, (rng.uniform(0.5, 1.5) * common + own)[kept, None]))
    return MadeUp(SeriesSet.from_arrays(rows, channels=["price"], time_unit="h"))


def chaos(rng: Rng, S: int = 60) -> MadeUp:
    """The Lorenz system at irregular times."""
    step, rows = 0.005, []
    state = rng.normal(size=(S, 3)) * 5 + [0, 0, 25]
    path = np.empty((S, 2400, 3))
    for k in range(2400):
        half = state + step / 2 * _lorenz(state)
        state = state + step * _lorenz(half)
        path[:, k] = state
    for one in path:
        at = np.sort(rng.choice(np.arange(400, 2400), 130, replace=False))
        rows.append((at * step, one[at]))
    return MadeUp(SeriesSet.from_arrays(rows, channels=["x", "y", "z"]), {"horizon": 0.5})


def _lorenz(state: Floats) -> Floats:
    x, y, z = state.T
    return np.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], axis=1)


def one_long(rng: Rng, S: int = 1) -> MadeUp:
    """One series of 4,000 hours: a daily course, a trend, noise that lasts, gaps."""
    hour = np.arange(4000 * S)
    noise = np.zeros(len(hour))
    for k in range(1, len(hour)):
        noise[k] = 0.9 * noise[k - 1] + 0.3 * rng.normal()
    value = 3 * np.sin(2 * np.pi * hour / 24) + 0.002 * hour + noise
    kept = rng.random(len(hour)) > 0.15
    start = np.datetime64("2024-02-05", "ns")
    return MadeUp(SeriesSet.from_arrays([(start + hour[kept] * HOUR, value[kept, None])], time_unit="h"))


def short(rng: Rng, S: int = 250) -> MadeUp:
    """Histories of three to six samples that rise to a plateau."""
    rows = []
    for _ in range(S):
        t = np.cumsum(rng.uniform(0.5, 2.0, size=rng.integers(3, 7)))
        top, pace = rng.normal(10, 3), rng.uniform(0.1, 0.6)
        rows.append((t, (top * (1 - np.exp(-pace * t)) + 0.2 * rng.normal(size=len(t)))[:, None]))
    return MadeUp(SeriesSet.from_arrays(rows, channels=["height"]))


def told(rng: Rng, S: int = 60) -> MadeUp:
    """A load that follows a known schedule with some delay, and the hour."""
    rows = []
    for _ in range(S):
        t = np.arange(120.0)
        plan = np.repeat(rng.choice([0.0, 1.0, 3.0], size=20), 6)
        load = np.zeros(120)
        for k in range(1, 120):
            load[k] = 0.6 * load[k - 1] + 0.4 * (2 * plan[k]) + 0.1 * rng.normal()
        kept = rng.random(120) > 0.1
        rows.append((t[kept], np.stack([load, plan], axis=1)[kept]))
    return MadeUp(SeriesSet.from_arrays(rows, channels=["load", "plan"]), {"known": ["plan"]})


def outliers(rng: Rng, S: int = 100) -> MadeUp:
    """Swings of size one, of whose values one in five hundred is a million."""
    rows = []
    for _ in range(S):
        t = np.cumsum(rng.exponential(size=60))
        value = np.sin(2 * np.pi * (t / 12 + rng.random())) + 0.1 * rng.normal(size=60)
        value[rng.random(60) < 0.002] = 1e6
        rows.append((t, value[:, None]))
    return MadeUp(SeriesSet.from_arrays(rows, channels=["signal"]))


def heavy(rng: Rng, S: int = 100) -> MadeUp:
    """Heavy tails without faults: incomes that differ by orders of size, and rare bursts that last."""
    rows = []
    for _ in range(S):
        t = np.cumsum(rng.exponential(size=50))
        size, burst = np.exp(rng.normal(0, 1.5)), np.zeros(50)
        for k in range(1, 50):
            burst[k] = 0.8 * burst[k - 1] + (rng.pareto(1.5) * 3 if rng.random() < 0.05 else 0.0)
        rows.append((t, np.stack([size * np.exp(0.2 * rng.normal(size=50)), burst], axis=1)))
    return MadeUp(SeriesSet.from_arrays(rows, channels=["income", "burst"]))


KINDS: dict[str, Callable[..., MadeUp]] = {
    maker.__name__: maker
    for maker in (
        walks, seasons, weekend, named_zone, trends, shifts, counts, shares, regimes, shocks, chaos, one_long, short,
        told, outliers, heavy,
    )
}  # fmt: skip
