from __future__ import annotations

from typing import Any, cast

from liquidtime.compat.ncps.graphs import is_wiring
from liquidtime.compat.ncps.torch.ltc_cell import LTCCell
from liquidtime.compat.ncps.torch.sequence_network import SequenceNetwork
from liquidtime.compat.ncps.wirings import FullyConnected


class LTC(SequenceNetwork):
    """An LTC over sequences with the interface of `ncps.torch.LTC`, whose checkpoints `load_state_dict` reads.

    Args:
        input_size: D.
        units: H, or a wiring.
        return_sequences: whether to return the outputs of all samples or only of the last one.
        batch_first: whether the input is (B, T, D) or (T, B, D).
        mixed_memory: whether to add the memory of an LSTM to the cell.
        input_mapping: "affine", "linear" or None.
        output_mapping: "affine", "linear" or None.
        ode_unfolds: number of solver steps per sample.
        epsilon: number that is added to the denominator of every step.
        implicit_param_constraints: see `LTCCell`.

    """

    def __init__(
        self,
        input_size: int,
        units: Any,
        return_sequences: bool = True,
        batch_first: bool = True,
        mixed_memory: bool = False,
        input_mapping: str | None = "affine",
        output_mapping: str | None = "affine",
        ode_unfolds: int = 6,
        epsilon: float = 1e-8,
        implicit_param_constraints: bool = True,
    ) -> None:
        wiring = units if is_wiring(units) else FullyConnected(units)
        cell = LTCCell(
            wiring,
            input_size,
            input_mapping,
            output_mapping,
            ode_unfolds,
            epsilon,
            implicit_param_constraints,
        )
        super().__init__(cell, return_sequences, batch_first, mixed_memory)
        self.input_size, self.wiring_or_units = input_size, units
        self._wiring = wiring

    @property
    def _ltc(self) -> LTCCell:
        return cast(LTCCell, self.rnn_cell)

    @property
    def state_size(self) -> int:
        """H, the number of neurons."""
        return self._ltc.state_size

    @property
    def sensory_size(self) -> int:
        """D, the number of inputs."""
        return self._ltc.sensory_size

    @property
    def motor_size(self) -> int:
        """Number of motor neurons, which are the outputs."""
        return self._ltc.motor_size

    @property
    def output_size(self) -> int:
        """The same as `motor_size`."""
        return self._ltc.output_size

    @property
    def synapse_count(self) -> int:
        """Number of synapses between neurons."""
        return self._ltc.synapse_count

    @property
    def sensory_synapse_count(self) -> int:
        """Number of synapses from the inputs."""
        return self._ltc.sensory_synapse_count
