from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from liquidtime.training import Tracker


class WeightsAndBiases(Tracker):
    """Writes one run of Weights & Biases: settings, epochs, test figures, and the model as an artifact.

    Further options are environment variables of W&B: `WANDB_MODE=offline` only writes to disk, `WANDB_ENTITY`,
    `WANDB_DIR` and so on.

    Args:
        project: name of the project.
    """

    def __init__(self, project: str = "liquidtime") -> None:
        self.project = project

    def start(self, name: str, settings: Mapping[str, Any]) -> None:
        """Start a run with the settings as its config."""
        try:
            import wandb
        except ImportError:
            raise ImportError("the tracker `wandb` needs its package: pip install 'liquidtime[track]'") from None
        self._artifact = wandb.Artifact
        self._run = wandb.init(project=self.project, name=name, config=dict(settings), reinit="create_new")
        self._name, self._known = name, set[str]()

    def epoch(self, network: str, record: Mapping[str, Any]) -> None:
        """Log the numbers of an epoch as "network/name", over the steps of that network."""
        if network not in self._known:
            self._known.add(network)
            self._run.define_metric(f"{network}/*", step_metric=f"{network}/step")
        self._run.log({f"{network}/{name}": value for name, value in record.items()})

    def finish(self, figures: Mapping[str, float], folder: Path | None, error: BaseException | None) -> None:
        """Write the test figures into the summary as "test/model/metric", log the model folder, and end the run."""
        try:
            self._run.summary.update({f"test/{name}": value for name, value in figures.items()})
            if folder is not None:
                artifact = self._artifact(re.sub(r"[^\w.-]", "-", self._name) or "model", type="model")
                artifact.add_dir(str(folder))
                self._run.log_artifact(artifact)
        finally:
            self._run.finish(exit_code=0 if error is None else 1)
