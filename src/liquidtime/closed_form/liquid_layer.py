"""Which layers can be compiled: those with liquid cells."""

from __future__ import annotations

import copy
from typing import TypeVar

from torch import nn

from liquidtime.cells import Cell, LTCCell
from liquidtime.layers import Recurrent
from liquidtime.solvers import Solver

Layer = TypeVar("Layer", bound=Recurrent)

COMPILED = "an LTCCell, or a MixedMemory of one"


def liquid_cells(module: nn.Module) -> list[LTCCell]:
    """Return every liquid cell in a module, in the order in which a layer holds them."""
    return [part for part in module.modules() if isinstance(part, LTCCell)]


def check_liquid_layer(layer: object) -> None:
    """Refuse anything that is not a layer with liquid cells; the message says what to pass instead."""
    if isinstance(layer, Recurrent) and liquid_cells(layer):
        return
    got = type(layer).__name__
    hint = "Make one with lt.LTC(...)."
    if isinstance(layer, type):
        got, hint = f"the class {layer.__name__}", "Pass a trained layer, such as lt.LTC(...)."
    elif isinstance(layer, Recurrent):
        kinds = dict.fromkeys(type(cell).__name__ for cell in layer.cells)
        got = f"{got} of {', '.join(kinds)}"
        hint = f"Only {COMPILED} can be compiled: make the layer with lt.LTC(...)."
    elif isinstance(layer, Cell) and liquid_cells(layer):
        hint = "A cell is compiled inside its layer: pass lt.Recurrent(lambda width: cell, cell.input_size)."
    elif isinstance(layer, nn.Module):
        inside = [part for part in layer.modules() if isinstance(part, Recurrent) and liquid_cells(part)]
        if inside:
            hint = f"Pass the {type(inside[0]).__name__} inside it."
        elif liquid_cells(layer):
            hint = "Its liquid cells are in no lt.Recurrent: make the layer with lt.LTC(...)."
    raise TypeError(f"`ltc` must be a layer of liquid cells; got {got}. {hint}")


def with_solver(layer: Layer, solver: Solver, unfolds: int) -> Layer:
    """Return a copy of a layer in which every liquid cell takes this many steps of this solver per sample."""
    twin = copy.deepcopy(layer)
    for cell in liquid_cells(twin):
        cell.solver, cell.unfolds = solver, unfolds
    return twin
