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
"""Some series with their targets, None where the task has none."""


class Task(ABC):
    """Something that can be predicted of series.

    A task has no state: one object serves every model. What it says is read by `train_and_test`, by the commands
    `train`, `predict` and `evaluate`, and by the report.
    """

    name: ClassVar[str]
    """As `task=` and `--task` write it."""
    title: ClassVar[str]
    """As the heading of a report writes it."""
    estimators: ClassVar[Sequence[type]]
    """The estimators that solve it; the first one is that of networks alone, which takes the settings of networks."""
    stacked: ClassVar[type | None] = None
    """The estimator that is taken where no setting of networks is asked for; None for networks alone."""
    metrics: ClassVar[Sequence[str]]
    """Names in `liquidtime.training.METRICS`, which say their direction and labels."""
    has_target: ClassVar[bool] = True
    """Whether it predicts something beside the series themselves, which a table of labels has."""
    takes_auxiliary: ClassVar[bool] = True
    """Whether its estimators take auxiliary targets."""
    unnamed_target: ClassVar[str] = ""
    """What is predicted, in words, where nobody has named it."""
    unit: ClassVar[str] = ""
    """The unit of figures and of plotted values, in words, where it is not that of the target."""
    plots: ClassVar[Sequence[str]] = ()
    """What a report draws of the predictions: names in `liquidtime.evaluation.report.score_plots.PLOTS`."""
    options: ClassVar[Sequence[str]] = ()
    """What `predict` may be asked for besides the series, by name."""
    settings: ClassVar[Mapping[str, Any]] = {}
    """Settings of networks that make its first estimator solve this task."""
    several_targets: ClassVar[bool] = False
    """Whether the target is several columns of a table, one for each label."""
    per_sample: ClassVar[bool] = False
    """Whether the target has one entry for every sample, kept as one array per series."""
    explained: ClassVar[bool] = True
    """Whether `lt.explain` and reports look inside its models."""
    in_time: ClassVar[bool] = False
    """Whether a series may be trained on up to some time and tested on after it; such tests have no folds."""
    in_pieces: ClassVar[bool] = False
    """Whether a few long series may be cut, each trained on up to some time and tested on pieces of what follows."""

    def __repr__(self) -> str:
        return f"<task {self.name}>"

    @abstractmethod
    def suggested_by(self, target: Any) -> str:
        """Return why a target suggests this task, in words; "" if it does not."""

    @abstractmethod
    def check_target(self, target: Any, S: int) -> npt.NDArray[Any] | None:
        """Return the target of S series as an array, or refuse it; None where the task has none."""

    def check_estimator(self, model: Any) -> None:  # noqa: B027
        """Refuse settings of an estimator under which it does not solve this task."""

    def solved_by(self, model: Any) -> bool:
        """Return whether an estimator of one of the kinds in `estimators` has the settings that solve this task."""
        return all(getattr(model, name, value) == value for name, value in self.settings.items())

    def bring(self, target: Any, data: SeriesSet) -> Any:
        """Return a target as `check_target` takes it, one entry per series, from how it came."""
        return target

    def strata(self, target: Any) -> npt.NDArray[Any] | None:
        """Return (S,) groups of which training and test part both get their share; None for none."""
        return None

    @abstractmethod
    def compare(self, model: Any, name: str, train: Part | None, test: Part, seed: int = 0) -> Comparison:
        """Test a model and its rivals on the same series.

        Args:
            model: fitted to `train`.
            name: of the model in tables.
            train: what rivals are fitted to; None leaves out those that need it.
            test: what they are tested on.
            seed: of rivals and resamples.
        """

    def pool(self, comparisons: Sequence[Comparison], seed: int, clusters: Any = None) -> Comparison:
        """Return comparisons of different test rows as one, with figures of all rows together.

        Args:
            comparisons: as `compare` returned them.
            seed: of resamples.
            clusters: (n,) of which group each row is, to be resampled together; None keeps what the comparisons have.
        """
        return pooled(self.metrics, comparisons, seed, clusters)

    @abstractmethod
    def predict(self, model: Any, data: SeriesSet, **options: Any) -> Columns:
        """Return the columns of a table of predictions, the ids of its rows under "".

        Args:
            model: fitted.
            data: the series.
            **options: of `options`.
        """

    @abstractmethod
    def tested(self, model: Any, comparison: Comparison) -> Columns:
        """Return the columns of a table of the model's predictions in a test, with the truth, as `predict` does."""

    @abstractmethod
    def views(self, model: Any, comparison: Comparison) -> list[SeriesView]:
        """Return the series of a test that a report shows, best and worst, with their predictions over time."""

    def predict_each_sample(self, model: Any, data: SeriesSet, **options: Any) -> Columns:
        """Return the columns of a table of predictions after every sample, from the samples up to it alone.

        Args:
            model: fitted.
            data: the series.
            **options: of `options`.

        Raises:
            ValueError: the task has one prediction per sample anyway, or none of samples.

        """
        raise ValueError(f"predictions after each sample are for models of one target per series, not of {self.name!r}")

    def table(
        self, model: Any, data: SeriesSet, id: str = "id", *, each_sample: bool = False, **options: Any
    ) -> polars.DataFrame:
        """Return a table of predictions, with the time of the last sample that each was made from.

        Args:
            model: fitted.
            data: the series.
            id: name of the column of ids.
            each_sample: one row per sample, from the samples up to it, instead of one per series.
            **options: of `options`.

        Raises:
            ValueError: an option that is none of the task's, or ids under the name of another column.

        """
        for option in options:
            if option not in self.options:
                raise ValueError(f"`{option}` is not an option of the task {self.name!r}")
        columns = (self.predict_each_sample if each_sample else self.predict)(model, data, **options)
        if "time" not in columns and len(columns[""]) == len(data):
            columns = {"": columns[""], "time": times_of_last_samples(data), **columns}
        return prediction_table(id, columns)

    def estimator_for(self, settings: Mapping[str, Any], quick: bool = False) -> Any:
        """Return the estimator that is taken where none is asked for: the stacked one, or networks alone.

        Args:
            settings: by name; one that only networks have asks for networks alone.
            quick: whether networks alone are asked for.
        """
        known = [] if self.stacked is None else self.stacked._get_param_names()  # type: ignore[attr-defined]
        return self.stacked if not quick and known and all(name in known for name in settings) else self.estimators[0]

    def make(self, settings: Mapping[str, Any], quick: bool = False) -> Any:
        """Return the estimator that is taken where none is asked for, not fitted; arguments as of `estimator_for`."""
        kind = self.estimator_for(settings, quick)
        own = self.settings if kind is self.estimators[0] else {}
        return kind(**{**own, **settings})

    def unknown_settings(self, settings: Mapping[str, Any], quick: bool = False) -> list[str]:
        """Return the names of settings that the estimator they ask for does not take."""
        known = self.estimator_for(settings, quick)._get_param_names()
        return [name for name in settings if name not in known]
