"""The wirings of `ncps` 1.0.1, which are built in place; `liquidtime.wirings` generates the graphs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from liquidtime import wirings
from liquidtime.compat.ncps.wirings.diagram import draw, graph

Matrix = npt.NDArray[np.int32]


class Wiring:
    """A graph of neurons to which synapses can be added, before and after its number of inputs is known.

        adjacency_matrix[i, j] = +1: neuron i excites neuron j,   -1: it inhibits it,   0: no synapse

    Attributes:
        units: number H of neurons.
        adjacency_matrix: (H, H) polarity of the synapse from neuron i to neuron j.
        sensory_adjacency_matrix: (D, H) polarity of the synapse from input i to neuron j; None until it is built.
        input_dim: number D of inputs; None until it is built.
        output_dim: number of motor neurons, which are the first ones; None until it is set.

    Args:
        units: number H of neurons.

    """

    def __init__(self, units: int) -> None:
        self.units = units
        self.adjacency_matrix: Matrix = np.zeros((units, units), dtype=np.int32)
        self.sensory_adjacency_matrix: Matrix | None = None
        self.input_dim: int | None = None
        self.output_dim: int | None = None

    @property
    def num_layers(self) -> int:
        """Number of layers of neurons."""
        return 1

    def get_neurons_of_layer(self, layer_id: int) -> list[int]:
        """Return the numbers of the neurons in a layer; a plain wiring has one layer."""
        return list(range(self.units))

    def get_type_of_neuron(self, neuron_id: int) -> str:
        """Return "motor" for an output, otherwise "inter"."""
        return "motor" if self.output_dim is not None and neuron_id < self.output_dim else "inter"

    def is_built(self) -> bool:
        """Return whether the number of inputs is known."""
        return self.input_dim is not None

    def build(self, input_dim: int) -> None:
        """Set the number of inputs; repeating this with the same number has no effect.

        Raises:
            ValueError: it was built for another number.

        """
        if self.input_dim is None:
            self.set_input_dim(input_dim)
        elif self.input_dim != input_dim:
            raise ValueError(
                f"`input_dim` must be {self.input_dim}, for which this wiring was built; got {input_dim}. "
                "Construct a wiring for each number of inputs."
            )

    def set_input_dim(self, input_dim: int) -> None:
        """Set the number of inputs, none of which is connected yet."""
        self.input_dim = input_dim
        self.sensory_adjacency_matrix = np.zeros((input_dim, self.units), dtype=np.int32)

    def set_output_dim(self, output_dim: int) -> None:
        """Set the number of motor neurons."""
        self.output_dim = output_dim

    def erev_initializer(self, shape: object = None, dtype: object = None) -> Matrix:
        """Return a copy of the polarities between neurons; `shape` and `dtype` exist only for Keras."""
        return self.adjacency_matrix.copy()

    def sensory_erev_initializer(self, shape: object = None, dtype: object = None) -> Matrix:
        """Return a copy of the polarities of the inputs; `shape` and `dtype` exist only for Keras."""
        return self._sensory().copy()

    def add_synapse(self, src: int, dest: int, polarity: int) -> None:
        """Connect neuron `src` to neuron `dest`, exciting (+1) or inhibiting (-1)."""
        _check_synapse(src, self.units, dest, self.units, polarity)
        self.adjacency_matrix[src, dest] = polarity

    def add_sensory_synapse(self, src: int, dest: int, polarity: int) -> None:
        """Connect input `src` to neuron `dest`, exciting (+1) or inhibiting (-1)."""
        sensory = self._sensory()
        _check_synapse(src, len(sensory), dest, self.units, polarity)
        sensory[src, dest] = polarity

    @property
    def synapse_count(self) -> int:
        """Number of synapses between neurons."""
        return int(np.count_nonzero(self.adjacency_matrix))

    @property
    def sensory_synapse_count(self) -> int:
        """Number of synapses from the inputs."""
        return int(np.count_nonzero(self._sensory()))

    def get_config(self) -> dict[str, Any]:
        """Return the wiring as plain values; `from_config` is the inverse."""
        sensory = self.sensory_adjacency_matrix
        return {
            "units": self.units,
            "adjacency_matrix": self.adjacency_matrix.tolist(),
            "sensory_adjacency_matrix": None if sensory is None else sensory.tolist(),
            "input_dim": self.input_dim,
            "output_dim": self.output_dim,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Wiring:
        """Return the wiring that `get_config` wrote."""
        wiring = Wiring(config["units"])
        wiring.input_dim, wiring.output_dim = config["input_dim"], config["output_dim"]
        if config["adjacency_matrix"] is not None:
            wiring.adjacency_matrix = np.array(config["adjacency_matrix"], dtype=np.int32)
        if config["sensory_adjacency_matrix"] is not None:
            wiring.sensory_adjacency_matrix = np.array(config["sensory_adjacency_matrix"], dtype=np.int32)
        return wiring

    def get_graph(self, include_sensory_neurons: bool = True) -> Any:
        """Return a `networkx.DiGraph` with the types of neurons and the polarities of synapses."""
        self._sensory()
        return graph(self, include_sensory_neurons)

    def draw_graph(
        self,
        layout: str = "shell",
        neuron_colors: dict[str, str] | None = None,
        synapse_colors: str | dict[str, str] | None = None,
        draw_labels: bool = False,
    ) -> list[Any]:
        """Draw the graph into the current matplotlib axes and return the handles of a legend."""
        return draw(self.get_graph(), layout, neuron_colors, synapse_colors, draw_labels)

    def _sensory(self) -> Matrix:
        if self.sensory_adjacency_matrix is None:
            raise ValueError("the wiring is not built: its number of inputs is unknown. Call `build(input_dim)`.")
        return self.sensory_adjacency_matrix


class _Drawn(Wiring):
    """A wiring whose synapses come from a recipe of `liquidtime.wirings`, added to existing ones."""

    def __init__(self, recipe: wirings.Wiring) -> None:
        super().__init__(recipe.units)
        self.set_output_dim(recipe.output_size)
        self._recipe = recipe

    def build(self, input_shape: int) -> None:
        """Draw the synapses for this number of inputs; repeating this with the same number has no effect."""
        built = self.is_built()
        super().build(input_shape)
        if not built:
            drawn = self._recipe.build(input_shape)
            _add(self.adjacency_matrix, drawn.adjacency)
            _add(self._sensory(), drawn.sensory)

    @property
    def num_layers(self) -> int:
        """Number of layers of neurons."""
        return len(self._recipe.layers)

    def get_neurons_of_layer(self, layer_id: int) -> list[int]:
        """Return the numbers of the neurons in a layer; layers are in the order in which signals flow."""
        if not 0 <= layer_id < self.num_layers:
            raise ValueError(f"`layer_id` must be in 0…{self.num_layers - 1}; got {layer_id}")
        return list(self._recipe.layers[layer_id])

    def get_type_of_neuron(self, neuron_id: int) -> str:
        """Return "motor", "command" or "inter"."""
        return self._recipe.neuron_type(neuron_id)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Return the wiring that `get_config` wrote, not built."""
        return cls(**config)


