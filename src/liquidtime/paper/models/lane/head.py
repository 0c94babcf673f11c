"""Train the head once, on single images, so that all recurrent networks start from the same features."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from liquidtime.files.contents import tensors_from_bytes, tensors_to_bytes
from liquidtime.files.whole_files import write_file
from liquidtime.paper.datasets import Sequences, Split
from liquidtime.paper.fitting import Epoch
from liquidtime.paper.models.lane.convolution import FEATURES, Head, scaled, standardised
from liquidtime.training import METRICS, Loss, TrainSettings, isolated_rng, squared_error, train

SEED, BATCH, EVALUATED = 0, 64, 64
HEAD = TrainSettings(
    epochs=7, seed=SEED, optimizer="adamw", learning_rate=1e-3, weight_decay=1e-3, schedule="one_cycle", monitor="mse"
)
FILE = "lane-head.safetensors"


@dataclass(frozen=True)
class Frames:
    """A batch of single images.

    Attributes:
        x: (n, 3, h, w) uint8.
        y: (n, 1) steering.

    """

    x: Tensor
    y: Tensor


@dataclass(frozen=True)
class FrameBatches:
    """The images of a part in an order drawn from the generator of the epoch, each mirrored with probability 1/2.

    A mirrored image has the opposite steering.
    """

    part: Sequences
    batch_size: int

    def __call__(self, epoch: int, generator: torch.Generator) -> Epoch[tuple[Tensor, Tensor], Frames]:
        """Return the batches of an epoch."""
        images = inside(self.part).nonzero()  # (F, 2) row and step of each
        order = torch.randperm(len(images), generator=generator)
        mirrored = torch.rand(len(images), generator=generator) < 0.5
        pieces = torch.split(images[order], self.batch_size), torch.split(mirrored, self.batch_size)
        return Epoch(list(zip(*pieces, strict=True)), self._frames)

    def _frames(self, piece: tuple[Tensor, Tensor]) -> Frames:
        images, mirrored = piece
        rows, steps = images.unbind(1)
        x, y = self.part.x[rows, steps], self.part.y[rows, steps]
        turned = mirrored.reshape(-1, 1, 1, 1)
        return Frames(torch.where(turned, x.flip(-1), x), torch.where(mirrored.reshape(-1, 1), -y, y))


class Steering(nn.Module):
    """A head with a linear read-out: steering from a single image."""

    def __init__(self, head: Head) -> None:
        super().__init__()
        self.head = head
        self.read_out = nn.Linear(FEATURES, 1)

    def forward(self, images: Tensor) -> Tensor:
        """Map standardised images (n, 3, h, w) to (n, 1)."""
        out: Tensor = self.read_out(self.head(images))
        return out


def inside(part: Sequences) -> Tensor:
    """Return (N, T) whether each entry is a sample, not padding."""
    return torch.arange(part.x.shape[1]) < part.lengths.unsqueeze(1)


def shared_head(split: Split, kept: Path | None, folder: Path | None, progress: bool | None = None) -> Head:
    """Return the head, from its file or trained on the training part with the best epoch on the validation part.

    The weights are rounded to float16, as in the file, so that both ways give the same head.

    Args:
        split: images with steering.
        kept: folder of the file; None for no file.
        folder: folder for checkpoints during training.
        progress: whether to show a progress line.

    """
    if (split, kept) not in _LAST:
        head = _made(split, None if kept is None else kept / FILE, folder, progress)
        _LAST.clear()
        _LAST[split, kept] = head
    return _LAST[split, kept]


_LAST: dict[tuple[Split, Path | None], Head] = {}
"""The most recent head, which the trials of one process share with its features."""


def _made(split: Split, path: Path | None, folder: Path | None, progress: bool | None) -> Head:
    head = untrained_head()
    if path is not None and path.exists():
        head.load_state_dict({name: value.float() for name, value in tensors_from_bytes(path.read_bytes()).items()})
        return head.eval().requires_grad_(False)
    if split.validation is None:
        raise ValueError("the head's epoch is chosen on a validation part; this split has none.")
    held = split.validation
    with isolated_rng(SEED):
        network = Steering(head)

    def objective(model: nn.Module, batch: Frames) -> Loss:
        return squared_error(model(standardised(scaled(batch.x))), batch.y)

    def validate(model: nn.Module) -> dict[str, float]:
        return {"mse": frame_error(model, held)}

    checkpoints = None if folder is None else folder / "head"
    train(
        network,
        objective,
        FrameBatches(split.train, BATCH),
        HEAD,
        validate=validate,
        folder=checkpoints,
        resume=checkpoints is not None,
        progress=progress,
    )
    rounded = {name: value.half() for name, value in head.state_dict().items()}
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, tensors_to_bytes(rounded))
    head.load_state_dict({name: value.float() for name, value in rounded.items()})
    return head.eval().requires_grad_(False)


def untrained_head() -> Head:
    """Return a head with its initial weights, the same at every call."""
    with isolated_rng(SEED):
        return Head()


def frame_error(model: nn.Module, part: Sequences) -> float:
    """Return the mean squared error of a network of single images over the images of a part."""
    keep = inside(part)
    frames, target = part.x[keep], part.y[keep]
    was_training = model.training
    model.eval()
    with torch.no_grad():
        blocks = [model(standardised(scaled(block))) for block in torch.split(frames, EVALUATED)]
    model.train(was_training)
    return float(METRICS["mse"](target.numpy(), torch.cat(blocks).numpy()))


def head_settings() -> dict[str, object]:
    """Return the training settings of the head, for a result file."""
    return {**dataclasses.asdict(HEAD), "batch_size": BATCH, "l2_parameters": list(HEAD.l2_parameters)}
