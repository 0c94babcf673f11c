"""The encoding of a series, sample by sample and channel by channel, from its definition."""

from __future__ import annotations

import itertools
import math

import numpy as np

from liquidtime.data import SeriesSet


def scaling(values: list[float], clip: float | None, logged: bool) -> dict[str, float]:
    """Statistics of the observed values of one channel."""
    unit = float(np.quantile([v for v in values if v > 0], 0.05)) if logged else 0.0
    bent = [math.log(1 + max(v, 0.0) / unit) if unit else v for v in values]
    low, high = -math.inf, math.inf
    if clip is not None:
        q0, q1 = np.quantile(bent, clip), np.quantile(bent, 1 - clip)
        if q0 < q1:
            low, high = q0 - (q1 - q0) / 2, q1 + (q1 - q0) / 2
    cut = [min(max(v, low), high) for v in bent]
    mean = sum(cut) / len(cut)
    deviation = math.sqrt(sum((v - mean) ** 2 for v in cut) / len(cut))
    return {"unit": unit, "low": low, "high": high, "mean": mean, "scale": deviation if max(cut) > min(cut) else 1.0}


def scaled(value: float, s: dict[str, float]) -> float:
    """One value by those statistics."""
    bent = math.log(1 + max(value, 0.0) / s["unit"]) if s["unit"] else value
    return (min(max(bent, s["low"]), s["high"]) - s["mean"]) / s["scale"]


def binned(series, width: float, categorical: list[bool]):
    """Times and values of one series gathered in bins, with dictionaries."""
    found: dict[int, list[list[float]]] = {}
    for t, row in zip(series.times, series.values, strict=True):
        found.setdefault(math.floor(t / width + 1e-9), []).append([float(v) for v in row])
    times, rows = [], []
    for key in sorted(found):
        times.append(key * width)
        row = []
        for c, last in enumerate(categorical):
            seen = [values[c] for values in found[key] if not math.isnan(values[c])]
            row.append(math.nan if not seen else seen[-1] if last else sum(seen) / len(seen))
        rows.append(row)
    return times, np.array(rows, dtype=np.float32).reshape(len(times), len(categorical))


def median_interval(data: SeriesSet, width: float | None) -> float:
    """The median of the intervals within series."""
    categorical = [name in data.categories for name in data.channels]
    intervals = []
    for series in data:
        times = series.times if width is None else binned(series, width, categorical)[0]
        intervals += [b - a for a, b in itertools.pairwise(times)]
    return float(np.median(intervals)) if intervals else 1.0


def encode(times, values, names, categories, stats, time_scale, blocks):
    """x (T, D) and dt (T,) of one series."""
    x, dt = [], []
    for k, t in enumerate(times):
        dt.append((t - times[k - 1]) / time_scale if k else 0.0)
        parts: dict[str, list[float]] = {"values": [], "mask": [], "since": []}
        for c, name in enumerate(names):
            seen = [j for j in range(k + 1) if not math.isnan(values[j][c])]
            last = seen[-1] if seen else None
            if name in categories:
                parts["values"] += [
                    float(last is not None and values[last][c] == i) for i in range(len(categories[name]))
                ]
            else:
                parts["values"].append(0.0 if last is None else scaled(float(values[last][c]), stats[name]))
            parts["mask"].append(float(last == k))
            parts["since"].append(math.log(1 + (t - times[last if last is not None else 0]) / time_scale))
        x.append([number for block in ("values", "mask", "since") if block in blocks for number in parts[block]])
    return np.array(x, dtype=np.float64), np.array(dt, dtype=np.float64)
