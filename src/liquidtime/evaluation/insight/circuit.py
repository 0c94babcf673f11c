"""The circuit of a network: inputs, neurons, outputs and their connections, drawn and animated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from liquidtime.evaluation.insight.shown import Shown, Sketch, needs_matplotlib

if TYPE_CHECKING:
    from liquidtime.evaluation.drawing import Drawing

Floats = npt.NDArray[np.float64]
Kind: TypeAlias = Literal["input", "inter", "command", "motor", "output"]
_LINKS_DRAWN = 90


@dataclass(frozen=True)
class Neuron:
    """One node of a circuit.

    Args:
        name: name that is unique within the circuit.
        kind: "input"; "inter", "command" or "motor" in a wiring, "inter" without one; "output" of the read-out.
        layer: its layer in the order of the signals, where inputs are 0.
    """

    name: str
    kind: Kind
    layer: int


@dataclass(frozen=True)
class Link:
    """One connection of a circuit.

    Args:
        source: name of the neuron where it begins.
        target: name of the neuron where it ends.
        weight: above 0 if it excites, below 0 if it inhibits.
    """

    source: str
    target: str
    weight: float


@dataclass(frozen=True, eq=False)
class Activity:
    """The activity of the neurons of a circuit over one series.

    Args:
        id: id of the series.
        times: (T,) times of the steps.
        values: (T, n) activity of the neurons, in the order of the circuit; NaN if there is none.
        time_unit: unit of the times.
    """

    id: str
    times: Floats
    values: Floats
    time_unit: str | None


@dataclass(frozen=True, eq=False, repr=False)
class Circuit(Shown):
    """A network as a graph; `lt.insight.circuit` makes it.

    Args:
        neurons: nodes.
        links: connections, the strongest first.
        meaning: meaning of the weights, as text.
        activity: activity over one series; None without series.
    """

    neurons: Sequence[Neuron]
    links: Sequence[Link]
    meaning: str
    activity: Activity | None = None

    def graph(self) -> Any:
        """Return the circuit as a `networkx.DiGraph`, with `kind` and `layer` of nodes and `weight` of edges.

        Raises:
            ImportError: networkx is not installed.

        """
        try:
            import networkx
        except ImportError as error:
            raise ImportError("a circuit needs networkx: pip install 'liquidtime[insight]'") from error
        graph = networkx.DiGraph()
        for neuron in self.neurons:
            graph.add_node(neuron.name, kind=neuron.kind, layer=neuron.layer)
        for link in self.links:
            graph.add_edge(link.source, link.target, weight=link.weight)
        return graph

    def positions(self) -> dict[str, tuple[float, float]]:
        """Return the position of each neuron: layers from left to right, a large middle layer as an ellipse."""
        layers = max((neuron.layer for neuron in self.neurons), default=0) + 1
        places: dict[str, tuple[float, float]] = {}
        for layer in range(layers):
            names = [neuron.name for neuron in self.neurons if neuron.layer == layer]
            recurrent = layer > 0 and any(link.source in names and link.target in names for link in self.links)
            if recurrent and len(names) > 6:
                for name, angle in zip(names, np.linspace(0.0, 2 * np.pi, len(names), endpoint=False), strict=True):
                    places[name] = (1.2 * layer + 0.55 * float(np.cos(angle)), 0.46 * float(np.sin(angle)))
            else:
                heights = np.linspace(0.46, -0.46, len(names)) if len(names) > 1 else [0.0]
                places |= {name: (1.2 * layer, float(height)) for name, height in zip(names, heights, strict=True)}
        return places

    def caption(self) -> str:
        """Return the caption of the figure."""
        hidden = max(0, len(self.links) - _LINKS_DRAWN)
        rest = f" Not drawn: the {hidden} weakest of {len(self.links)} connections." if hidden else ""
        return (
            "The circuit. Solid lines excite, dashed lines inhibit; thicker lines are stronger. "
            f"Weights: {self.meaning}.{rest}"
        )

    def sketch(self) -> Sketch:
        """Return the neurons and their strongest connections."""
        kinds = [neuron.kind for neuron in self.neurons]
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        strongest = "; ".join(f"{link.source} to {link.target} {link.weight:.2g}" for link in self.links[:5])
        alt = f"A circuit of {counts} neurons. Strongest connections: {strongest or 'none'}."

        def draw(figure: Drawing) -> None:
            self._draw(figure, None)

        return Sketch(alt, (4.7, 4.4), draw)

    def _draw(self, figure: Drawing, values: Floats | None) -> Any:
        """Draw neurons and connections; return the artist of the neurons, coloured by `values` (n,), if any."""
        import networkx

        axes, palette = figure.axes[0], figure.palette
        graph, places = self.graph(), self.positions()
        strongest = max((abs(link.weight) for link in self.links), default=1.0) or 1.0
        for sign, style, colour in ((1, "solid", palette.series[0]), (-1, "dashed", palette.series[1])):
            links = [link for link in self.links[:_LINKS_DRAWN] if link.weight * sign > 0]
            networkx.draw_networkx_edges(
                graph, places, ax=axes, edgelist=[(link.source, link.target) for link in links], style=style,
                width=[0.3 + 2.2 * abs(link.weight) / strongest for link in links], edge_color=colour, alpha=0.65,
                arrowsize=6, node_size=60, connectionstyle="arc3,rad=0.12",
            )  # fmt: skip
        kinds = ("input", "inter", "command", "motor", "output")
        colours = dict(zip(kinds, (palette.faint, *(palette.series[i] for i in (3, 4, 6, 7))), strict=True))
        nodes: Any = networkx.draw_networkx_nodes(
            graph, places, ax=axes, nodelist=[neuron.name for neuron in self.neurons], node_size=60,
            node_color=[colours[neuron.kind] for neuron in self.neurons] if values is None else values,
            **({} if values is None else {"cmap": "coolwarm", "vmin": -1.0, "vmax": 1.0}),
        )  # fmt: skip
        for neuron in self.neurons:
            x, y = places[neuron.name]
            if neuron.kind in ("input", "output"):
                side, align = (-0.06, "right") if neuron.kind == "input" else (0.06, "left")
                label = neuron.name if len(neuron.name) <= 18 else neuron.name[:17] + "…"
                axes.text(x + side, y, label, ha=align, va="center", fontsize=8)
        axes.set_axis_off()
        right = max((x for x, _ in places.values()), default=1.0)
        labelled = any(neuron.kind == "output" for neuron in self.neurons)
        axes.set(xlim=(-0.85, right + (0.85 if labelled else 0.2)), ylim=(-0.55, 0.55))
        return nodes

    def animate(self, path: str | Path, *, frames: int = 60, seconds: float = 8.0) -> Path:
        """Write the activity of the neurons over the series as an animated image.

        Args:
            path: path of the file: .gif, or .html for a page. An existing file is replaced.
            frames: largest number of frames, evenly spread over the time of the series.
            seconds: duration of the animation.

        Raises:
            ImportError: matplotlib, networkx or pillow is not installed.
            ValueError: the circuit has no activity, or the name has another extension.

        """
        file = Path(path)
        if file.suffix.lower() not in (".gif", ".html"):
            raise ValueError(f"`path` must end in .gif or .html; got {file.name!r}")
        from liquidtime.files.whole_files import write_file

        moving = self.gif(frames=frames, seconds=seconds)
        if file.suffix.lower() == ".html":
            moving = _page(moving, self.activity).encode()
        write_file(file.absolute(), moving)
        return file

    def gif(self, *, frames: int = 60, seconds: float = 8.0, dpi: int = 90) -> bytes:
        """Return the activity over the series as an animated GIF; arguments as in `animate`."""
        if self.activity is None or len(self.activity.times) == 0:
            raise ValueError("the circuit has no activity; make it with `data`: lt.insight.circuit(model, data, id)")
        needs_matplotlib()
        import tempfile

        from matplotlib.animation import FuncAnimation, PillowWriter

        from liquidtime.evaluation.drawing import PRINT, drawing

        activity = self.activity
        moments = np.linspace(activity.times[0], activity.times[-1], max(1, min(frames, len(activity.times))))
        rows = (np.searchsorted(activity.times, moments, side="right") - 1).clip(min=0)
        unit = f" {activity.time_unit}" if activity.time_unit else ""
        with drawing("activity", "", (4.7, 4.6), palette=PRINT) as figure:
            nodes = self._draw(figure, np.nan_to_num(activity.values[rows[0]]))
            nodes.set_edgecolor(PRINT.faint)
            title = figure.axes[0].set_title("")

            def show(frame: int) -> tuple[Any, ...]:
                nodes.set_array(np.nan_to_num(activity.values[rows[frame]]))
                title.set_text(f"series {activity.id}, {moments[frame]:.4g}{unit}")
                return nodes, title

            show(0)
            figure.canvas.draw_without_rendering()
            figure.canvas.set_layout_engine("none")  # the axes must not move
            moving = FuncAnimation(figure.canvas, show, frames=len(moments))
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "activity.gif"
                moving.save(file, writer=PillowWriter(fps=max(1, round(len(moments) / seconds))), dpi=dpi)
                return file.read_bytes()

    def __repr__(self) -> str:
        return self.sketch().alt


def _page(gif: bytes, activity: Activity | None) -> str:
    """Return an HTML page with an animated image."""
    import base64
    from html import escape

    name = escape(f"Activity over series {activity.id}" if activity else "Activity")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{name}</title>'
        '<body style="margin:0;background:#fff"><img style="max-width:100%" '
        f'alt="{name}" src="data:image/gif;base64,{base64.b64encode(gif).decode()}"></body></html>'
    )
