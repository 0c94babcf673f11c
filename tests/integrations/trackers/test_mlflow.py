import warnings

import pytest

from integrations.trackers.job import tracked_job

pytest.importorskip("alembic")
pytest.importorskip("sqlalchemy")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    mlflow = pytest.importorskip("mlflow")

from liquidtime.integrations.trackers import MLflow
from liquidtime.training import tracking

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return f"sqlite:///{tmp_path / 'runs.db'}"


def runs(store):
    client = mlflow.MlflowClient(tracking_uri=store)
    return client, client.search_runs([client.get_experiment_by_name("liquidtime").experiment_id])


def test_a_job_is_one_run_with_settings_epochs_figures_and_the_model(store, tmp_path):
    result = tracked_job(tmp_path / "model", f"mlflow={store}")
    client, [run] = runs(store)
    assert (run.info.run_name, run.info.status) == ("model", "FINISHED")
    assert (run.data.params["task"], run.data.params["seed"], run.data.params["hidden_size"]) == ("classify", "7", "8")
    assert run.data.metrics["test/CfC/auc"] == pytest.approx(result.figures["CfC"]["auc"].value)
    told = client.get_metric_history(run.info.run_id, "on-all-series/loss")
    assert [(one.step, one.value) for one in told] == [
        (record["step"], pytest.approx(record["loss"])) for record in result.model.results_[0].history
    ]
    saved = {item.path for item in client.list_artifacts(run.info.run_id, "model")}
    assert {"model/config.json", "model/model.safetensors", "model/report.html"} <= saved


def test_a_job_that_fails_is_a_failed_run(store):
    with (
        pytest.raises(RuntimeError, match="power"),
        tracking(MLflow(store), settings={"very long, with a comma": "x" * 9000}),
    ):
        raise RuntimeError("power cut")
    _, [run] = runs(store)
    assert run.info.status == "FAILED"
    assert run.data.params["very long- with a comma"] == "x" * 500
