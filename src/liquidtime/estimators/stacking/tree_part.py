"""Boosting and extra trees as parts of a stack: grown by scikit-learn, kept as flat arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.features import Trees
from liquidtime.baselines.features.temperature import log_scores, tempered
from liquidtime.estimators.stacking.flat_trees import FlatTrees, boosted, grown

Floats = npt.NDArray[np.float64]
_FOREST = 300
"""Trees of all forests of a part together: each forest of a fold gives its first ones."""


@dataclass(frozen=True, eq=False)
class TreeMember:
    """Trees that were grown on the training rows of one fold.

    Args:
        columns: (p,) the columns of the table that they take.
        classes: (C,) the classes that they know, among 0…K - 1; empty for values.
        baseline: (C',) what boosting starts from: C' of two classes or of values is 1; empty for forests.
        trees: the trees; of boosting round after round, each of C' trees.
    """

    columns: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]
    baseline: Floats
    trees: FlatTrees

    def predict(self, X: Floats, K: int) -> Floats:
        """Return (n, K) probabilities, or (n, 1) values.

        Args:
            X: (n, p') the table.
            K: number of classes; 0 for values.
        """
        table, values = X[:, self.columns], self.trees.values
        found: Floats
        if len(self.baseline) == 0:
            found = values[self.trees.leaves(table.astype(np.float32))].mean(axis=1, dtype=np.float64)
        else:
            scores = values[self.trees.leaves(table), 0].reshape(len(X), -1, len(self.baseline))
            found = self.baseline + scores.sum(axis=1)
            if K and len(self.baseline) == 1:
                found = np.concatenate([np.zeros_like(found), found], axis=1)
            if K:
                found = tempered(found, 1.0)
        if K == 0:
            return found
        whole = np.zeros((len(X), K))
        whole[:, self.classes] = found
        return whole

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by name."""
        return {
            "columns": self.columns, "classes": self.classes, "baseline": self.baseline,
            **{f"trees.{name}": array for name, array in self.trees.to_arrays().items()},
        }  # fmt: skip

    @staticmethod
    def from_arrays(arrays: Mapping[str, npt.NDArray[Any]], K: int, width: int) -> TreeMember:
        """Return the member of arrays that may come from an untrusted file.

        Args:
            arrays: as `to_arrays` returned them.
            K: number of classes; 0 for values.
            width: columns of the table.

        Raises:
            ValueError: arrays that do not fit together.

        """
        own = {name: array for name, array in arrays.items() if not name.startswith("trees.")}
        if set(own) != {"columns", "classes", "baseline"}:
            raise ValueError(f"a member of trees must have columns, classes and baseline; got {', '.join(own)}")
        columns, classes, baseline = own["columns"], own["classes"], own["baseline"]
        whole = all(array.dtype == np.int64 and array.ndim == 1 for array in (columns, classes))
        if not whole or baseline.dtype != np.float64 or baseline.ndim != 1 or not np.isfinite(baseline).all():
            raise ValueError("`columns`, `classes` and `baseline` of trees must be rows of numbers")
        rising = all(bool((np.diff(array) > 0).all()) for array in (columns, classes))
        if not rising or any(len(a) and (a[0] < 0 or a[-1] >= n) for a, n in ((columns, width), (classes, K))):
            raise ValueError("`columns` and `classes` of trees must be distinct and exist")
        trees = FlatTrees.from_arrays(
            {name[6:]: array for name, array in arrays.items() if name.startswith("trees.")}, len(columns)
        )
        outputs = 1 if K == 0 else len(classes)
        if K and outputs < 2:
            raise ValueError("`classes` of trees must be at least two")
        if len(baseline) == 0:
            fits = trees.values.shape[1] == outputs
        else:
            fits = len(baseline) == (1 if outputs == 2 else outputs) and len(trees.roots) % len(baseline) == 0
            fits = fits and trees.values.shape[1] == 1
        if not fits:
            raise ValueError("trees must have one output per class, or one in total")
        return TreeMember(columns, classes, baseline, trees)


@dataclass(frozen=True, eq=False)
class TreePart:
    """The mean of the members of all folds, of one target.

    Args:
        kind: "boosting" or "extra trees".
        K: number of classes; 0 for values.
        temperature: by which the logarithms of probabilities are divided.
        filling: (p,) what stands for NaN in forests; empty for boosting, which takes NaN.
        members: one per fold.
    """

    kind: str
    K: int
    temperature: float
    filling: Floats
    members: tuple[TreeMember, ...]

    @staticmethod
    def of(fitted: Trees) -> TreePart:
        """Return fitted trees as flat arrays.

        Args:
            fitted: to classes 0…K - 1, all of which it knows, or to values.
        """
        classify, forest = fitted.task == "classify", fitted.kind == "extra trees"
        each = -(-_FOREST // len(fitted.members_))
        members = []
        for columns, model in fitted.members_:
            classes = model.classes_.astype(np.int64) if classify else np.empty(0, dtype=np.int64)
            trees = grown(model.estimators_[:each]) if forest else boosted(model, fitted.rounds_)
            baseline = np.empty(0) if forest else np.asarray(model._baseline_prediction, dtype=np.float64).ravel()
            members.append(TreeMember(columns.astype(np.int64), classes, baseline, trees))
        return TreePart(
            fitted.kind,
            len(fitted.classes_) if classify else 0,
            float(fitted.temperature_),
            np.asarray(fitted.filling_, dtype=np.float64) if forest else np.empty(0),
            tuple(members),
        )

    def predict(self, X: Floats) -> Floats:
        """Return (n, K) probabilities, or (n, 1) values.

        Args:
            X: (n, p) features, NaN where undefined.
        """
        table = np.where(np.isnan(X), self.filling, X) if len(self.filling) else X
        mean: Floats = np.mean([member.predict(table, self.K) for member in self.members], axis=0)
        return tempered(log_scores(mean), self.temperature) if self.K else mean

    def stored(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return what JSON holds of the part, and its arrays by name."""
        arrays = {
            f"{place}.{name}": array
            for place, member in enumerate(self.members)
            for name, array in member.to_arrays().items()
        }
        return {"temperature": self.temperature, "members": len(self.members)}, {"filling": self.filling, **arrays}

    @staticmethod
    def restored(kind: str, facts: Any, arrays: Mapping[str, npt.NDArray[Any]], K: int, width: int) -> TreePart:
        """Return the part of what `stored` returned, which may come from an untrusted file.

        Args:
            kind: "boosting" or "extra trees".
            facts: of JSON.
            arrays: by name.
            K: number of classes; 0 for values.
            width: columns of the table.

        Raises:
            ValueError: what does not fit together.

        """
        count, temperature, filling = facts["members"], facts["temperature"], arrays["filling"]
        if type(count) is not int or not 1 <= count <= len(arrays):
            raise ValueError(f"`members` of {kind} must be at least 1, each with its arrays; got {count!r}")
        if not isinstance(temperature, float) or not 1e-3 < temperature < 1e3:
            raise ValueError(f"`temperature` of {kind} must be a number over 0; got {temperature!r}")
        if filling.dtype != np.float64 or filling.shape != ((width,) if kind == "extra trees" else (0,)):
            raise ValueError(f"`filling` of {kind} must have a number for each column")
        owners: dict[str, dict[str, npt.NDArray[Any]]] = {str(place): {} for place in range(count)}
        for name, array in arrays.items():
            owner, _, own = name.partition(".")
            if name != "filling":
                owners[owner][own] = array
        members = tuple(TreeMember.from_arrays(own, K, width) for own in owners.values())
        forests = {len(member.baseline) == 0 for member in members}
        if forests != {kind == "extra trees"} or not np.isfinite(filling).all():
            raise ValueError(f"the members of {kind} must be such trees")
        return TreePart(kind, K, temperature, filling, members)
