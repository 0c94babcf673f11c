"""The final check of predictions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def finite(outputs: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return predictions unchanged.

    Raises:
        ValueError: some are NaN or infinite: weights or values so large that sums overflow.

    """
    bad = ~np.isfinite(outputs)
    if bad.any():
        raise ValueError(
            f"{int(bad.sum()):,} of {outputs.size:,} predictions are not finite numbers: the model's weights, or the "
            "values that it was given, are too large. Do not use this model on these series."
        )
    return outputs
