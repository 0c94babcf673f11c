"""Bit-stream XOR: the parity of a random bit stream, sent bit by bit or change by change."""

from __future__ import annotations

import numpy as np
import torch

from liquidtime._checks import check_choice, check_size
from liquidtime.paper.datasets.sequences import Sequences, Split, check_protocol, draw_validation, rows_of

SEEDS = {"train": 1234984, "test": 48736}
SIZES = {"train": 100_000, "test": 10_000}
ENCODINGS = ("event", "dense")
VALIDATION = 0.1


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
    bit, one more event closes the stream. Time is in units of `max_length` bits.
    With the defaults these are the paper's 100,000 training and 10,000 test streams, bit by bit.

    Args:
        split: "train" or "test", which decides the seed and the number of streams.
        encoding: "event" or "dense".
        size: number of streams; None for that of the split.
        max_length: T, length to which sequences are padded, and the unit of time.
        seed: random seed; None for that of the split.

    Returns:
        x (N, T, 1) new bits, y (N,) 0 or 1; ids are numbers of streams, from 100,000 for the test part.

    """
    check_choice("split", split, SEEDS)
    check_choice("encoding", encoding, ENCODINGS)
    N = SIZES[split] if size is None else check_size("size", size, least=0)
    T = check_size("max_length", max_length, least=3)
    rng = np.random.RandomState(SEEDS[split] if seed is None else seed)
    bits, counts = np.zeros((N, T), np.int64), np.zeros((N, 1), np.int64)
    for i in range(N):
        counts[i] = L = rng.randint(2, T)
        bits[i, :L] = rng.randint(0, 2, size=L)
    k = np.arange(T)
    sent = k < counts
    if encoding == "event":
        sent &= (np.diff(bits, axis=1, prepend=-1) != 0) | (k == counts - 1)
    lengths = sent.sum(axis=1)
    inside = k < lengths[:, None]
    values, at = np.zeros((N, T), np.float32), np.zeros((N, T), np.float32)
    values[inside], at[inside] = bits[sent], np.broadcast_to(k + 1, (N, T))[sent]
    elapsed = np.where(inside, np.diff(at, axis=1, prepend=0), 0).astype(np.float32)
    return Sequences(
        torch.from_numpy(values).unsqueeze(-1),
        torch.from_numpy(elapsed / np.float32(T)),
        torch.from_numpy(lengths),
        torch.from_numpy(bits.sum(axis=1) % 2),
        torch.arange(N) + (0 if split == "train" else SIZES["train"]),
    )


def xor_split(
    *,
    encoding: str = "event",
    protocol: str = "honest",
    seed: int = 0,
    size: int | None = None,
    test_size: int | None = None,
) -> Split:
    """Return the paper's streams in parts.

    Args:
        encoding: "event" or "dense".
        protocol: "honest" takes a tenth of the training streams for validation; "published" has no validation.
        seed: random seed of this choice.
        size: number of training and validation streams together; None for 100,000.
        test_size: number of test streams; None for 10,000.

    """
    check_protocol(protocol)
    known, test = xor("train", encoding, size=size), xor("test", encoding, size=test_size)
    if protocol == "published":
        return Split(known, None, test)
    train, validation = draw_validation(len(known), VALIDATION, seed)
    return Split(known.take(rows_of(train)), known.take(rows_of(validation)), test)
