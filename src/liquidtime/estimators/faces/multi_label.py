from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from liquidtime.data import SeriesEncoder
from liquidtime.errors import wrong_shape
from liquidtime.estimators.faces.base import Evolution, SeriesEstimator
from liquidtime.estimators.network.budget import QUICK
from liquidtime.estimators.network.inputs import Prepared, SeriesBatch, as_series
from liquidtime.estimators.network.members import Part, groups_of, order_of
from liquidtime.estimators.network.weights import weight_tensor
from liquidtime.networks import Network
from liquidtime.training import Loss
from liquidtime.training.devices import moved, taken

Values = npt.NDArray[np.float64]


class CfCMultiLabelClassifier(ClassifierMixin, SeriesEstimator):  # type: ignore[misc]
    """Predict which of K labels each irregular series has, with one network for all of them.

        model = CfCMultiLabelClassifier().fit(data, y)       y (S, K) of 0, 1 and NaN if not known
        model.predict_proba(new)                             (S, K), the probability of each label

    The settings are those of `CfCClassifier`, without those for single classes. The budget is "quick" unless you set
    `budget="search"`.

    Args:
        labels: names of the K labels; None for those of the columns of `y` if it is a data frame, otherwise 0…K - 1.

    Attributes:
        n_labels_: K.
        classes_: (K,) the names of the labels.
        encoder_: the fitted `SeriesEncoder` of the first network.
        networks_: the trained networks.
        seed_: the random seed that was used.
    """

    _kind: ClassVar[str] = "CfCMultiLabelClassifier"
    _purpose: ClassVar[str] = "predicts which labels irregular series have"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        return tags

    def __init__(
        self,
        network: Network = "cfc",
        hidden_size: int = 32,
        backbone_units: int = 64,
        num_layers: int = 1,
        read_out_units: int = 128,
        dropout: float = 0.5,
        channel_dropout: float | None = None,
        bin_width: float | str | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float = 1e-2,
        validation_fraction: float = 0.0,
        patience: int = 0,
        n_estimators: int = 1,
        budget: str = QUICK,
        front_end: str | None = None,
        summary: str | None = None,
        labels: Sequence[str] | None = None,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        super().__init__(
            network=network, hidden_size=hidden_size, backbone_units=backbone_units, num_layers=num_layers,
            read_out_units=read_out_units, dropout=dropout, channel_dropout=channel_dropout, bin_width=bin_width,
            epochs=epochs, batch_size=batch_size, learning_rate=learning_rate, weight_decay=weight_decay,
            validation_fraction=validation_fraction, patience=patience, n_estimators=n_estimators,
            budget=budget, front_end=front_end, summary=summary, random_state=random_state, device=device,
            verbose=verbose,
        )  # fmt: skip
        self.labels = labels

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.labels is None:
            return
        names = list(self.labels) if not isinstance(self.labels, str) else []
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise ValueError(f"`labels` must be distinct names, one per label; got {self.labels!r}")

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        order: Any = None,
        folder: str | Path | None = None,
        resume: bool = False,
    ) -> CfCMultiLabelClassifier:
        """Train on series X with their labels y.

        Args:
            X: a `SeriesSet`, (S, T), (S, T, C), or a list of (times, values).
            y: (S, K) 1 if a series has a label, 0 if it does not, NaN if not known.
            sample_weight: (S,) weight of each series in training; None for equal weights.
            groups: (S,) group of each series, which held-out folds never split; None for no groups.
            order: (S,) date or order of each series, so that later ones are held out; None for no order.
            folder: folder for checkpoints and the log of the run.
            resume: resume the run in `folder`.

        Raises:
            ValueError: labels are not 0, 1 or NaN, or a label has only one of 0 and 1.

        """
        data = as_series(self, X, reset=True)
        table = checked_label_table(y, len(data))
        self._check_settings()
        self._take_names(table.shape[1], getattr(y, "columns", None))
        for name, column in zip(self.classes_, table.T, strict=True):
            if len(np.unique(column[~np.isnan(column)])) < 2:
                raise ValueError(f"`y` must have both 0 and 1 for every label; label {name} has only one of them")
        rows = weight_tensor(sample_weight, len(data))
        several = groups_of(groups, len(data)), order_of(order, len(data))
        train, back = self._hold_back(len(data), None, *several, False)
        judges = (data[back], torch.from_numpy(table[back]).float()) if len(back) else None
        if judges is not None:
            data, table, rows = data[train], table[train], None if rows is None else rows[train]
            apart, when = (None if each is None else each[train] for each in several)
            several = apart, when
        wanted = torch.from_numpy(table).float()
        self._fit_encoders(data)

        def parts(encoder: SeriesEncoder) -> tuple[Part, Part | None]:
            held = None if judges is None else Part(Prepared.of(encoder, judges[0], device=self.device), judges[1])
            return Part(Prepared.of(encoder, data, device=self.device), wanted), held

        def loss_of(network: nn.Module, sample: SeriesBatch, target: Tensor) -> Loss:
            truth = target[sample.rows]
            known = torch.isfinite(truth)
            each = torch.ones_like(truth)
            if rows is not None and target is wanted:  # series that choose the best epoch have no weights
                each = rows[sample.rows].unsqueeze(1).expand(truth.shape)
            logits = taken(network(*sample[:5]), known)
            answers, weights = (moved(part[known], logits.device) for part in (truth, each))
            loss = binary_cross_entropy_with_logits(logits, answers, weights, reduction="sum")
            return Loss(loss, each[known].sum())

        run = {"folder": folder, "resume": resume}
        self._fit_members(parts, self.n_labels_, loss_of, None, run, None, *several)
        return self

    def _take_names(self, K: int, columns: Any = None) -> None:
        """Set the number of labels and their names: those of the settings, or of columns, or numbers."""
        names = columns if self.labels is None else self.labels
        if self.labels is not None and len(self.labels) != K:
            raise ValueError(f"`labels` must be as many names as `y` has columns, {K}; got {len(self.labels)}")
        self.n_labels_ = K
        self.classes_ = np.arange(K) if names is None else np.array([str(name) for name in names])

    def predict_proba(self, X: Any) -> Values:
        """Return (S, K) the probability of each label, the mean over the networks."""
        return self._outputs(self.encode(X), torch.sigmoid)

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """Return (S, K) 1 if a label is more probable than not, otherwise 0."""
        return (self.predict_proba(X) >= 0.5).astype(np.int64)

    def evolve(self, X: Any, points: int | None = None) -> Evolution:
        """Return the probabilities after every step of every series, from the samples up to it.

        Args:
            X: series like those of `fit`.
            points: largest number of steps per series with a prediction, evenly spread, including the last; None for
                all. It bounds the work of networks that read whole series, which read every prefix again.
        """
        return self._evolution_at(X, torch.sigmoid, points)

    def update(self, id: Any, t: Any, values: Any, *, static: Mapping[str, Any] | None = None) -> Values:
        """Take one sample of the live series `id` and return (K,) its probabilities; see `CfCClassifier.update`."""
        chances: Values = torch.sigmoid(self._update(id, t, values, static)).mean(dim=0).double().numpy()
        return chances

    def _learned(self) -> dict[str, Any]:
        names = {} if self.classes_.dtype.kind == "i" else {"names": self.classes_.tolist()}
        return {"labels": self.n_labels_, **names}

    def _relearn(self, facts: Mapping[str, Any]) -> int:
        K = facts["labels"]
        if type(K) is not int or K < 1:
            raise ValueError(f"`labels` must be a whole number of at least 1; got {K!r}")
        names = facts.get("names")
        if names is not None and (not isinstance(names, list) or len(set(map(str, names))) != K):
            raise ValueError(f"`names` of labels must be {K} different ones; got {names!r}")
        self._take_names(K, names)
        return K


def checked_label_table(y: Any, S: int) -> Values:
    """Return (S, K) labels 0, 1 and NaN, or refuse them."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None: a column per label.")
    table = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y).astype(np.float64)
    if table.ndim != 2 or len(table) != S or table.shape[1] < 1:
        raise wrong_shape("y", "(S, K)", [S, "K"], table.shape, "One column per label.")
    strange = ~(np.isnan(table) | (table == 0) | (table == 1))
    if strange.any():
        row, column = (int(place[0]) for place in np.nonzero(strange))
        raise ValueError(
            f"`y` must be 0 or 1, or NaN if not known; {int(strange.sum())} are something else, the first is "
            f"{table[row, column]:g} of label {getattr(y, 'columns', range(table.shape[1]))[column]} in row {row}"
        )
    return table
