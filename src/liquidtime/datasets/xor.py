"""Bit-stream XOR: the parity of a random bit stream, sent bit by bit or change by change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from liquidtime._checks import check_choice, check_size

SEEDS = {"train": 1234984, "test": 48736}
SIZES = {"train": 100_000, "test": 10_000}
ENCODINGS = ("event", "dense")


@dataclass(frozen=True)
class Sequences:
    """Ragged sequences with a label each.

    Attributes:
        x: (N, T, 1) float32 the new bit at each event, 0 behind the end.
        dt: (N, T) float32 time since the previous event, in units of `max_length` bits.
        lengths: (N,) int64 events of each sequence.
        y: (N,) int64 the label, 0 or 1.

    """

    x: Tensor
    dt: Tensor
    lengths: Tensor
    y: Tensor

    def __len__(self) -> int:
        return len(self.y)


def xor(
    split: str = "train",
    encoding: str = "event",
    *,
    size: int | None = None,
    max_length: int = 32,
    seed: int | None = None,
) -> Sequences:
    """Return bit streams and their parity.

    A stream has 2…max_length-1 random bits; its label is the number of ones modulo 2. The dense encoding sends every
    bit, one unit of time apart. The event encoding sends the first bit and then only changes: an event's value is
    the new bit and its elapsed time the number of bits since the last event; where the last event is not the last
    bit, one more event closes the stream.
    With the defaults these are the paper's 100,000 training and 10,000 test streams, bit by bit.

    Args:
        split: "train" or "test": which seed and how many streams.
        encoding: "event" or "dense".
        size: how many streams, if not the split's.
        max_length: T, what sequences are padded to and time is measured in.
        seed: of the draws, if not the split's.

    """
    check_choice("split", split, SEEDS)
    check_choice("encoding", encoding, ENCODINGS)
    N = SIZES[split] if size is None else check_size("size", size, least=0)
    T = check_size("max_length", max_length, least=3)
    rng = np.random.RandomState(SEEDS[split] if seed is None else seed)
    values, elapsed = np.zeros((N, T), np.float32), np.zeros((N, T), np.float32)
    lengths, labels = np.zeros(N, np.int64), np.zeros(N, np.int64)
    for i in range(N):
        bits = rng.randint(0, 2, size=rng.randint(2, T))
        at = _events(bits) if encoding == "event" else np.arange(1, len(bits) + 1)
        lengths[i], labels[i] = len(at), bits.sum() % 2
        values[i, : len(at)] = bits[at - 1]
        elapsed[i, : len(at)] = np.diff(at, prepend=0)
    dt = torch.from_numpy(elapsed / np.float32(T))
    return Sequences(torch.from_numpy(values).unsqueeze(-1), dt, torch.from_numpy(lengths), torch.from_numpy(labels))


def _events(bits: np.ndarray[tuple[int], np.dtype[np.int64]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return after how many bits each event is sent: the first bit, each change, and the last bit."""
    changes = np.flatnonzero(np.diff(bits)) + 2
    sent = np.concatenate([[1], changes])
    return sent if sent[-1] == len(bits) else np.append(sent, len(bits))
