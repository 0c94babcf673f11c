"""The figures: attention maps, traces of the closed form, gradients over time, theory and architecture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.experiments.experiment import HONEST
from liquidtime.paper.fitting import Trial
from liquidtime.paper.models.lane.attention import INPUT, read_tiles, tiles_file
from liquidtime.paper.models.lane.convolution import SIZE
from liquidtime.paper.models.lane.networks import LANE_MODELS
from liquidtime.paper.models.lane.tightness import FINE, Course, TightnessModel, course, traces
from liquidtime.paper.pages.driving_figures import draw_attention, lap
from liquidtime.paper.pages.gradients import draw_gradients, gradient_rows
from liquidtime.paper.pages.theory_figures import draw_architecture, draw_neuron, draw_two_neurons
from liquidtime.paper.runner import Key
from liquidtime.solvers import RK4

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS = 80
SHOWN = ("printed_recorded", "repaired", "hold", "midpoint")
"""Methods in the figure of traces: those that stay finite."""
SECONDS = 40.0


def draw(name: str, out: Path, data_dir: str | Path | None = None) -> Path:
    """Draw one of `FIGURES` or `ANIMATIONS` into the folder `figures/` of the results, and return its path.

    Raises:
        ValueError: a file that it is drawn from is missing; the message has the command that makes it.
        ImportError: matplotlib is not installed.

    """
    if name in ANIMATIONS:
        return ANIMATIONS[name](out, out / "figures" / f"{name}.gif")
    file = out / "figures" / f"{name}.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    FIGURES[name](out, data_dir).savefig(file, dpi=DOTS, pil_kwargs={"optimize": True})
    return file


def attention_figure(out: Path, data_dir: str | Path | None = None) -> Figure:
    """Return the attention maps of all networks, one row each, below the images: without, with mild and full noise."""
    canvas = _canvas(10.5, 5.4)
    kept = Key("lane-keeping", "cfc", HONEST, 0).kept(out)
    names = {INPUT: "image"} | {name: model.title for name, model in LANE_MODELS.items()}
    for name in names:
        if not tiles_file(kept, name).exists():
            raise ValueError(
                f"{tiles_file(kept, name)} is missing. Run: liquidtime paper run lane-keeping --model "
                f"{'cfc' if name == INPUT else name}_joint"
            )
    tiles = {name: read_tiles(tiles_file(kept, name), SIZE) for name in names}
    shown = len(tiles[INPUT][0])
    axes: Any = canvas.subplots(len(names), 3 * shown, squeeze=False)
    for row, (name, title) in enumerate(names.items()):
        for column, pictures in enumerate(tiles[name]):
            for place, picture in enumerate(pictures):
                axis = axes[row][column * shown + place]
                axis.imshow(picture, cmap="magma", vmin=0, vmax=255, aspect="auto")
                axis.set_xticks([])
                axis.set_yticks([])
        axes[row][0].set_ylabel(title, rotation=0, ha="right", va="center", fontsize=9)
    for column, text in enumerate(("as recorded", "mild noise", "noise of variance 0.35")):
        axes[0][column * shown + shown // 2].set_title(text, fontsize=10)
    return canvas


def driving_figure(out: Path, data_dir: str | Path | None = None) -> Figure:
    """Return the attention maps of the driving networks, in summer and winter, without and with noise."""
    canvas = _canvas(11.0, 1.0)
    draw_attention(canvas, out)
    return canvas


def tightness_figure(out: Path, data_dir: str | Path | None = None) -> Figure:
    """Return the traces of three neurons of the trained NCP on the test run, by its equation and in closed form."""
    experiment = EXPERIMENTS["tightness"]
    key = Key(experiment.name, "hold", HONEST, 0)
    trial = Trial(
        task=experiment.task,
        split=experiment.data(HONEST, data_dir),
        honest=True,
        seed=key.seed,
        folder=key.folder(out),
        progress=False,
        kept=key.kept(out),
    )
    rows = [experiment.rows[name] for name in SHOWN]
    first = experiment.rows["hold"].model
    if not isinstance(first, TightnessModel):
        raise TypeError(f"the rows of {experiment.name} must be of a TightnessModel; got {type(first).__name__}")
    on: Course = course(trial, first.ncp, first.ncp_settings)
    fine = traces(on, RK4(), FINE)
    spread = fine.var(dim=0)
    lively = spread[1:].argsort(descending=True)[:2] + 1
    seconds = on.dt[0].cumsum(0)
    part = seconds < SECONDS
    canvas = _canvas(9.5, 7.0)
    axes: Any = canvas.subplots(3, 1, sharex=True)
    for axis, neuron in zip(axes, [0, *lively.tolist()], strict=True):
        axis.plot(seconds[part], fine[part, neuron], color="black", linewidth=2.4, label=f"RK4, {FINE} steps")
        low, high = fine[part, neuron].min(), fine[part, neuron].max()
        for row in rows:
            if isinstance(row.model, TightnessModel):
                found = row.model.traces(on, fine)[part, neuron]
                label = f"{row.title}, recorded" if row.model.recorded else row.title
                axis.plot(seconds[part], found, linewidth=1.1, label=label)
        room = 0.6 * (high - low)
        axis.set_ylim(float(low - room), float(high + room))
        axis.set_title(f"neuron {neuron}{' (motor)' if neuron == 0 else ''}", loc="left", fontsize=10)
        axis.set_ylabel("potential")
    axes[-1].set_xlabel("seconds of the test run")
    axes[0].legend(fontsize=8, ncols=3, loc="upper right")
    return canvas


def gradients_figure(out: Path, data_dir: str | Path | None = None) -> Figure:
    """Return the effect of a change of the initial state after T samples, before and after training."""
    rows = gradient_rows(out)
    if not rows:
        raise ValueError("there are no results of `gradients`. Run: liquidtime paper run gradients --model cfc_40")
    canvas = _canvas(10.5, 6.4)
    draw_gradients(canvas.subplots(2, 3, sharex=True, sharey=True), rows)
    return canvas


def neuron_figure(out: Path, data_dir: str | Path | None = None) -> Figure:
    """Return one neuron and its synapse: input, synapse, and state by equation 1, its symmetric form and the lemma."""
    canvas = _canvas(8.0, 5.6)
    draw_neuron(canvas.subplots(3, 1, sharex=True))
    return canvas


def two_neurons_figure(out: Path, data_dir: str | Path | None = None) -> Figure:
    """Return two neurons with five synapses, by their differential equation and in closed form."""
    canvas = _canvas(8.0, 5.6)
    draw_two_neurons(canvas.subplots(3, 1, sharex=True))
    return canvas


def architecture_figure(out: Path, data_dir: str | Path | None = None) -> Figure:
    """Return the parts of a CfC, and the gates of a real one over time."""
    canvas = _canvas(10.0, 3.8)
    draw_architecture(canvas.subplots(1, 2))
    return canvas


FIGURES: dict[str, Callable[..., Any]] = {
    "neuron": neuron_figure,
    "two-neurons": two_neurons_figure,
    "architecture": architecture_figure,
    "attention": attention_figure,
    "driving": driving_figure,
    "tightness": tightness_figure,
    "gradients": gradients_figure,
}
ANIMATIONS: dict[str, Callable[[Path, Path], Path]] = {"driving-lap": lap}
"""Functions by name: (folder of results, path) -> the path."""


def _canvas(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'liquidtime[report]'") from error
    return Figure(figsize=(width, height), layout="constrained")
