"""The names of `ncps` 1.0.1 in the state dict of a cell, and ours. Other entries pass unchanged."""

from __future__ import annotations

import re
from collections.abc import Mapping

import torch
from torch import Tensor

HEADS = ("ff1", "ff2", "time_a", "time_b")
"""Heads in the order of the rows of `CfCCell.heads`; the direct solution ("pure") has only the first."""

LTC_NAMES = {
    "gleak": "leak",
    "vleak": "rest",
    "cm": "capacitance",
    "w": "recurrent.w",
    "sigma": "recurrent.gamma",
    "mu": "recurrent.mu",
    "erev": "recurrent.E",
    "sparsity_mask": "recurrent.mask",
    "sensory_w": "sensory.w",
    "sensory_sigma": "sensory.gamma",
    "sensory_mu": "sensory.mu",
    "sensory_erev": "sensory.E",
    "sensory_sparsity_mask": "sensory.mask",
    "input_w": "input_weight",
    "input_b": "input_bias",
    "output_w": "output_weight",
    "output_b": "output_bias",
}


def cfc_cell(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the state dict of our cell from that of an `ncps.torch.CfCCell`.

    The four heads become the rows of one map, the linear layers of a Sequential are numbered 0, 1, …, and a sparsity
    mask, which applies only to the first two heads, is extended by ones for the time heads.
    """
    made = dict(state_dict)
    heads = [head for head in HEADS if f"{head}.weight" in state_dict]
    if heads not in ([HEADS[0]], list(HEADS)):
        return made
    for part in ("weight", "bias"):
        made[f"heads.{part}"] = torch.cat([made.pop(f"{head}.{part}") for head in heads])
    if "sparsity_mask" in made:
        mask = made.pop("sparsity_mask")
        made["mask"] = torch.cat([mask if head in ("ff1", "ff2") else torch.ones_like(mask) for head in heads])
    for name in ("w_tau", "A"):
        if name in made:
            made[name] = made[name].reshape(-1)
    numbers = sorted({int(match[1]) for name in state_dict if (match := re.match(r"backbone\.(\d+)\.", name))})
    for index, number in enumerate(numbers):
        for part in ("weight", "bias"):
            made[f"backbone.layers.{index}.{part}"] = made.pop(f"backbone.{number}.{part}")
    return made


def wired_cfc_cell(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the state dict of our cells, `cells.0`, `cells.1`, …, from that of an `ncps.torch.WiredCfCCell`."""
    made = {name: value for name, value in state_dict.items() if not name.startswith("layer_")}
    layers: dict[str, dict[str, Tensor]] = {}
    for name, value in state_dict.items():
        if name.startswith("layer_"):
            number, _, rest = name.removeprefix("layer_").partition(".")
            layers.setdefault(number, {})[rest] = value
    for number, layer in layers.items():
        made |= {f"cells.{number}.{name}": value for name, value in cfc_cell(layer).items()}
    return made


def ltc_cell(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the state dict of our cell from that of an `ncps.torch.LTCCell`."""
    return {LTC_NAMES.get(name, name): value for name, value in state_dict.items()}
