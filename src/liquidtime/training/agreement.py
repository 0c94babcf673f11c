"""Before a run starts: every rank gets the files that rank 0 read, and all settings and weights are compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

from liquidtime.training.ranks import Ranks, RanksDisagree


@contextmanager
def told(ranks: Ranks) -> Iterator[None]:
    """If rank 0 fails within the block, tell the other ranks, which would otherwise wait forever."""
    try:
        yield
    except Exception as error:
        if ranks.world > 1 and ranks.rank == 0:
            ranks.broadcast(_framed({}, error=f"{type(error).__name__}: {error}"))
        raise


def agreed(ranks: Ranks, digest: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of rank 0, after checking that all ranks have the same settings and weights.

    Args:
        ranks: the ranks of the run.
        digest: SHA-256 of the settings and weights of this rank.
        files: contents by name; only those of rank 0 are used.

    Raises:
        RanksDisagree: rank 0 failed, or a rank has a different digest.

    """
    if ranks.world == 1:
        return dict(files)
    head, received = _unframed(ranks.broadcast(_framed(files, digest=digest)))
    if "error" in head:
        raise RanksDisagree(f"rank 0 did not begin: {head['error']}")
    differs = ranks.sum(torch.tensor([float(head["digest"] != digest)]))
    if float(differs) > 0:
        raise RanksDisagree(
            f"{int(differs)} of {ranks.world} ranks do not have the settings or weights of rank 0. Start all of them "
            "with "
            "the same data, options, and version of liquidtime."
        )
    return received


def digest_of(settings: Mapping[str, object], tensors: Mapping[str, Tensor]) -> str:
    """Return the SHA-256 of settings and weights."""
    digest = hashlib.sha256(json.dumps(dict(settings), sort_keys=True, default=repr).encode())
    for name, tensor in tensors.items():
        digest.update(f"{name} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _framed(files: Mapping[str, bytes], **facts: str) -> bytes:
    head = json.dumps({**facts, "files": {name: len(content) for name, content in files.items()}}).encode()
    return b"".join([len(head).to_bytes(8, "little"), head, *files.values()])


def _unframed(message: bytes) -> tuple[dict[str, str], dict[str, bytes]]:
    start = 8 + int.from_bytes(message[:8], "little")
    head = json.loads(message[8:start])
    files: dict[str, bytes] = {}
    for name, size in head.pop("files").items():
        files[name], start = message[start : start + size], start + size
    return head, files
