from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy.typing as npt

from liquidtime.tasks.comparison import Comparison, pooled
from liquidtime.tasks.prediction_table import Columns, prediction_table
from liquidtime.tasks.row_times import times_of_last_samples
from liquidtime.tasks.series_view import SeriesView

if TYPE_CHECKING:
    import polars

    from liquidtime.data import SeriesSet

Part = tuple["SeriesSet", Any]
"""Series with their targets, which are None if the task has none."""


class Task(ABC):
    """Something that can be predicted for series.

    A task has no state: one object is used for all models. It is used by `train_and_test`, by the commands `train`,
    `predict` and `evaluate`, and by the report.
    """

    name: ClassVar[str]
    """Name for `task=` and `--task`."""
    title: ClassVar[str]
    """Title in the heading of a report."""
    estimators: ClassVar[Sequence[type]]
    """Estimators that solve it; the first one consists of networks alone and takes the settings of networks."""
    stacked: ClassVar[type | None] = None
    """Estimator to use if there are no settings of networks; None for networks alone."""
    metrics: ClassVar[Sequence[str]]
    """Names in `liquidtime.training.METRICS`, which has their direction and titles."""
    has_target: ClassVar[bool] = True
    """Whether it predicts something other than the series, which a table of labels has."""
    takes_auxiliary: ClassVar[bool] = True
    """Whether its estimators take auxiliary targets."""
    unnamed_target: ClassVar[str] = ""
    """Name of what is predicted, if the target has no name."""
    unit: ClassVar[str] = ""
    """Unit of figures and of plotted values, as text, if it is not that of the target."""
    plots: ClassVar[Sequence[str]] = ()
    """Figures of the predictions in a report: names in `liquidtime.evaluation.report.score_plots.PLOTS`."""
    options: ClassVar[Sequence[str]] = ()
    """Names of the options of `predict`."""
    settings: ClassVar[Mapping[str, Any]] = {}
    """Settings of networks with which its first estimator solves this task."""
    several_targets: ClassVar[bool] = False
    """Whether the target is several columns of a table, one per label."""
    per_sample: ClassVar[bool] = False
    """Whether the target has one entry per sample, as one array per series."""
    explained: ClassVar[bool] = True
    """Whether `lt.explain` and reports look inside its models."""
    in_time: ClassVar[bool] = False
    """Whether a series may be trained on up to a certain time and tested on after it; such tests have no folds."""
    in_pieces: ClassVar[bool] = False
    """Whether a few long series may be cut, and each trained on up to a certain time and tested on pieces after it."""

    def __repr__(self) -> str:
        return f"<task {self.name}>"

    @abstractmethod
    def suggested_by(self, target: Any) -> str:
        """Return the reason why a target suggests this task, as text; "" if it does not."""

    @abstractmethod
    def check_target(self, target: Any, S: int) -> npt.NDArray[Any] | None:
        """Return the target of S series as an array, or refuse it; None if the task has none."""

    def check_estimator(self, model: Any) -> None:  # noqa: B027
        """Refuse settings of an estimator with which it does not solve this task."""

    def solved_by(self, model: Any) -> bool:
        """Return whether an estimator of one of the kinds in `estimators` has the settings that solve this task."""
        return all(getattr(model, name, value) == value for name, value in self.settings.items())

    def bring(self, target: Any, data: SeriesSet) -> Any:
        """Return a target in the form for `check_target`, with one entry per series."""
        return target

    def strata(self, target: Any) -> npt.NDArray[Any] | None:
        """Return (S,) strata, of which the training and test parts both get their share; None for none."""
        return None

    @abstractmethod
    def compare(self, model: Any, name: str, train: Part | None, test: Part, seed: int = 0) -> Comparison:
        """Test a model and the baselines on the same series.

        Args:
            model: model, fitted to `train`.
            name: name of the model in tables.
            train: series and targets to fit baselines to; None leaves out those that need it.
            test: series and targets to test on.
            seed: random seed of the baselines and of the bootstrap.
        """

    def pool(self, comparisons: Sequence[Comparison], seed: int, clusters: Any = None) -> Comparison:
        """Combine comparisons of different test rows into one, with figures for all rows together.

        Args:
            comparisons: results of `compare`.
            seed: random seed of the bootstrap.
            clusters: (n,) group of each row, which is resampled together; None for those of the comparisons.
        """
        return pooled(self.metrics, comparisons, seed, clusters)

    @abstractmethod
    def predict(self, model: Any, data: SeriesSet, **options: Any) -> Columns:
        """Return the columns of a table of predictions, with the ids of its rows under "".

        Args:
            model: fitted model.
            data: series.
            **options: options of the task, see `options`.
        """

    @abstractmethod
    def tested(self, model: Any, comparison: Comparison) -> Columns:
        """Return the columns of a table of the model's test predictions, like `predict`, with the truth."""

    @abstractmethod
    def views(self, model: Any, comparison: Comparison) -> list[SeriesView]:
        """Return the best and worst test series for a report, with their predictions over time."""

    def predict_each_sample(self, model: Any, data: SeriesSet, **options: Any) -> Columns:
        """Return the columns of a table of predictions after every sample, from the samples up to it.

        Args:
            model: fitted model.
            data: series.
            **options: options of the task, see `options`.

        Raises:
            ValueError: the task has one prediction per sample anyway, or none for samples.

        """
        raise ValueError(f"predictions after each sample are for models of one target per series, not of {self.name!r}")

    def table(
        self, model: Any, data: SeriesSet, id: str = "id", *, each_sample: bool = False, **options: Any
    ) -> polars.DataFrame:
        """Return a table of predictions, with the time of the last sample before each.

        Args:
            model: fitted model.
            data: series.
            id: name of the id column.
            each_sample: whether there is one row per sample, from the samples up to it, instead of one per series.
            **options: options of the task, see `options`.

        Raises:
            ValueError: an option is not one of the task's, or another column has the name of the id column.

        """
        for option in options:
            if option not in self.options:
                raise ValueError(f"`{option}` is not an option of the task {self.name!r}")
        columns = (self.predict_each_sample if each_sample else self.predict)(model, data, **options)
        if "time" not in columns and len(columns[""]) == len(data):
            columns = {"": columns[""], "time": times_of_last_samples(data), **columns}
        return prediction_table(id, columns)

    def estimator_for(self, settings: Mapping[str, Any], quick: bool = False) -> Any:
        """Return the default estimator: the stacked one, or networks alone.

        Args:
            settings: settings by name; one that only networks have selects networks alone.
            quick: whether to use networks alone.
        """
        known = [] if self.stacked is None else self.stacked._get_param_names()  # type: ignore[attr-defined]
        return self.stacked if not quick and known and all(name in known for name in settings) else self.estimators[0]

    def make(self, settings: Mapping[str, Any], quick: bool = False) -> Any:
        """Return the default estimator, not fitted; arguments as in `estimator_for`."""
        kind = self.estimator_for(settings, quick)
        own = self.settings if kind is self.estimators[0] else {}
        return kind(**{**own, **settings})

    def unknown_settings(self, settings: Mapping[str, Any], quick: bool = False) -> list[str]:
        """Return the names of settings that the selected estimator does not have."""
        known = self.estimator_for(settings, quick)._get_param_names()
        return [name for name in settings if name not in known]
