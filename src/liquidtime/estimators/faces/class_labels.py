"""Checks of classes passed by callers, one per series or one per sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from liquidtime.data import SeriesSet, check_classes
from liquidtime.errors import wrong_shape

Labels = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]


def checked_labels(y: Any, data: SeriesSet) -> Labels:
    """Check the classes of a set of series, at least two different ones; return them as (S,)."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None: one class per series.")
    labels = one_dimensional(y, len(data))
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
        broken = labels[labels != np.floor(labels)]
        if len(broken):
            raise ValueError(
                f"Unknown label type: continuous. `y` must hold classes; got numbers such as {float(broken[0])!r}. To "
                "predict values, use a regressor; if these numbers name classes, pass them as texts, y.astype(str)."
            )
    check_classification_targets(labels)
    if len(set(labels.tolist())) == 1:
        raise ValueError(f"`y` must have at least two classes; got one class, {str(labels[0])!r}, {len(labels)} times")
    return check_classes(labels, len(data))


def one_dimensional(y: Any, S: int) -> Labels:
    """Return the labels as an (S,) array; a column (S, 1) is taken with scikit-learn's warning."""
    labels = column_or_1d(y, warn=True)
    if len(labels) != S:
        raise ValueError(f"`y` must have one class per series, {S}; got {len(labels)}")
    return np.asarray(labels)


def sample_labels(y: Any, data: SeriesSet) -> tuple[Labels, npt.NDArray[np.bool_]]:
    """Return (N,) one label per sample, and where it is known: not None, NaN or an empty text.

    Args:
        y: (N,); (S, T) for arrays; or a list or array of S arrays with one label per sample.
        data: the series.

    Raises:
        ValueError: the number of labels differs from that of samples; the message names the first such series.

    """
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None: one class per sample.")
    labels = flat_labels(y, data)
    known = np.array([item is not None and item == item and item != "" for item in labels.tolist()], dtype=bool)
    return labels, known


def flat_labels(y: Any, data: SeriesSet) -> Labels:
    """Return labels of samples as one (N,) array; arguments as of `sample_labels`."""
    S, N = len(data), len(data.times)
    parts = y.to_numpy() if hasattr(y, "to_numpy") else y
    nested = isinstance(parts, list) or (isinstance(parts, np.ndarray) and parts.dtype == object)
    if nested and len(parts) == S and all(np.ndim(part) == 1 for part in parts):
        for series, (part, length) in enumerate(zip(parts, data.lengths.tolist(), strict=True)):
            if len(part) != length:
                raise ValueError(
                    f"`y` must have one class per sample; series {data.ids[series]} has {length} samples and "
                    f"{len(part)} classes"
                )
        arrays = [np.asarray(part) for part in parts if len(part)]
        return np.concatenate(arrays) if arrays else np.empty(0, dtype=object)
    table = np.asarray(parts)
    if table.ndim == 2 and len(table) == S and table.size == N:
        table = table.reshape(N)
    if table.shape != (N,):
        raise wrong_shape("y", "(N,)", [N], table.shape, "One class per sample, None if not known.")
    return table


def codes_of_samples(labels: Labels, known: npt.NDArray[np.bool_]) -> tuple[Labels, Codes]:
    """Return (C,) the sorted classes and (N,) the place of each label among them, -1 if it is not known.

    Raises:
        ValueError: fewer than two classes.

    """
    seen = labels[known]
    if seen.dtype == object:
        kinds = {type(item) for item in seen.tolist()}
        seen = seen.astype(np.str_) if str in kinds else np.array(seen.tolist())
    check_classification_targets(seen)
    classes, places = np.unique(seen, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"`y` must have at least two classes; {len(seen)} samples have {len(classes)}")
    codes = np.full(len(labels), -1, dtype=np.int64)
    codes[known] = places
    return classes, codes


def places_of(labels: Labels, classes: Labels, argument: str = "validation") -> Codes:
    """Return the places of labels among sorted classes.

    Raises:
        ValueError: a label is not one of the classes.

    """
    places = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    strange = labels[classes[places] != labels]
    if len(strange):
        raise ValueError(
            f"`{argument}` must have classes of training ({', '.join(map(str, classes[:10]))}); "
            f"{len(strange)} of its labels are not among them, the first is {str(strange[0])!r}"
        )
    return places.astype(np.int64)


def plain_dtype(classes: list[Any], kind: str) -> Any:
    """Return the type of stored classes: texts as wide as they are, or numbers of at most eight bytes."""
    texts, numbers = (all(isinstance(item, allowed) for item in classes) for allowed in (str, int | float | bool))
    if kind[1:2] in ("U", "O") and texts:
        return object if kind[1:2] == "O" else np.str_
    if kind[1:] in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8") and numbers:
        return np.dtype(kind)
    raise ValueError(f"`classes` must be numbers or texts of a plain type; got {kind!r}")
