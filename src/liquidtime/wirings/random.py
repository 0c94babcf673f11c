"""A random fraction of all possible synapses."""

from __future__ import annotations

import numpy as np

from liquidtime._checks import check_rate, check_size
from liquidtime.wirings.adjacency import Adjacency, Polarity
from liquidtime.wirings.wiring import Wiring, check_outputs, check_seed, one_layer, recipe


@recipe
class Random(Wiring):
    """A wiring with a random fraction 1 - `sparsity` of all possible synapses; on average one third are inhibitory.

    The random numbers, and so the graphs, equal those of `ncps` 1.0.1 for equal arguments.

    Args:
        units: number of neurons.
        outputs: number of motor neurons; None for all neurons.
        sparsity: fraction of the possible synapses that are left out, in [0, 1).
        seed: random seed, in 0…2**32-1.

    """

    units: int
    outputs: int | None = None
    sparsity: float = 0.0
    seed: int = 1111

    def __post_init__(self) -> None:
        """Check the sizes."""
        units = check_size("units", self.units)
        outputs = check_outputs(self.outputs, units)
        self._set(units=units, outputs=outputs, sparsity=check_rate("sparsity", self.sparsity))
        self._set(seed=check_seed(self.seed), output_size=outputs, input_size=None, layers=one_layer(units))

    def build(self, input_size: int) -> Adjacency:
        """Draw the graph for `input_size` inputs."""
        D, H = check_size("input_size", input_size), self.units
        rng = np.random.default_rng(self.seed)
        adjacency = self._draw(rng, rows=H, draws=1)
        sensory = self._draw(rng, rows=D, draws=2)
        return Adjacency(adjacency, sensory, self.output_size)

    def _draw(self, rng: np.random.Generator, rows: int, draws: int) -> Polarity:
        """Return a (rows, H) matrix; the polarity of each synapse is the last of `draws` draws, as in `ncps`."""
        possible = rows * self.units
        count = int(np.round(possible * (1 - self.sparsity)))
        matrix = np.zeros(possible, dtype=np.int8)
        present = rng.choice(possible, size=count, replace=False)
        matrix[present] = rng.choice((-1, 1, 1), size=(count, draws))[:, -1]
        return matrix.reshape(rows, self.units)
