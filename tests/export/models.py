"""Small fitted models to export, one for each kind of network and of estimator."""

import dataclasses
import warnings

import numpy as np
import torch

import liquidtime as lt
from estimators.small import TINY
from liquidtime.cells import WiredCfCCell
from liquidtime.data import SeriesSet
from liquidtime.data.reading import ZONE
from liquidtime.wirings import AutoNCP
from oracles.series import random_set

FAST = TINY | {"epochs": 1, "batch_size": 8}


def _wired(width):
    return WiredCfCCell(width, AutoNCP(9, 4))


def trained(kind=lt.CfCClassifier, classes=2, **settings):
    """Return a model of every kind of channel: heavy-tailed, never observed, categorical; with static features."""
    data = random_set(0, [60, 50, 1, 0, 70, 55] * 2)
    data.values[:, 2] = np.nan
    y = np.arange(len(data)) % classes
    with torch.random.fork_rng():
        return kind(**FAST | settings).fit(data, y)


def per_step():
    """Return a regressor of one number per sample, without static features or categories."""
    rng = np.random.default_rng(3)
    data = SeriesSet.from_arrays([(np.sort(rng.random(12)) * 9, rng.normal(size=(12, 2))) for _ in range(6)])
    return lt.CfCRegressor(per_step=True, **FAST).fit(data, 1e3 * rng.normal(size=len(data.times)))


def several_labels():
    """Return a classifier of several labels that a series may have."""
    data = random_set(0, [60, 50, 1, 0, 70, 55] * 2)
    y = np.stack([np.arange(12) % 2, np.arange(12) % 3 == 0, np.arange(12) < 4], axis=1)
    return lt.CfCMultiLabelClassifier(**FAST | {"n_estimators": 2}).fit(data, y)


def classes_of_samples():
    """Return a classifier of every sample, whose probabilities are calibrated."""
    data = random_set(0, [60, 50, 1, 0, 70, 55] * 2)
    model = lt.CfCClassifier(per_step=True, **FAST).fit(data, np.arange(len(data.times)) % 3)
    model.temperature_, model.trust_ = 1.7, 0.8
    return model


def even(model):
    """Return a forecaster in which every part of the mixture, and of the spread of its intervals, has a weight."""
    blend = model.blend_
    J = blend.weights.shape[-1]
    model.blend_ = dataclasses.replace(
        blend, weights=np.full_like(blend.weights, 1.0 / J), sizes=np.full_like(blend.sizes, 0.3)
    )
    return model


def forecaster(S=12, **settings):
    """Return a forecaster of series with a period, on numbers as times, with a category and static features."""
    data = random_set(1, [30] * S)
    data = data.replace_unchecked(times=np.concatenate([np.sort(part) for part in np.split(data.times, S)]))
    data.values[:, 0] = 5 + 3 * np.sin(data.times) + 0.1 * data.values[:, 0]
    with torch.random.fork_rng():
        return even(lt.CfCForecaster(**FAST | settings).fit(data))


def dated_forecaster(zone="", faults=False):
    """Return a forecaster that knows the calendar: two weeks of hourly series with a daily period.

    Args:
        zone: of the calendar.
        faults: whether two values are far beyond the others, so that such values are read as not observed.
    """
    rng, rows = np.random.default_rng(0), []
    for _ in range(4):
        t = np.sort(rng.choice(24 * 15, 150, replace=False))
        stamps = np.datetime64("2024-01-01") + t.astype("timedelta64[h]")
        rows.append((stamps, np.stack([5 + np.sin(2 * np.pi * t / 24) + 0.1 * rng.normal(size=150)], axis=1)))
    if faults:
        rows[0][1][5], rows[2][1][77] = 1e6, -1e6
    data = SeriesSet.from_arrays(rows, channels=["x"], time_unit="h")
    data = data.replace_unchecked(reading={ZONE: zone} if zone else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if faults else "error")
        return even(lt.CfCForecaster(**FAST).fit(data))


FORECASTERS = {
    "forecaster": lambda: forecaster(n_estimators=2),
    "forecaster_known_bins": lambda: forecaster(known=["b"], bin_width=2.0, network="gru"),
    "forecaster_dated": dated_forecaster,
    "forecaster_of_a_zone_with_faults": lambda: dated_forecaster("Europe/Berlin", faults=True),
}

MODELS = {
    "scales": lambda: trained(n_estimators=3, bin_width="scales", classes=3),
    "bins": lambda: trained(lt.CfCRegressor, network="lstm", bin_width=3.0, n_estimators=2, num_layers=2, classes=5),
    "per_step": per_step,
    "several_labels": several_labels,
    "classes_of_samples": classes_of_samples,
    "no_gate": lambda: trained(network="no_gate"),
    "cf_s": lambda: trained(network="cf_s"),
    "cf_s_paper": lambda: trained(network="cf_s_paper"),
    "mixed_memory": lambda: trained(network="cfc_mm", num_layers=2),
    "ltc": lambda: trained(network="ltc", hidden_size=6),
    "wired": lambda: trained(network=_wired),
    "gru": lambda: trained(network="gru", bin_width=3.0),
    "rnn": lambda: trained(network="rnn"),
}
