"""Converts state dicts of `ncps` 1.0.1 to those of this library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import torch
from torch import Tensor, nn

from liquidtime.cells import CfCCell, CfSPaperCell, LTCCell, MixedMemory
from liquidtime.cells.synapses import Synapses
from liquidtime.compat.ncps.names import cfc_cell, ltc_cell
from liquidtime.layers import Recurrent

_UNREACHABLE = 1e-12  # softplus is never 0; a synapse of this conductance has no effect in float32


def convert_state_dict(
    state_dict: Mapping[str, Tensor], *, implicit_param_constraints: bool = True
) -> dict[str, Tensor]:
    """Return the state dict of the `lt.CfC` or `lt.LTC` that equals an `ncps.torch.CfC` or `LTC`.

    Args:
        state_dict: state dict of an `ncps.torch.CfC` without a wiring, or of an `ncps.torch.LTC`.
        implicit_param_constraints: setting of the LTC. False means that conductances and capacitances are stored
            directly; `lt.LTC` keeps them positive by softplus, so its inverse is applied.

    Returns:
        The names and tensors of a plain layer with the same sizes, with a single layer and forward only. An LTC that
        was made without a full input or output map lacks those entries; `load_state_dict` adds them.

    Raises:
        ValueError: the state dict is neither; it is of a wired CfC, whose time heads read neurons that the wiring does
            not connect, which only `liquidtime.compat.ncps.torch.CfC` supports; or a conductance is negative.

    """
    cell = {name.removeprefix("rnn_cell."): value for name, value in state_dict.items() if name.startswith("rnn_cell.")}
    if any(name.startswith("layer_") for name in cell):
        raise ValueError(
            "`state_dict` is of a wired CfC of ncps, in which the time heads read neurons that the wiring does not "
            "connect; a wired lt.CfC does not. Load it into liquidtime.compat.ncps.torch.CfC."
        )
    if "ff1.weight" in cell:
        inner = cfc_cell(cell)
    elif "gleak" in cell:
        inner = ltc_cell(cell if implicit_param_constraints else _unconstrained(cell))
    else:
        raise ValueError(
            "`state_dict` must be that of an ncps.torch.CfC or LTC, with names such as `rnn_cell.ff1.weight` or "
            f"`rnn_cell.gleak`; got {sorted(state_dict)[:4]}. Remove the prefix of the module that contains the layer."
        )
    mixed = any(name.startswith("lstm.") for name in state_dict)
    home = "cells.0.cell." if mixed else "cells.0."
    made = {home + name: value for name, value in inner.items()}
    for name, value in state_dict.items():
        if name.startswith("lstm."):
            made["cells.0." + name] = value
        elif name.startswith("fc."):
            made["projection." + name.removeprefix("fc.")] = value
    return made


def load_state_dict(
    module: nn.Module, state_dict: Mapping[str, Tensor], *, implicit_param_constraints: bool = True
) -> None:
    """Load a checkpoint of `ncps` into a network of `liquidtime.compat.ncps.torch` or into an `lt.CfC` or `lt.LTC`.

    Args:
        module: a network of `compat`, or a module that contains some, or an `lt.CfC` or `lt.LTC` with one forward
            layer.
        state_dict: state dict of the corresponding `ncps` module.
        implicit_param_constraints: setting of the checkpoint, for an `lt.LTC`, see `convert_state_dict`.

    Raises:
        ValueError: names, sizes or synapses do not fit, or the network computes something else.

    """
    if not isinstance(module, Recurrent):
        module.load_state_dict(state_dict)
        return
    if len(module.cells) != 1:
        raise ValueError(f"`module` must have one layer that runs forward, as in ncps; got {len(module.cells)}.")
    cell = module.cells[0]
    _check_same_maths(cell)
    converted = convert_state_dict(state_dict, implicit_param_constraints=implicit_param_constraints)
    own = module.state_dict()
    core = cell.cell if isinstance(cell, MixedMemory) else cell
    if isinstance(core, LTCCell):
        prefix = "cells.0.cell." if isinstance(cell, MixedMemory) else "cells.0."
        for name, fill in (("input_weight", 1.0), ("input_bias", 0.0), ("output_weight", 1.0), ("output_bias", 0.0)):
            converted.setdefault(prefix + name, torch.full_like(own[prefix + name], fill))
    _check_fits(own, converted)
    if isinstance(core, LTCCell):
        for name in ("recurrent", "sensory"):
            _check_same_synapses(name, cast(Synapses, getattr(core, name)).mask, converted[f"{prefix}{name}.mask"])
    module.load_state_dict(converted)


def _check_same_maths(cell: nn.Module) -> None:
    """Refuse a cell with the same names and sizes that computes something else."""
    if isinstance(cell, MixedMemory):
        if cell.structure != "hidden" or cell.lstm.forget_bias != 1.0:
            raise ValueError(
                '`module` must have mixed_memory="hidden" and forget_bias 1, as in ncps; got '
                f"{cell.structure!r} and {cell.lstm.forget_bias:g}."
            )
        cell = cell.cell
    if isinstance(cell, CfSPaperCell):
        raise ValueError('`module` must have variant "cf_s", which is "pure" in ncps; got the paper\'s equation.')
    if isinstance(cell, CfCCell) and (cell.head_activation != "tanh" or not cell.gate_bias):
        raise ValueError(
            "`module` must have head_activation 'tanh' and gate_bias True, as in ncps; got "
            f"{cell.head_activation!r} and {cell.gate_bias}."
        )


def _check_fits(own: Mapping[str, Tensor], stored: Mapping[str, Tensor]) -> None:
    for name in sorted(own.keys() | stored.keys()):
        needed = tuple(own[name].shape) if name in own else "nothing"
        got = tuple(stored[name].shape) if name in stored else "nothing"
        if needed != got:
            raise ValueError(
                f"`state_dict` does not fit: `{name}` must be {needed}; got {got}. Construct the network with the "
                "sizes, mode, mixed memory and projection of the checkpoint."
            )


def _check_same_synapses(name: str, own: Tensor, stored: Tensor) -> None:
    differ = int((own.cpu() != stored.cpu()).sum())
    if differ:
        raise ValueError(
            f"`state_dict` has another wiring: {differ} of {own.numel()} {name} synapses are in only one. Pass the "
            "wiring of the checkpoint to the network, if necessary as lt.wirings.Adjacency."
        )


def _unconstrained(cell: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the entries with values that softplus maps to the positive ones."""
    made = dict(cell)
    for name in ("w", "sensory_w", "gleak", "cm"):
        value = cell[name]
        least = float(value.min()) if value.numel() else 1.0
        if least < 0 or (name == "cm" and least == 0):
            kind = "positive" if name == "cm" else "at least 0"
            raise ValueError(f"`rnn_cell.{name}` must be {kind} because of softplus; its smallest value is {least:g}.")
        wide = value.double().clamp(min=_UNREACHABLE)
        made[name] = (wide + torch.log(-torch.expm1(-wide))).to(value.dtype)
    return made
