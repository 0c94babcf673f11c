"""A wiring as a `networkx` graph, and a drawing of it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from liquidtime._checks import check_choice

if TYPE_CHECKING:
    from liquidtime.compat.ncps.wirings.wirings import Matrix, Wiring

NEURON_COLORS = {"inter": "tab:blue", "motor": "tab:orange", "sensory": "tab:olive"}
SYNAPSE_COLORS = {"excitatory": "tab:green", "inhibitory": "tab:red"}
LAYOUTS = {
    "kamada": "kamada_kawai_layout",
    "circular": "circular_layout",
    "random": "random_layout",
    "shell": "shell_layout",
    "spring": "spring_layout",
    "spectral": "spectral_layout",
    "spiral": "spiral_layout",
}


def graph(wiring: Wiring, include_sensory_neurons: bool) -> Any:
    """Return a DiGraph of nodes `neuron_i`, optionally also `sensory_i`, with `neuron_type` and edge `polarity`."""
    made = importlib.import_module("networkx").DiGraph()
    for i in range(wiring.units):
        made.add_node(f"neuron_{i}", neuron_type=wiring.get_type_of_neuron(i))
    sensory = wiring.sensory_adjacency_matrix
    if include_sensory_neurons and sensory is not None:
        made.add_nodes_from((f"sensory_{i}" for i in range(len(sensory))), neuron_type="sensory")
        _add_edges(made, "sensory", sensory)
    _add_edges(made, "neuron", wiring.adjacency_matrix)
    return made


def draw(
    diagram: Any,
    layout: str,
    neuron_colors: dict[str, str] | None,
    synapse_colors: str | dict[str, str] | None,
    draw_labels: bool,
) -> list[Any]:
    """Draw the result of `graph` and return one legend handle per type of neuron."""
    check_choice("layout", layout, LAYOUTS)
    networkx, patches = importlib.import_module("networkx"), importlib.import_module("matplotlib.patches")
    colors = NEURON_COLORS | (neuron_colors or {})
    if isinstance(synapse_colors, str):
        synapse_colors = dict.fromkeys(SYNAPSE_COLORS, synapse_colors)
    edge_colors = synapse_colors or SYNAPSE_COLORS
    places = getattr(networkx, LAYOUTS[layout])(diagram)
    types = diagram.nodes(data="neuron_type")
    networkx.draw_networkx_nodes(diagram, places, node_color=[colors.get(kind, colors["inter"]) for _, kind in types])
    if draw_labels:
        networkx.draw_networkx_labels(diagram, places)
    polarities = [edge_colors[polarity] for _, _, polarity in diagram.edges(data="polarity")]
    networkx.draw_networkx_edges(diagram, places, edge_color=polarities)
    return [patches.Patch(color=color, label=f"{kind.capitalize()} neurons") for kind, color in colors.items()]


def _add_edges(made: Any, sources: str, matrix: Matrix) -> None:
    for i, j in zip(*matrix.nonzero(), strict=True):
        polarity = "excitatory" if matrix[i, j] > 0 else "inhibitory"
        made.add_edge(f"{sources}_{i}", f"neuron_{j}", polarity=polarity)
