"""How the ranks of a run begin together: from the files that rank 0 read, with the same settings and weights."""

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
    """Tell the other ranks when rank 0 fails within the block, which they would wait for in vain."""
    try:
        yield
    except Exception as error:
        if ranks.world > 1 and ranks.rank == 0:
            ranks.broadcast(_framed({}, error=f"{type(error).__name__}: {error}"))
        raise


def agreed(ranks: Ranks, digest: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return rank 0's files, once all ranks have shown that they are about to train the same.

    Args:
        ranks: who trains.
        digest: sha256 of settings and weights.
        files: by name; what other ranks than the first pass is ignored.

    Raises:
        RanksDisagree: rank 0 has failed, or a rank has another digest.

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
    """Return the sha256 of settings and weights."""
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
