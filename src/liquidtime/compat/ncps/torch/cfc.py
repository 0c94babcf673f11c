from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from liquidtime.compat.ncps.graphs import is_wiring
from liquidtime.compat.ncps.torch.cfc_cell import CfCCell
from liquidtime.compat.ncps.torch.sequence_network import SequenceNetwork
from liquidtime.compat.ncps.torch.wired_cfc_cell import WiredCfCCell


class CfC(SequenceNetwork):
    """A CfC over sequences with the interface of `ncps.torch.CfC`, whose checkpoints `load_state_dict` reads.

    Args:
        input_size: D.
        units: H, or a wiring.
        proj_size: width of a linear map of the output; None for no map.
        return_sequences: whether to return the outputs of all samples or only of the last one.
        batch_first: whether the input is (B, T, D) or (T, B, D).
        mixed_memory: whether to add the memory of an LSTM to the cell.
        mode: "default", "pure" or "no_gate".
        activation: activation of the backbone; a wired network has none.
        backbone_units: U, 128 if None; not allowed with a wiring.
        backbone_layers: 0…n, 1 if None; not allowed with a wiring.
        backbone_dropout: dropout from the second layer of the backbone on, 0 if None; not allowed with a wiring.

    """

    def __init__(
        self,
        input_size: int,
        units: Any,
        proj_size: int | None = None,
        return_sequences: bool = True,
        batch_first: bool = True,
        mixed_memory: bool = False,
        mode: str = "default",
        activation: str = "lecun_tanh",
        backbone_units: int | None = None,
        backbone_layers: int | None = None,
        backbone_dropout: float | None = None,
    ) -> None:
        cell: CfCCell | WiredCfCCell
        wired = is_wiring(units)
        if wired:
            options = {"units": backbone_units, "layers": backbone_layers, "dropout": backbone_dropout}
            for name, value in options.items():
                if value is not None:
                    raise ValueError(f"`backbone_{name}` has no effect with a wiring, which has no backbone.")
            cell = WiredCfCCell(input_size, units, mode)
            state_size, output_size = cell.state_size, cell.output_size
            if proj_size is not None and output_size != cell.cell.output_size:
                raise ValueError(
                    f"`proj_size` needs a wiring whose last layer is its motor neurons; this one has {output_size} "
                    f"motor neurons in a layer of {cell.cell.output_size}, all of which a wired CfC of ncps returns."
                )
        else:
            cell = CfCCell(
                input_size,
                units,
                mode,
                activation,
                128 if backbone_units is None else backbone_units,
                1 if backbone_layers is None else backbone_layers,
                0.0 if backbone_dropout is None else backbone_dropout,
            )
            state_size = output_size = cell.hidden_size
        super().__init__(cell, return_sequences, batch_first, mixed_memory)
        self.input_size, self.wiring_or_units, self.proj_size = input_size, units, proj_size
        self.state_size, self.output_size, self.wired_mode = state_size, output_size, wired
        if wired:
            self.wiring = units
        self.fc = nn.Identity() if proj_size is None else nn.Linear(output_size, proj_size)

    def read_out(self, y: Tensor) -> Tensor:
        """Return the output of the cell, after the projection if there is one."""
        projected: Tensor = self.fc(y)
        return projected
