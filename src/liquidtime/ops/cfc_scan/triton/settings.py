"""Block sizes of the kernels for each size of network, so that they fit every architecture listed here.

Kernels that compile may still be impossible to launch, so `python -m benchmarks.triton_sizes`, which compiles every
line of the table, and tests/ops/test_triton_sizes.py check it against the limits of the architectures.
"""

from __future__ import annotations

from typing import NamedTuple

MOST_UNITS = 256
"""H and U of the largest scans that are supported."""
ROWS = 16
"""Rows of a batch per program."""
SHARED = {80: 163 * 1024, 86: 99 * 1024, 89: 99 * 1024, 90: 227 * 1024}
"""Bytes of shared memory available to a block of threads, by compute capability."""
REGISTERS, SPILLS = 255, 512
"""Largest number of registers per thread, and of bytes that may be spilled; kernels of 256 units spill some."""


class Sizes(NamedTuple):
    """Block sizes of a kernel.

    Args:
        padded: H, padded to a power of two.
        block: backbone units per block.
        part: units of the state per block, in products that sum over them.
        stages: stages of the pipeline of loads.
        warps: number of warps, of 32 threads each.
    """

    padded: int
    block: int
    part: int
    stages: int
    warps: int


_SIZES = {
    (16, False): (16, 16, 1, 4), (32, False): (16, 16, 1, 4), (64, False): (16, 16, 1, 4),
    (128, False): (16, 16, 1, 8), (256, False): (16, 16, 1, 8),
    (16, True): (16, 16, 2, 4), (32, True): (16, 16, 2, 4), (64, True): (16, 32, 2, 4),
    (128, True): (16, 32, 2, 8), (256, True): (16, 32, 2, 8),
}  # fmt: skip
"""By padded H and whether operands are bf16: the other fields of `Sizes`."""


def padded(H: int) -> int:
    """Return H rounded up to a power of two, at least 16, the smallest size that tensor cores support."""
    return max(16, 1 << (H - 1).bit_length())


def sizes_of(H: int, bf16: bool) -> Sizes:
    """Return the block sizes for H units and the type of the operands; they do not depend on the backbone units."""
    return Sizes(padded(H), *_SIZES[padded(H), bf16])
