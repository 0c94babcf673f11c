"""Neural circuit policies: sensory → inter → command (recurrent) → motor neurons."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from liquidtime._checks import check_size
from liquidtime.wirings.adjacency import Adjacency, Polarity
from liquidtime.wirings.wiring import Wiring, check_seed, recipe

Neurons = npt.NDArray[np.int64]


@recipe
class NCP(Wiring):
    """A sparse random graph of three layers, after the nervous system of C. elegans (Lechner et al. 2020).

    Every input feeds `sensory_fanout` inter neurons, every inter neuron feeds `inter_fanout` command neurons, every
    motor neuron is fed by `motor_fanin` command neurons, and `recurrent_command_synapses` random synapses connect
    command neurons with each other. An inter or command neuron without incoming synapses, or a command neuron that
    feeds no motor neuron, then receives as many synapses as the others have on average, at least one. Polarities are -1
    or +1 with equal probability. Neurons are numbered in the order motor, command, inter.

    The random numbers, and so the graphs, equal those of `ncps` 1.0.1 for equal arguments.

    Args:
        inter: number of inter neurons.
        command: number of command neurons.
        motor: number of motor neurons, the outputs.
        sensory_fanout: synapses from each input, at most `inter`.
        inter_fanout: synapses from each inter neuron, at most `command`.
        recurrent_command_synapses: number of random synapses between command neurons; equal ones count once.
        motor_fanin: synapses to each motor neuron, at most `command`.
        seed: random seed, in 0…2**32-1.

    Raises:
        ValueError: a size is below 1, or a fan-out or fan-in is larger than the number of neurons.

    """

    inter: int
    command: int
    motor: int
    sensory_fanout: int
    inter_fanout: int
    recurrent_command_synapses: int
    motor_fanin: int
    seed: int = 22222

    def __post_init__(self) -> None:
        """Check the sizes and number the neurons."""
        inter, command, motor = (check_size(name, getattr(self, name)) for name in ("inter", "command", "motor"))
        self._set(
            inter=inter,
            command=command,
            motor=motor,
            sensory_fanout=_check_reach("sensory_fanout", self.sensory_fanout, "inter", inter),
            inter_fanout=_check_reach("inter_fanout", self.inter_fanout, "command", command),
            recurrent_command_synapses=check_size(
                "recurrent_command_synapses", self.recurrent_command_synapses, least=0
            ),
            motor_fanin=_check_reach("motor_fanin", self.motor_fanin, "command", command),
            seed=check_seed(self.seed),
        )
        units = inter + command + motor
        self._set(
            units=units,
            output_size=motor,
            input_size=None,
            layers=(
                tuple(range(motor + command, units)),
                tuple(range(motor, motor + command)),
                tuple(range(motor)),
            ),
        )

    def build(self, input_size: int) -> Adjacency:
        """Draw the graph for `input_size` inputs."""
        D = check_size("input_size", input_size)
        rng = np.random.RandomState(self.seed)
        inputs = np.arange(D)
        inter, command, motor = (np.array(layer) for layer in self.layers)
        adjacency = np.zeros((self.units, self.units), dtype=np.int8)
        sensory = np.zeros((D, self.units), dtype=np.int8)
        _fan_out(rng, sensory, inputs, inter, self.sensory_fanout)
        # Limited by the number of targets, not of sources; needed to reproduce the graphs of `ncps`.
        _fan_out(rng, adjacency, inter, command, self.inter_fanout, most=self.command)
        for _ in range(self.recurrent_command_synapses):
            source, target = rng.choice(command), rng.choice(command)
            adjacency[source, target] = rng.choice((-1, 1))
        # Fan-in to the motor neurons is fan-out on the reversed graph.
        _fan_out(rng, adjacency.T, motor, command, self.motor_fanin)
        return Adjacency(adjacency, sensory, self.motor, self.layers)


def _fan_out(
    rng: np.random.RandomState,
    synapses: Polarity,
    sources: Neurons,
    targets: Neurons,
    fanout: int,
    most: int | None = None,
) -> None:
    """Draw `fanout` synapses from each source, then the mean fan-in, up to `most`, for targets without a synapse."""
    left_out = dict.fromkeys(targets.tolist())
    for source in sources:
        drawn = rng.choice(targets, size=fanout, replace=False)
        synapses[source, drawn] = rng.choice((-1, 1), size=fanout)
        for target in drawn.tolist():
            left_out.pop(target, None)
    mean = int(len(sources) * fanout / len(targets))
    fanin = max(mean, 1) if most is None else min(max(mean, 1), most)
    for target in left_out:
        drawn = rng.choice(sources, size=fanin, replace=False)
        synapses[drawn, target] = rng.choice((-1, 1), size=fanin)


def _check_reach(argument: str, size: object, layer: str, neurons: int) -> int:
    checked = check_size(argument, size, least=0)
    if checked > neurons:
        raise ValueError(f"`{argument}` must be at most `{layer}` = {neurons}, the {layer} neurons; got {checked}")
    return checked
