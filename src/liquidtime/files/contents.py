"""What files contain: tensors as safetensors, values as JSON; nothing is ever pickled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors import torch as safetensors_torch
from torch import Tensor

from liquidtime.files.bounded import LARGEST_HEADER, DamagedFolder, tensor_entries


def tensors_to_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    """Return tensors as a safetensors file; each is copied, so they may be tied or strided."""
    plain = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()
    }
    return safetensors_torch.save(plain)


def tensors_from_bytes(data: bytes) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file.

    Raises:
        DamagedFolder: the bytes are not a safetensors file.

    """
    tensor_entries(data[: LARGEST_HEADER + 8], len(data))
    try:
        return safetensors_torch.load(data)
    except (SafetensorError, KeyError, ValueError, TypeError, RuntimeError, OverflowError) as error:
        raise DamagedFolder(f"not a safetensors file: {error}") from error


def json_to_bytes(values: Any, *, indent: int | None = None) -> bytes:
    """Return values as JSON with sorted keys, with one value per line if `indent` is given."""
    return (json.dumps(values, indent=indent, sort_keys=True, ensure_ascii=False) + "\n").encode()
