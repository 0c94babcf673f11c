"""One changed import line is enough: every name, argument, order and default is that of `ncps` 1.0.1."""

import importlib
import inspect

import ncps.torch
import ncps.wirings
import pytest
import torch

from liquidtime.compat import ncps as ours


def called_with(function):
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("name", ncps.torch.__all__)
def test_networks(name):
    mine, theirs = getattr(ours.torch, name), getattr(ncps.torch, name)
    assert called_with(mine) == called_with(theirs)
    assert called_with(mine.forward) == called_with(theirs.forward)
    home = theirs.__module__
    assert getattr(importlib.import_module(f"liquidtime.compat.{home}"), name) is mine


@pytest.mark.parametrize("name", ["Wiring", "FullyConnected", "Random", "NCP", "AutoNCP"])
def test_wirings(name):
    mine, theirs = getattr(ours.wirings, name), getattr(ncps.wirings, name)
    assert called_with(mine) == called_with(theirs)
    public = [key for key in dir(theirs) if not key.startswith("_")]
    assert public
    for key in public:
        value = inspect.getattr_static(theirs, key)
        if isinstance(value, property):
            assert isinstance(inspect.getattr_static(mine, key), property), key
        else:
            assert called_with(getattr(mine, key)) == called_with(getattr(theirs, key)), key


@pytest.mark.parametrize("name", ["CfC", "LTC"])
def test_public_attributes(name):
    mine, theirs = getattr(ours.torch, name)(3, 8), getattr(ncps.torch, name)(3, 8)
    module = set(dir(torch.nn.Module()))
    public = {key for key in dir(theirs) if not key.startswith("_") and key not in module} - {"wired_false"}
    assert public <= set(dir(mine))
    for key in ("input_size", "state_size", "output_size", "return_sequences", "batch_first", "use_mixed"):
        assert getattr(mine, key) == getattr(theirs, key)
