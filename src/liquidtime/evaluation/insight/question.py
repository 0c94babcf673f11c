"""Questions to a model that is explained: one row of numbers per series, and their losses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from liquidtime.data import SeriesSet
from liquidtime.data.encoding.future_times import last_times
from liquidtime.estimators.faces.base import SeriesEstimator
from liquidtime.estimators.faces.class_labels import sample_labels
from liquidtime.estimators.faces.forecast_test import forecast_test
from liquidtime.tasks import task_of
from liquidtime.tasks.classification import codes_of
from liquidtime.tasks.per_sample import by_series, of_samples

Floats = npt.NDArray[np.float64]
_TINY = 1e-15


class Question(ABC):
    """The question to one kind of model.

    Args:
        model: fitted model.
    """

    measure: str
    """Name of the loss of a series."""
    has_target = True
    """Whether the truth is separate from the series."""

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the W numbers of an answer."""

    @abstractmethod
    def answers(self, data: SeriesSet, at: Floats | None = None) -> Floats:
        """Return (S, W) the predictions of the model for each series.

        Args:
            data: S series.
            at: (S,) the present time of each series, at or after its last sample, where forecasts start. None for the
                time of its last sample.
        """

    @abstractmethod
    def prepare(self, data: SeriesSet, target: Any) -> tuple[SeriesSet, Any]:
        """Return the series for the model to read, and their truth in the form for `losses`."""

    @abstractmethod
    def losses(self, data: SeriesSet, truth: Any) -> Floats:
        """Return (S,) the loss of the model for each series."""

    def focus(self, answers: Floats) -> int:
        """Return which of the W numbers of one answer (W,) is explained by default: the largest."""
        return int(answers.argmax())


class ClassQuestion(Question):
    """Asks for the probability of each class."""

    measure = "log loss"

    @property
    def names(self) -> tuple[str, ...]:
        """The classes."""
        return tuple(str(label) for label in self.model.classes_)

    def answers(self, data: SeriesSet, at: Floats | None = None) -> Floats:
        """Return (S, C) probabilities."""
        chances: Floats = self.model.predict_proba(data)
        return chances

    def prepare(self, data: SeriesSet, target: Any) -> tuple[SeriesSet, Any]:
        """Return the series, and the positions of their classes."""
        return data, codes_of(target, self.model.classes_)

    def losses(self, data: SeriesSet, truth: Any) -> Floats:
        """Return the negative logarithm of the probability of the true class."""
        chances = self.answers(data)[np.arange(len(truth)), truth]
        surprise: Floats = -np.log(np.clip(chances, _TINY, 1.0))
        return surprise

    def focus(self, answers: Floats) -> int:
        """Return the second of two classes, or the most probable of more."""
        return 1 if len(answers) == 2 else int(answers.argmax())


