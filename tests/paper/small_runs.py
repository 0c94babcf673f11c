"""Experiments on small made-up data."""

import dataclasses
import functools
import sys

import torch

from liquidtime.estimators import CfCClassifier
from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.fitting import Trial
from liquidtime.paper.models.lane import head
from small_data import write_all

XOR_SIZES = {"train": 80, "test": 30}


def shrink_xor(monkeypatch):
    """Draw few bit streams where an experiment would draw 110,000."""
    monkeypatch.setattr(sys.modules["liquidtime.paper.datasets.xor"], "SIZES", XOR_SIZES)


def shrink_head(monkeypatch):
    """Train the head of the lane-keeping networks for one epoch."""
    monkeypatch.setattr(head, "HEAD", dataclasses.replace(head.HEAD, epochs=1))


def shrink_estimators(monkeypatch):
    """Train the networks of the estimators' rows for one epoch, small."""
    model = type(EXPERIMENTS["physionet"].rows["estimator"].model)
    small = {"epochs": 1, "hidden_size": 6, "backbone_units": 5, "read_out_units": 6}
    monkeypatch.setitem(model.fit.__globals__, "CfCClassifier", functools.partial(CfCClassifier, **small))


def written(folder):
    """Write the small data sets, once for a folder."""
    return folder if (folder / "imdb").exists() else write_all(folder)


def small_run(experiment, root, folder, protocol="honest", seed=0, **options):
    """Return what a model's `fit` takes, with few sequences; options are those of a row, for its data."""
    split = cheapened(experiment).data(protocol, root, limit=30, **options)
    return Trial(
        task=experiment.task, split=split, honest=protocol == "honest", seed=seed, folder=folder, progress=False
    )


def cheap(settings):
    """Return settings of the same kind that train in no time."""
    if settings is None:
        return None
    small = {"epochs": 1, "hidden_size": 6, "batch_size": 15}
    if settings.backbone_units is not None:
        small["backbone_units"] = 5
    if settings.embed_dim is not None:
        small["embed_dim"] = 4
    return dataclasses.replace(settings, **small)


def cheapened(experiment):
    """Return an experiment whose every row is cheap, and whose sequences are short."""
    short = {"imdb": {"longest": 8}, "lane-keeping": {"window": 4}, "tightness": {"window": 4}}
    load = functools.partial(experiment.load, **short.get(experiment.name, {}))
    rows = {
        name: dataclasses.replace(row, model=with_few_trees(row.model), settings=cheap(row.settings))
        for name, row in experiment.rows.items()
    }
    search = experiment.search
    if search is not None:
        fixed = {**search.fixed, "epochs": 1}
        families = tuple(dataclasses.replace(one, fixed={**one.fixed, "epochs": 1}) for one in search.families)
        search = dataclasses.replace(search, trials=2, fixed=fixed, families=families, epochs=None, sequences=None)
    return dataclasses.replace(experiment, load=load, rows=rows, search=search)


def with_few_trees(model):
    """Return a model that boosts for a few rounds only, if it boosts at all."""
    return dataclasses.replace(model, trees=5) if hasattr(model, "trees") else model


def cheapen_all(monkeypatch):
    """Make every experiment cheap, for this process."""
    shrink_head(monkeypatch)
    shrink_estimators(monkeypatch)
    for name, experiment in list(EXPERIMENTS.items()):
        monkeypatch.setitem(EXPERIMENTS, name, cheapened(experiment))
    torch.set_num_threads(1)
