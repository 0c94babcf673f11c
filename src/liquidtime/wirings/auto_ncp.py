"""Neural circuit policies defined by two sizes and a sparsity."""

from __future__ import annotations

from numbers import Real

from liquidtime._checks import check_size
from liquidtime.wirings.adjacency import Adjacency
from liquidtime.wirings.ncp import NCP
from liquidtime.wirings.wiring import Wiring, check_seed, recipe


@recipe
class AutoNCP(Wiring):
    """An NCP with `units` neurons in total, whose layers and fan-outs are computed.

        command = max(⌊0.4 (units - outputs)⌋, 1),   inter = units - outputs - command
        fan-out to n neurons, fan-in from n = max(⌊n (1 - sparsity)⌋, 1)
        recurrent command synapses = max(⌊2 command (1 - sparsity)⌋, 1)

    Args:
        units: number of neurons.
        outputs: number of motor neurons, less than `units` - 2.
        sparsity: fraction of the possible synapses that are left out, in [0, 1].
        seed: random seed, in 0…2**32-1.

    """

    units: int
    outputs: int
    sparsity: float = 0.5
    seed: int = 22222

    def __post_init__(self) -> None:
        """Check the sizes and compute the layers."""
        units, outputs = check_size("units", self.units), check_size("outputs", self.outputs)
        if outputs >= units - 2:
            raise ValueError(
                f"`outputs` must be less than `units` - 2 = {units - 2}; got {outputs}. "
                "The others are inter and command neurons."
            )
        sparsity: object = self.sparsity
        if isinstance(sparsity, bool) or not isinstance(sparsity, Real) or not 0.0 <= float(sparsity) <= 1.0:
            raise ValueError(f"`sparsity` must be at least 0 and at most 1; got {sparsity!r}")
        self._set(units=units, outputs=outputs, sparsity=float(sparsity), seed=check_seed(self.seed))
        self._set(output_size=outputs, input_size=None, layers=self.ncp.layers)

    @property
    def ncp(self) -> NCP:
        """The NCP with all its arguments."""
        density = 1.0 - self.sparsity
        command = max(int(0.4 * (self.units - self.outputs)), 1)
        inter = self.units - self.outputs - command
        return NCP(
            inter=inter,
            command=command,
            motor=self.outputs,
            sensory_fanout=max(int(inter * density), 1),
            inter_fanout=max(int(command * density), 1),
            recurrent_command_synapses=max(int(command * density * 2), 1),
            motor_fanin=max(int(command * density), 1),
            seed=self.seed,
        )

    def build(self, input_size: int) -> Adjacency:
        """Draw the graph for `input_size` inputs."""
        return self.ncp.build(input_size)
