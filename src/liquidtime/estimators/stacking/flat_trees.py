"""Fitted trees as flat arrays: evaluated without the library that grew them, and stored without a pickle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int32]
_BLOCK = 1 << 20
"""Pairs of a row and a tree that are walked at once."""
_DEEPEST = 4096


@dataclass(frozen=True, eq=False)
class FlatTrees:
    """T trees of N nodes in all; a row goes left where its feature is at most the threshold.

    Args:
        roots: (T,) the first node of each tree.
        left: (N,) the next node; a leaf points to itself, and other nodes to later ones only, so every path ends.
        right: (N,) likewise.
        feature: (N,) the column that the node compares; 0 in leaves.
        threshold: (N,) the value that it is compared with; 0 in leaves.
        missing_left: (N,) whether NaN goes left.
        leaf: (N,) the row of `values` of a leaf; 0 in other nodes.
        values: (L, W) the predictions of the leaves.
    """

    roots: Integers
    left: Integers
    right: Integers
    feature: Integers
    threshold: Floats
    missing_left: npt.NDArray[np.bool_]
    leaf: Integers
    values: npt.NDArray[np.floating[Any]]

    def leaves(self, X: npt.NDArray[np.floating[Any]]) -> Integers:
        """Return (n, T) the row of `values` that each tree gives for each row.

        Args:
            X: (n, p) features, NaN where undefined.
        """
        n, T = len(X), len(self.roots)
        answer = np.empty((n, T), dtype=np.int32)
        size = max(1, _BLOCK // max(T, 1))
        for begin in range(0, n, size):
            rows = np.arange(begin, min(begin + size, n))
            answer[rows] = self._walk(X[rows])
        return answer

    def _walk(self, X: npt.NDArray[np.floating[Any]]) -> Integers:
        n, T = len(X), len(self.roots)
        node = np.tile(self.roots, n)
        active = np.flatnonzero(self.left[node] != node)
        while len(active):
            here = node[active]
            value = X[active // T, self.feature[here]]
            goes_left = np.where(np.isnan(value), self.missing_left[here], value <= self.threshold[here])
            there = np.where(goes_left, self.left[here], self.right[here])
            node[active] = there
            active = active[self.left[there] != there]
        return self.leaf[node].reshape(n, T)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @staticmethod
    def from_arrays(arrays: Mapping[str, npt.NDArray[Any]], columns: int) -> FlatTrees:
        """Return the trees of arrays that may come from an untrusted file.

        Args:
            arrays: as `to_arrays` returned them.
            columns: p, the number of columns of the tables that they will read.

        Raises:
            ValueError: arrays of other names, types or sizes, a path that does not end, a number that is not finite.

        """
        kinds = {
            "roots": np.int32, "left": np.int32, "right": np.int32, "feature": np.int32, "threshold": np.float64,
            "missing_left": np.bool_, "leaf": np.int32,
        }  # fmt: skip
        if set(arrays) != {*kinds, "values"}:
            raise ValueError(f"trees must have the arrays {', '.join((*kinds, 'values'))}; got {', '.join(arrays)}")
        for name, kind in kinds.items():
            if arrays[name].dtype != kind or arrays[name].ndim != 1:
                raise ValueError(f"`{name}` of trees must be one row of {np.dtype(kind)}")
        trees = FlatTrees(**arrays)
        N, values = len(trees.left), trees.values
        if any(len(arrays[name]) != N for name in kinds if name != "roots") or not len(trees.roots):
            raise ValueError("the nodes of trees must have one number in each array, and there must be a root")
        if values.dtype.kind != "f" or values.ndim != 2 or 0 in values.shape:
            raise ValueError("`values` of trees must be a table of numbers")
        order = np.arange(N)
        is_leaf = (trees.left == order) & (trees.right == order)
        onward = (trees.left > order) & (trees.right > order) & (trees.left < N) & (trees.right < N)
        inside = [
            (is_leaf | onward).all(),
            _within(trees.roots, N),
            _within(trees.feature, columns) or bool(is_leaf.all()),
            _within(trees.leaf, len(values)),
            bool(np.isfinite(trees.threshold).all()) and bool(np.isfinite(values).all()),
        ]
        if not all(inside):
            raise ValueError("trees must lead from each node to later nodes or to leaves, by existing features")
        trees._refuse_others_than_trees(~is_leaf)
        return trees

    def _refuse_others_than_trees(self, splits: npt.NDArray[np.bool_]) -> None:
        """Refuse nodes with several parents or none, roots with a parent, and paths of unreasonable length."""
        split = np.flatnonzero(splits)
        parents = np.bincount(np.concatenate([self.left[split], self.right[split]]), minlength=len(self.left))
        parents[self.roots] += 1
        if (parents != 1).any():
            raise ValueError("every node of trees must be a root or follow exactly one other")
        level = self.roots
        for _ in range(_DEEPEST):
            level = level[splits[level]]
            if len(level) == 0:
                return
            level = np.concatenate([self.left[level], self.right[level]])
        raise ValueError(f"trees must have at most {_DEEPEST:,} nodes in a walk")


def boosted(model: Any, rounds: int) -> FlatTrees:
    """Return the trees of a fitted HistGradientBoosting model, round after round and output after output.

    Args:
        model: fitted, without categorical features.
        rounds: number of boosting rounds, counted from the first.
    """
    tables = [tree.nodes for round_ in model._predictors[:rounds] for tree in round_]
    for nodes in tables:
        if nodes["is_categorical"].any():
            raise ValueError("trees with categorical features cannot be stored; give them as numbers")
    return _joined(
        [
            {
                "left": nodes["left"], "right": nodes["right"], "feature": nodes["feature_idx"],
                "threshold": nodes["num_threshold"], "missing_left": nodes["missing_go_to_left"],
                "is_leaf": nodes["is_leaf"], "values": nodes["value"][:, None],
            }
            for nodes in tables
        ]
    )  # fmt: skip


def grown(trees: Sequence[Any]) -> FlatTrees:
    """Return the trees of a fitted forest of scikit-learn; their predictions are rounded to float32.

    Args:
        trees: the forest's `estimators_`, or some of them.
    """
    tables = [tree.tree_ for tree in trees]
    return _joined(
        [
            {
                "left": tree.children_left, "right": tree.children_right, "feature": tree.feature,
                "threshold": tree.threshold, "missing_left": np.zeros(tree.node_count, dtype=np.bool_),
                "is_leaf": tree.children_left < 0, "values": tree.value[:, 0, :].astype(np.float32),
            }
            for tree in tables
        ]
    )  # fmt: skip


def _joined(tables: Sequence[Mapping[str, npt.NDArray[Any]]]) -> FlatTrees:
    """Return several trees, each with its own node numbers, as one set of arrays."""
    sizes = [len(table["left"]) for table in tables]
    roots = np.cumsum([0, *sizes[:-1]])
    columns: dict[str, list[npt.NDArray[Any]]] = {field.name: [] for field in fields(FlatTrees)}
    leaves = 0
    for table, root in zip(tables, roots.tolist(), strict=True):
        is_leaf = table["is_leaf"].astype(np.bool_)
        order = np.arange(len(is_leaf)) + root
        for side in ("left", "right"):
            columns[side].append(np.where(is_leaf, order, table[side].astype(np.int64) + root))
        columns["feature"].append(np.where(is_leaf, 0, table["feature"]))
        columns["threshold"].append(_finite(np.where(is_leaf, 0.0, table["threshold"])))
        columns["missing_left"].append(table["missing_left"].astype(np.bool_))
        columns["leaf"].append(np.where(is_leaf, leaves + np.cumsum(is_leaf) - 1, 0))
        columns["values"].append(table["values"][is_leaf])
        leaves += int(is_leaf.sum())
    whole = {name: np.concatenate(parts) for name, parts in columns.items() if name != "roots"}
    numbers = {name: whole[name].astype(np.int32) for name in ("left", "right", "feature", "leaf")}
    return FlatTrees(**{**whole, **numbers, "roots": roots.astype(np.int32)})


def _finite(thresholds: Floats) -> Floats:
    """Return thresholds with infinity replaced by the largest number; boosting uses it to separate missing values."""
    return np.clip(thresholds, np.finfo(np.float64).min, np.finfo(np.float64).max)


def _within(numbers: Integers, count: int) -> bool:
    return len(numbers) == 0 or bool(numbers.min() >= 0 and numbers.max() < count)