class FullyConnected(_Drawn):
    """All possible synapses, see `liquidtime.wirings.FullyConnected`."""

    def __init__(
        self, units: int, output_dim: int | None = None, erev_init_seed: int = 1111, self_connections: bool = True
    ) -> None:
        super().__init__(wirings.FullyConnected(units, output_dim, erev_init_seed, self_connections))
        self.self_connections = self_connections
        self._erev_init_seed = erev_init_seed
        _add(self.adjacency_matrix, self._recipe.build(1).adjacency)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments."""
        return {
            "units": self.units,
            "output_dim": self.output_dim,
            "erev_init_seed": self._erev_init_seed,
            "self_connections": self.self_connections,
        }


class Random(_Drawn):
    """A fraction of all synapses, see `liquidtime.wirings.Random`."""

    def __init__(
        self, units: int, output_dim: int | None = None, sparsity_level: float = 0.0, random_seed: int = 1111
    ) -> None:
        super().__init__(wirings.Random(units, output_dim, sparsity_level, random_seed))
        self.sparsity_level = sparsity_level
        self._random_seed = random_seed
        _add(self.adjacency_matrix, self._recipe.build(1).adjacency)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments."""
        return {
            "units": self.units,
            "output_dim": self.output_dim,
            "sparsity_level": self.sparsity_level,
            "random_seed": self._random_seed,
        }


class NCP(_Drawn):
    """Sensory → inter → command → motor neurons, see `liquidtime.wirings.NCP`."""

    def __init__(
        self,
        inter_neurons: int,
        command_neurons: int,
        motor_neurons: int,
        sensory_fanout: int,
        inter_fanout: int,
        recurrent_command_synapses: int,
        motor_fanin: int,
        seed: int = 22222,
    ) -> None:
        recipe = wirings.NCP(
            inter_neurons,
            command_neurons,
            motor_neurons,
            sensory_fanout,
            inter_fanout,
            recurrent_command_synapses,
            motor_fanin,
            seed,
        )
        super().__init__(recipe)
        self._config: dict[str, Any] = {
            "inter_neurons": inter_neurons,
            "command_neurons": command_neurons,
            "motor_neurons": motor_neurons,
            "sensory_fanout": sensory_fanout,
            "inter_fanout": inter_fanout,
            "recurrent_command_synapses": recurrent_command_synapses,
            "motor_fanin": motor_fanin,
            "seed": seed,
        }

    def get_config(self) -> dict[str, Any]:
        """Return the arguments."""
        return dict(self._config)


class AutoNCP(NCP):
    """An NCP from two sizes and a sparsity, see `liquidtime.wirings.AutoNCP`."""

    def __init__(self, units: int, output_size: int, sparsity_level: float = 0.5, seed: int = 22222) -> None:
        ncp = wirings.AutoNCP(units, output_size, sparsity_level, seed).ncp
        super().__init__(
            ncp.inter,
            ncp.command,
            ncp.motor,
            ncp.sensory_fanout,
            ncp.inter_fanout,
            ncp.recurrent_command_synapses,
            ncp.motor_fanin,
            ncp.seed,
        )
        self._config = {"units": units, "output_size": output_size, "sparsity_level": sparsity_level, "seed": seed}


def _add(matrix: Matrix, drawn: npt.NDArray[np.int8]) -> None:
    np.copyto(matrix, drawn, where=drawn != 0)


def _check_synapse(src: int, sources: int, dest: int, units: int, polarity: int) -> None:
    if not 0 <= src < sources:
        raise ValueError(f"`src` must be in 0…{sources - 1}; got {src}")
    if not 0 <= dest < units:
        raise ValueError(f"`dest` must be in 0…{units - 1}; got {dest}")
    if polarity not in (-1, 1):
        raise ValueError(f"`polarity` must be -1 or 1; got {polarity}")
