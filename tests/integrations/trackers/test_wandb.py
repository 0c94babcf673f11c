import warnings

import pytest

from integrations.trackers.job import tracked_job

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    wandb = pytest.importorskip("wandb")

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore")]


def test_a_job_is_one_offline_run_with_settings_epochs_figures_and_the_model(tmp_path, monkeypatch):
    for name, value in (("MODE", "offline"), ("DIR", str(tmp_path)), ("SILENT", "true"), ("CONSOLE", "off")):
        monkeypatch.setenv(f"WANDB_{name}", value)
    runs, ended, begin = [], [], wandb.init

    def init(**arguments):
        run = begin(**arguments)
        finish = run.finish
        run.finish = lambda **how: (ended.append((dict(run.summary), how)), finish(**how))
        runs.append(run)
        return run

    monkeypatch.setattr(wandb, "init", init)
    result = tracked_job(tmp_path / "model", "wandb=tests")
    [run], [(summary, how)] = runs, ended
    assert (run.project, run.name, run.config["task"], run.config["seed"]) == ("tests", "model", "classify", 7)
    assert summary["test/CfC/auc"] == pytest.approx(result.figures["CfC"]["auc"].value)
    assert summary["on-all-series/loss"] == pytest.approx(result.model.results_[0].history[-1]["loss"])
    assert how == {"exit_code": 0}
    [written] = (tmp_path / "wandb").glob("offline-run-*/run-*.wandb")
    assert written.stat().st_size > 1000
