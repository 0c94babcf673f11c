"""Figures of driving in closed loop: attention maps, and an animated lap with the states of the neurons."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from liquidtime.evaluation.insight import visual_backprop
from liquidtime.paper.datasets.car_racing import TEST_TRACKS, Shutter, drive
from liquidtime.paper.experiments.driving import DRIVING
from liquidtime.paper.experiments.experiment import HONEST
from liquidtime.paper.models.driving.attention import INPUT, tiles_file
from liquidtime.paper.models.driving.judging import camera_of
from liquidtime.paper.models.driving.model import DrivingModel, network_file, read_network
from liquidtime.paper.models.driving.network import Pilot
from liquidtime.paper.models.lane.attention import read_tiles
from liquidtime.paper.models.lane.convolution import SIZE, scaled, standardised
from liquidtime.paper.runner import Key

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = ("summer", "summer, noise 0.35", "winter", "winter, noise 0.35")
LAP_ROW = "cfc"
SHOWN = 3
"""Number of camera frames per frame of the animation."""
TIMES = 2
"""Width, in pixels, at which each camera pixel is drawn."""
TRACES = 300
"""Width of the neurons' traces, pixels."""
PAST = 80
"""Number of camera frames in the traces."""
NAMES = 52
"""Width of the stripe that marks the kinds of neurons, pixels."""
COLOURS = 48
INTER, COMMAND, MOTOR = (78, 121, 167), (89, 161, 79), (225, 87, 89)

Bytes = npt.NDArray[np.uint8]


def draw_attention(canvas: Figure, out: Path) -> None:
    """Draw the attention maps of all rows that have them, below the images, and set the height of the canvas.

    Raises:
        ValueError: there are none; the message has the command that makes them.

    """
    kept = Key(DRIVING.name, LAP_ROW, HONEST, 0).kept(out)
    rows = {INPUT: "picture"} | {name: row.title for name, row in DRIVING.rows.items()}
    tiles = {name: read_tiles(file, SIZE) for name in rows if (file := tiles_file(kept, name)).exists()}
    if INPUT not in tiles:
        raise ValueError(f"{tiles_file(kept, INPUT)} is missing. Run: liquidtime paper run driving --model {LAP_ROW}")
    shown = len(tiles[INPUT][0])
    canvas.set_figheight(0.4 + 0.75 * len(tiles))
    axes: Any = canvas.subplots(len(tiles), len(COLUMNS) * shown, squeeze=False)
    for line, (name, columns) in zip(axes, tiles.items(), strict=True):
        for column, pictures in enumerate(columns):
            for place, picture in enumerate(pictures):
                axis = line[column * shown + place]
                axis.imshow(picture, cmap="magma", vmin=0, vmax=255, aspect="auto")
                axis.set_xticks([])
                axis.set_yticks([])
        line[0].set_ylabel(rows[name], rotation=0, ha="right", va="center", fontsize=8)
    for column, text in enumerate(COLUMNS):
        axes[0][column * shown].set_title(text, fontsize=9, loc="left")


def lap(out: Path, file: Path, track: int = TEST_TRACKS[0], metres: float | None = None) -> Path:
    """Let the stored network drive a lap of a test track, and write it as an animated GIF.

    The camera image is at the top and the attention map below it; beside them are the states of the 19 neurons, with
    the motor neuron at the top.

    Args:
        out: folder of results.
        file: path of the GIF.
        track: seed of the track.
        metres: distance to drive; None for one lap.

    Raises:
        ValueError: the network's weights are missing; the message has the command that makes them.

    """
    from PIL import Image

    kept = Key(DRIVING.name, LAP_ROW, HONEST, 0).kept(out)
    weights = network_file(kept, LAP_ROW)
    if not weights.exists():
        raise ValueError(f"{weights} is missing. Run: liquidtime paper run driving --model {LAP_ROW}")
    row = DRIVING.rows[LAP_ROW]
    if not isinstance(row.model, DrivingModel) or row.settings is None:
        raise TypeError(f"the rows of {DRIVING.name} must be of a DrivingModel with settings")
    network = read_network(row.model.network(row.settings, 0), weights)
    camera = camera_of(track)
    camera.car.put(0.0)
    pilot, states = Pilot(network), list[npt.NDArray[np.float64]]()

    def policy(frames: Bytes, dt: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        command = pilot(frames, dt)
        states.append(pilot.state.flatten().double().numpy().copy())
        return command

    far = camera.car.track.length if metres is None else metres
    (log,) = drive([camera], policy, [Shutter(np.random.default_rng([track, 2]))], metres=far, kept=True)
    pictures, neurons, moments = np.stack(log.frames), np.stack(states), np.cumsum(log.intervals)
    attention = visual_backprop(network.convolutions, standardised(scaled(torch.from_numpy(pictures)))).numpy()
    at = range(0, len(pictures), SHOWN)
    images = [Image.fromarray(_beside(pictures[i], attention[i], neurons, i)) for i in at]
    palette = images[len(images) // 2].quantize(COLOURS)
    small = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    waits = np.diff(moments[list(at)], append=moments[-1] + 0.1)
    file.parent.mkdir(parents=True, exist_ok=True)
    small[0].save(
        file,
        save_all=True,
        append_images=small[1:],
        duration=[max(round(1000 * wait), 20) for wait in waits],
        loop=0,
        optimize=True,
    )
    return file


def _beside(picture: Bytes, attention: npt.NDArray[np.float32], neurons: npt.NDArray[np.float64], now: int) -> Bytes:
    """Return one frame of the animation (rows, columns, 3)."""
    heat = np.clip(3 * attention[..., None] - [0.0, 1.0, 2.0], 0.0, 1.0)
    views = [picture.transpose(1, 2, 0), (255 * heat).astype(np.uint8)]
    left = np.concatenate([view.repeat(TIMES, axis=0).repeat(TIMES, axis=1) for view in views])
    return np.concatenate([left, _traces(neurons, now, left.shape[0])], axis=1)


def _traces(neurons: npt.NDArray[np.float64], now: int, height: int) -> Bytes:
    """Return the traces over the last frames (height, TRACES, 3): one line per neuron, each scaled to its own range."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (TRACES, height), (255, 255, 255))
    pen = ImageDraw.Draw(image)
    N = neurons.shape[1]
    low, high = neurons.min(axis=0), neurons.max(axis=0)
    past = neurons[max(now - PAST + 1, 0) : now + 1]
    x = TRACES - 8 - (TRACES - 8 - NAMES) * np.arange(len(past))[::-1] / (PAST - 1)
    for text, first, colour in (("motor", 0, MOTOR), ("command", 1, COMMAND), ("inter", 1 + (N - 1) // 3, INTER)):
        pen.text((4, height * first / N + 2), text, fill=colour)
    for n in range(N):
        top = height * (n + 0.12) / N
        y = top + 0.76 * height / N * (1 - (past[:, n] - low[n]) / max(high[n] - low[n], 1e-9))
        colour = MOTOR if n == 0 else COMMAND if n <= (N - 1) // 3 else INTER
        pen.line([(float(a), float(b)) for a, b in zip(x, y, strict=True)], fill=colour, width=2 if n == 0 else 1)
        pen.ellipse([float(x[-1]) - 2, float(y[-1]) - 2, float(x[-1]) + 2, float(y[-1]) + 2], fill=colour)
    return np.asarray(image)
