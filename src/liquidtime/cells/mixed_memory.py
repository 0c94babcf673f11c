from __future__ import annotations

import dataclasses
from collections.abc import Callable

from torch import Tensor

from liquidtime._checks import check_choice, check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.cell import Cell
from liquidtime.cells.fused import Fused, is_linear, joined
from liquidtime.cells.headed import HeadedCell
from liquidtime.cells.lstm import LSTMCell
from liquidtime.cells.plain import is_plain
from liquidtime.cells.wired_cfc import WiredCfCCell

STRUCTURES = ("hidden", "input")
CHOICES: dict[bool | str, str | None] = {False: None, True: "hidden", "hidden": "hidden", "input": "input"}


class MixedMemory(Cell):
    """Any cell together with the memory of an LSTM, which preserves gradients over long sequences.

        (o, m') = LSTM(x, (h, m))
        "hidden":  h' = cell(x, o, dt)        the output of the LSTM replaces the hidden state of the cell
        "input":   h' = cell(o, h, dt)        the output of the LSTM replaces the input of the cell

    The state is that of the cell, followed by the memory m. The LSTM has the same products as the cell, "full" or
    "bf16" (see `HeadedCell`).

    Args:
        cell: the wrapped cell. With "input" it must have as many inputs as hidden units.
        structure: "hidden" or "input".
        input_size: D, the width of the LSTM's input; only with "input". With "hidden" it is that of the cell.
        forget_bias: forget bias of the LSTM.

    """

    @named_arguments
    def __init__(
        self,
        cell: Cell,
        structure: str = "hidden",
        *,
        input_size: int | None = None,
        forget_bias: float = 1.0,
    ) -> None:
        super().__init__()
        check_choice("structure", structure, STRUCTURES)
        H = cell.hidden_size
        if structure == "input":
            if input_size is None:
                raise ValueError(
                    '`input_size` must be given with structure "input", since the cell reads the output of the memory'
                )
            if cell.input_size != H:
                raise ValueError(
                    f'`cell` must have as many inputs as hidden units with structure "input"; got {cell.input_size} '
                    f"inputs and {H} units. Make it with input_size {H}."
                )
            self.input_size = check_size("input_size", input_size)
        else:
            if input_size not in (None, cell.input_size):
                raise ValueError(
                    f'`input_size` is that of the cell, {cell.input_size}, with structure "hidden"; got {input_size}'
                )
            self.input_size = cell.input_size
        self.structure = structure
        self.output_size = cell.output_size
        self.state_sizes = (*cell.state_sizes, H)
        self.products = cell.products if isinstance(cell, HeadedCell | WiredCfCCell) else "full"
        self.lstm = LSTMCell(self.input_size, H, forget_bias=forget_bias, products=self.products)
        self.cell = cell

    def forward(self, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: x (B, D), state (the cell's parts..., m (B, H)), dt (B,)."""
        *inner, m = state
        h, *rest = inner
        o, (_, m) = self.lstm(x, (h, m), dt)
        if self.structure == "hidden":
            y, after = self.cell(x, (o, *rest), dt)
        else:
            y, after = self.cell(o, (h, *rest), dt)
        return y, (*after, m)

    def scan(self, x: Tensor, state: State, dt: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Run the cell over a sequence, in one operation if there is one; see `Cell.scan`."""
        self.check_stored(x, state, dt, lengths)
        fused = self.fused()
        done = None if fused is None else fused.scan(x, state, dt, lengths)
        return super().scan(x, state, dt, lengths) if done is None else done

    def fused(self) -> Fused | None:
        """Return the cell and its memory as one operation over a sequence, or None if there is no such operation."""
        if type(self) is not MixedMemory or type(self.lstm) is not LSTMCell or not is_plain(self):
            return None
        inner = self.cell.fused_if_plain() if isinstance(self.cell, HeadedCell) else None
        if inner is None:
            return None
        maps = (self.lstm.input_map, self.lstm.recurrent_map)
        biases: list[Tensor | None] = [part.bias for part in maps]
        if not all(is_linear(part, self.products) for part in maps) or biases[0] is None or biases[1] is not None:
            return None
        form = inner.form._replace(memory=self.structure, forget_bias=self.lstm.forget_bias)
        return dataclasses.replace(inner, form=form, weights=[*inner.weights, joined(*maps), biases[0]])

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"structure={self.structure}"


def remembering(
    make_cell: Callable[[int], Cell], hidden_size: int, mixed_memory: bool | str, forget_bias: float | None
) -> Callable[[int], Cell]:
    """Return a function that makes the cell from its number of inputs, with a mixed memory if requested.

    Args:
        make_cell: function that makes the plain cell from its number of inputs.
        hidden_size: H.
        mixed_memory: False, True (= "hidden"), "hidden" or "input".
        forget_bias: forget bias of the memory; None for 1.

    """
    check_choice("mixed_memory", mixed_memory, CHOICES)
    structure = CHOICES[mixed_memory]
    if structure is None:
        if forget_bias is not None:
            raise ValueError(f"`forget_bias` applies only to a mixed memory; got {forget_bias} with mixed_memory=False")
        return make_cell
    bias = 1.0 if forget_bias is None else forget_bias

    def make(width: int) -> Cell:
        inner = make_cell(hidden_size if structure == "input" else width)
        return MixedMemory(inner, structure, input_size=width, forget_bias=bias)

    return make