class LabelQuestion(Question):
    """Asks for the probability of each of several labels."""

    measure = "log loss"

    @property
    def names(self) -> tuple[str, ...]:
        """The labels."""
        return tuple(f"label {place}" for place in range(self.model.n_labels_))

    def answers(self, data: SeriesSet, at: Floats | None = None) -> Floats:
        """Return (S, K) probabilities."""
        chances: Floats = self.model.predict_proba(data)
        return chances

    def prepare(self, data: SeriesSet, target: Any) -> tuple[SeriesSet, Any]:
        """Return the series, and (S, K) whether they have each label, NaN if not known."""
        return data, task_of(self.model).check_target(target, len(data))

    def losses(self, data: SeriesSet, truth: Any) -> Floats:
        """Return the mean of the negative logarithm of the probability of the truth, over the known labels."""
        chances = self.answers(data)
        known = ~np.isnan(truth)
        surprise = -np.log(np.clip(np.where(truth == 1, chances, 1.0 - chances), _TINY, 1.0))
        means: Floats = np.where(known, surprise, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        return means


class SampleQuestion(ClassQuestion):
    """Asks for the class of the last sample of a series; the loss is that of all samples whose class is known."""

    measure = "log loss of the samples"

    def answers(self, data: SeriesSet, at: Floats | None = None) -> Floats:
        """Return (S, C) the probabilities of the last sample; NaN for a series without samples."""
        return _last_rows(data, self.model.predict_proba(data), len(self.model.classes_))

    def prepare(self, data: SeriesSet, target: Any) -> tuple[SeriesSet, Any]:
        """Return the series, and (N,) the position of each sample's class, -1 if it is not known."""
        labels, known = sample_labels(by_series(target, data), data)
        codes = np.full(len(known), -1, dtype=np.int64)
        codes[known] = codes_of(labels[known], self.model.classes_)
        return data, codes

    def losses(self, data: SeriesSet, truth: Any) -> Floats:
        """Return the mean over the samples of each series; 0 if no class is known."""
        known = truth >= 0
        chances = self.model.predict_proba(data)[known, truth[known]]
        return _means(data, known, -np.log(np.clip(chances, _TINY, 1.0)))


class ValueQuestion(Question):
    """Asks for values."""

    measure = "absolute error"

    @property
    def names(self) -> tuple[str, ...]:
        """The outputs, by number if there are several."""
        K = getattr(self.model, "n_outputs_", 0)
        return ("prediction",) if K == 0 else tuple(f"output {place}" for place in range(K))

    def answers(self, data: SeriesSet, at: Floats | None = None) -> Floats:
        """Return (S, K) values."""
        values: Floats = np.asarray(self.model.predict(data), dtype=np.float64).reshape(len(data), -1)
        return values

    def prepare(self, data: SeriesSet, target: Any) -> tuple[SeriesSet, Any]:
        """Return the series, and their values (S, K)."""
        truth = task_of(self.model).check_target(target, len(data))
        assert truth is not None
        return data, truth.reshape(len(data), -1)

    def losses(self, data: SeriesSet, truth: Any) -> Floats:
        """Return the mean absolute error over the outputs."""
        errors: Floats = np.abs(self.answers(data) - truth).mean(axis=1)
        return errors

    def focus(self, answers: Floats) -> int:
        """Return the first output."""
        return 0


class SampleValueQuestion(ValueQuestion):
    """Asks for the values of the last sample of a series; the loss is that of all samples whose value is known."""

    measure = "absolute error of the samples"

    def answers(self, data: SeriesSet, at: Floats | None = None) -> Floats:
        """Return (S, K) the values of the last sample; NaN for a series without samples."""
        return _last_rows(data, self._samples(data), len(self.names))

    def prepare(self, data: SeriesSet, target: Any) -> tuple[SeriesSet, Any]:
        """Return the series, and (N, K) the values of every sample, NaN if not known."""
        parts = by_series(target, data)
        flat = np.concatenate([np.asarray(part, dtype=np.float64) for part in parts]) if of_samples(parts) else target
        truth = np.asarray(flat, dtype=np.float64).reshape(-1, len(self.names))
        if len(truth) != len(data.times):
            raise ValueError(f"`target` must have one row per sample, N = {len(data.times)}; got {len(truth)}")
        return data, truth

    def losses(self, data: SeriesSet, truth: Any) -> Floats:
        """Return the mean over the samples of each series; 0 if no value is known."""
        away = np.abs(self._samples(data) - truth)
        known = ~np.isnan(away).all(axis=1)
        return _means(data, known, np.nanmean(away[known], axis=1))

    def _samples(self, data: SeriesSet) -> Floats:
        values: Floats = np.asarray(self.model.predict(data), dtype=np.float64).reshape(len(data.times), -1)
        return values


class ForecastQuestion(Question):
    """Asks for the channels at the longest horizon of training."""

    measure = "absolute error in standard deviations"
    has_target = False

    @property
    def names(self) -> tuple[str, ...]:
        """The channels that are forecast."""
        return tuple(self.model.channels_)

    def answers(self, data: SeriesSet, at: Floats | None = None) -> Floats:
        """Return (S, C) forecasts for the usual horizon after `at`."""
        ahead = getattr(self.model, "horizon_", self.model.encoder_.time_scale_)
        now = last_times(data) if at is None else at
        values: Floats = self.model.predict(data, (now + ahead)[:, None])[:, 0]
        return values

    def prepare(self, data: SeriesSet, target: Any) -> tuple[SeriesSet, Any]:
        """Return the series up to a cut, and the measurements after it."""
        test = forecast_test(self.model, data)
        truth = [self.model._standardised(values) for values in test.truth]
        return test.past.data, (test.times, truth)

    def losses(self, data: SeriesSet, truth: Any) -> Floats:
        """Return the mean absolute error of each series in standard deviations of the channels."""
        times, wanted = truth
        forecasts = self.model.predict(data, times)
        return np.array(
            [
                np.nanmean(np.abs(self.model._standardised(said) - measured))
                for said, measured in zip(forecasts, wanted, strict=True)
            ]
        )

    def focus(self, answers: Floats) -> int:
        """Return the first channel."""
        return 0


def _last_rows(data: SeriesSet, rows: Floats, width: int) -> Floats:
    """Return (S, W) the rows of (N, W) of each series' last sample; NaN for a series without samples."""
    said = np.full((len(data), width), np.nan)
    some = data.lengths > 0
    said[some] = rows[data.offsets[1:][some] - 1]
    return said


def _means(data: SeriesSet, known: npt.NDArray[np.bool_], losses: Floats) -> Floats:
    """Return (S,) the mean loss of each series over its known samples (N,); 0 if there are none."""
    owners = np.repeat(np.arange(len(data)), data.lengths)[known]
    means: Floats = np.bincount(owners, losses, len(data)) / np.maximum(np.bincount(owners, minlength=len(data)), 1)
    return means


def question_of(model: Any) -> Question:
    """Return the question to a fitted model.

    Raises:
        NotFittedError: it is not fitted.
        TypeError: it is not an estimator of a task.
        ValueError: models of its task are not explained.

    """
    task = task_of(model)
    check_is_fitted(model)
    if not task.explained:
        raise ValueError(f"`model` is of the task {task.name!r}, whose models are not explained")
    if task.per_sample:
        return SampleQuestion(model)
    if task.several_targets:
        return LabelQuestion(model)
    if hasattr(model, "predict_proba"):
        return ClassQuestion(model)
    if getattr(model, "per_step", False):
        return SampleValueQuestion(model)
    return ValueQuestion(model) if task.has_target else ForecastQuestion(model)


def networks_of(model: Any) -> SeriesEstimator:
    """Return the estimator that has the networks: that inside a stacked model, otherwise the model itself."""
    networks: SeriesEstimator = getattr(model, "cfc_", model)
    return networks
