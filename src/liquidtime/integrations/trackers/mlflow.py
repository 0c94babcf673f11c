from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from liquidtime.training import Tracker

_LONGEST = 500
"""Characters that every store of MLflow accepts in names of parameters."""


class MLflow(Tracker):
    """Writes one run of MLflow: settings as parameters, epochs and test figures as metrics, the model as artifacts.

    Args:
        uri: URI of the store or server, such as "sqlite:///mlflow.db" or "http://localhost:5000"; None for the setting
            of MLflow itself, such as `MLFLOW_TRACKING_URI`.
        experiment: name of the experiment; it is created if it does not exist.
    """

    def __init__(self, uri: str | None = None, experiment: str = "liquidtime") -> None:
        self.uri, self.experiment = uri, experiment

    def start(self, name: str, settings: Mapping[str, Any]) -> None:
        """Start a run with the settings as its parameters."""
        try:
            from mlflow import MlflowClient
            from mlflow.entities import Metric, Param
        except ImportError:
            raise ImportError("the tracker `mlflow` needs its package: pip install 'liquidtime[track]'") from None
        self._metric, self._client = Metric, MlflowClient(tracking_uri=self.uri)
        experiment = self._client.get_experiment_by_name(self.experiment)
        place = self._client.create_experiment(self.experiment) if experiment is None else experiment.experiment_id
        self.run_id: str = self._client.create_run(place, run_name=name).info.run_id
        params = [Param(_plain(key), str(value)[:_LONGEST]) for key, value in settings.items()]
        for first in range(0, len(params), 100):  # as many as MLflow accepts at once
            self._client.log_batch(self.run_id, params=params[first : first + 100])

    def epoch(self, network: str, record: Mapping[str, Any]) -> None:
        """Log the numbers of an epoch at its step, as "network/name"."""
        values = {f"{network}/{name}": value for name, value in record.items() if name not in ("epoch", "step")}
        self._log(values, record["step"])

    def finish(self, figures: Mapping[str, float], folder: Path | None, error: BaseException | None) -> None:
        """Log the test figures as "test/model/metric" and the model folder, and end the run."""
        try:
            self._log({f"test/{name}": value for name, value in figures.items()}, 0)
            if folder is not None:
                self._client.log_artifacts(self.run_id, str(folder), "model")
        finally:
            self._client.set_terminated(self.run_id, "FINISHED" if error is None else "FAILED")

    def _log(self, values: Mapping[str, float], step: int) -> None:
        now = int(time.time() * 1000)
        metrics = [self._metric(_plain(name), float(value), now, step) for name, value in values.items()]
        for first in range(0, len(metrics), 1000):
            self._client.log_batch(self.run_id, metrics=metrics[first : first + 1000])


def _plain(name: str) -> str:
    """Return a name with only characters that MLflow accepts."""
    return "".join(letter if letter.isalnum() or letter in "_-. /" else "-" for letter in name)
