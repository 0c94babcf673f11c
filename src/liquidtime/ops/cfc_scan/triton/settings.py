"""How the kernels are cut for each size, so that they fit every architecture that is named here.

Compiling succeeds for kernels that cannot be launched, so the table is held to the limits of the architectures by
`python -m benchmarks.triton_sizes`, which compiles every line of it, and by tests/ops/test_triton_sizes.py.
"""

from __future__ import annotations

from typing import NamedTuple

MOST_UNITS = 256
"""H and U of the largest scans that are taken."""
ROWS = 16
"""Of a batch, in one program."""
SHARED = {80: 163 * 1024, 86: 99 * 1024, 89: 99 * 1024, 90: 227 * 1024}
"""Bytes of shared memory that a block of threads can have, by compute capability."""
REGISTERS, SPILLS = 255, 512
"""Most registers of a thread, and bytes that it may spill for lack of them: kernels of 256 units spill some."""


class Sizes(NamedTuple):
    """How a kernel is cut.

    Args:
        padded: H, padded to a power of two.
        block: backbone units at once.
        part: units of the state at once, in products that sum over them.
        stages: of the pipeline of loads.
        warps: of 32 threads.
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
"""By padded H, and whether operands are bf16: what follows in `Sizes`."""


def padded(H: int) -> int:
    """Return H as the next power of two, at least 16, the least that tensor cores take."""
    return max(16, 1 << (H - 1).bit_length())


def sizes_of(H: int, bf16: bool) -> Sizes:
    """Return how the kernels are cut for H units, any number of backbone units, and the type of products' operands."""
    return Sizes(padded(H), *_SIZES[padded(H), bf16])
