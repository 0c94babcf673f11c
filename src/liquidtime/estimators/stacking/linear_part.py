"""Ridge regression on convolution features as a part of a stack, kept as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.features import Ridge
from liquidtime.baselines.features.temperature import tempered

Floats = npt.NDArray[np.float64]
_ARRAYS = ("mean", "per_scale", "weights", "offset")


@dataclass(frozen=True, eq=False)
class LinearPart:
    """A linear function of standardised features, and for classes its softmax.

    Args:
        K: number of classes; 0 for values.
        temperature: by which the scores are divided before the softmax.
        mean: (p,).
        per_scale: (p,) one over the scale, 0 for constant columns.
        weights: (p, K) or (p, 1).
        offset: (K,) or (1,).
    """

    K: int
    temperature: float
    mean: Floats
    per_scale: Floats
    weights: Floats
    offset: Floats

    @staticmethod
    def of(fitted: Ridge) -> LinearPart:
        """Return a fitted ridge regression as arrays.

        Args:
            fitted: to classes 0…K - 1, or to values.
        """
        K = len(fitted.classes_) if fitted.task == "classify" else 0
        return LinearPart(
            K,
            float(fitted.temperature_),
            fitted.mean_,
            1.0 / fitted.scale_,
            np.asarray(fitted.weights_),
            fitted.offset_,
        )

    def predict(self, X: npt.NDArray[np.floating[Any]]) -> Floats:
        """Return (n, K) probabilities, or (n, 1) values.

        Args:
            X: (n, p) features, finite.
        """
        scores: Floats = ((X - self.mean) * self.per_scale) @ self.weights + self.offset
        return tempered(scores, self.temperature) if self.K else scores

    def stored(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return what JSON holds of the part, and its arrays by name."""
        return {"temperature": self.temperature}, {name: getattr(self, name) for name in _ARRAYS}

    @staticmethod
    def restored(facts: Any, arrays: Mapping[str, npt.NDArray[Any]], K: int, width: int) -> LinearPart:
        """Return the part of what `stored` returned, which may come from an untrusted file.

        Args:
            facts: of JSON.
            arrays: by name.
            K: number of classes; 0 for values.
            width: columns of the table.

        Raises:
            ValueError: what does not fit together.

        """
        outputs = max(K, 1)
        shapes = {"mean": (width,), "per_scale": (width,), "weights": (width, outputs), "offset": (outputs,)}
        if set(arrays) != set(shapes):
            raise ValueError(f"a linear part must have {', '.join(shapes)}; got {', '.join(arrays)}")
        for name, shape in shapes.items():
            array = arrays[name]
            if array.dtype != np.float64 or array.shape != shape or not np.isfinite(array).all():
                raise ValueError(f"`{name}` of a linear part must be finite numbers of shape {shape}")
        temperature = facts["temperature"]
        if not isinstance(temperature, float) or not 1e-6 < temperature < 1e3:
            raise ValueError(f"`temperature` of a linear part must be a number over 0; got {temperature!r}")
        return LinearPart(K, temperature, **arrays)
