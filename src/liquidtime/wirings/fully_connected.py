"""A graph with synapses from every neuron to every neuron."""

from __future__ import annotations

import numpy as np

from liquidtime._checks import check_size
from liquidtime.wirings.adjacency import Adjacency
from liquidtime.wirings.wiring import Wiring, check_outputs, check_seed, one_layer, recipe


@recipe
class FullyConnected(Wiring):
    """A wiring with all possible synapses; on average one third of them are inhibitory.

    The random numbers, and so the polarities, equal those of `ncps` 1.0.1 for equal arguments.

    Args:
        units: number of neurons.
        outputs: number of motor neurons; None for all neurons.
        seed: random seed of the polarities, in 0…2**32-1.
        self_connections: whether neurons have synapses onto themselves.

    """

    units: int
    outputs: int | None = None
    seed: int = 1111
    self_connections: bool = True

    def __post_init__(self) -> None:
        """Check the sizes."""
        if not isinstance(self.self_connections, bool):
            raise TypeError(f"`self_connections` must be True or False; got {self.self_connections!r}")
        units = check_size("units", self.units)
        outputs = check_outputs(self.outputs, units)
        self._set(units=units, outputs=outputs, seed=check_seed(self.seed))
        self._set(output_size=outputs, input_size=None, layers=one_layer(units))

    def build(self, input_size: int) -> Adjacency:
        """Draw the polarities for `input_size` inputs."""
        D, H = check_size("input_size", input_size), self.units
        rng = np.random.default_rng(self.seed)
        adjacency = np.zeros((H, H), dtype=np.int8)
        present = np.ones((H, H), dtype=bool) if self.self_connections else ~np.eye(H, dtype=bool)
        adjacency[present] = rng.choice((-1, 1, 1), size=int(present.sum()))
        sensory = rng.choice((-1, 1, 1), size=(D, H))
        return Adjacency(adjacency, sensory, self.output_size)
