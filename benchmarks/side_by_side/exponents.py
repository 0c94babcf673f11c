"""How a cost grows: the power law through its largest sizes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class PowerLaw:
    """cost = factor·size^exponent, fitted over `sizes`."""

    factor: float
    exponent: float
    sizes: tuple[int, ...]

    def at(self, size: float) -> float:
        """Return the cost at a size."""
        return float(self.factor * size**self.exponent)


def fitted(costs: Mapping[int, float]) -> PowerLaw | None:
    """Return the power law through the larger half of the sizes, by least squares in logarithms.

    At small sizes what is paid once hides the growth, so they are left out. At least three sizes are used where there
    are as many; with fewer than two there is no slope, and None is returned.

    Args:
        costs: by size, both above 0.

    """
    sizes = sorted(costs)
    sizes = sizes[-max(3, math.ceil(len(sizes) / 2)) :]
    if len(sizes) < 2:
        return None
    x = [math.log(size) for size in sizes]
    y = [math.log(costs[size]) for size in sizes]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    across = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    exponent = across / sum((a - mean_x) ** 2 for a in x)
    return PowerLaw(math.exp(mean_y - exponent * mean_x), exponent, tuple(sizes))
