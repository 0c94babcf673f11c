import dataclasses
import itertools

import pytest

from benchmarks import epoch_time
from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.pages import tables
from liquidtime.solvers import Dopri5
from paper.small_runs import cheap, cheapened, written


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return written(tmp_path_factory.mktemp("data"))


def few(name, *models):
    experiment = cheapened(EXPERIMENTS[name])
    rows = {m: dataclasses.replace(experiment.rows[m], settings=cheap(experiment.rows[m].settings)) for m in models}
    return dataclasses.replace(experiment, rows=rows)


def test_every_network_is_timed_and_the_adaptive_ode_rnn_beside():
    timed = {name: rows for name, one in EXPERIMENTS.items() if (rows := epoch_time.timed_rows(one))}
    assert {"xor", "physionet", "imdb", "walker2d"} <= set(timed)
    for name, rows in timed.items():
        experiment = EXPERIMENTS[name]
        assert {"cfc", "lstm"} <= set(rows)
        assert ("ode_rnn" in rows) is (epoch_time.ADAPTIVE in rows)
        assert "boosting" not in rows
        assert all(row.settings is not None for row in rows.values())
        if epoch_time.ADAPTIVE in rows:
            row = rows[epoch_time.ADAPTIVE]
            assert isinstance(row.model.make(3, cheap(row.settings), experiment.task).cells[0].field.solver, Dopri5)


def test_best_of_the_rounds_scaled_to_an_epoch(data):
    experiment = few("walker2d", "cfc", "lstm")
    ticks = itertools.count()
    record = epoch_time.measure(experiment, data_dir=data, limit=30, repeats=3, clock=lambda: float(next(ticks)))
    assert set(record["models"]) == {"cfc", "lstm"}
    assert record["timed"] == 15
    for model in record["models"].values():
        assert model["rounds"] == 3
        assert model["seconds_per_epoch"] == 1.0 * record["sequences"] / 15
    cut = epoch_time.measure(experiment, data_dir=data, limit=30, repeats=3, seconds=0.0, clock=lambda: 0.0)
    late = epoch_time.measure(
        experiment, data_dir=data, limit=30, repeats=3, seconds=2.0, clock=lambda: float(next(ticks))
    )
    assert {model["rounds"] for model in cut["models"].values()} == {3}
    assert {model["rounds"] for model in late["models"].values()} == {1}


def test_the_table_is_shown_below_the_results(tmp_path):
    def model(title, seconds):
        return {"title": title, "hidden_size": 64, "weights": 1234, "seconds_per_epoch": seconds, "rounds": 5}

    models = {"cfc": model("CfC", 2.0), "lstm": model("LSTM", 1.0), "ode_rnn": model("ODE-RNN", 30.0)}
    record = {"sequences": 9684, "timed": 128, "threads": 1, "models": models}
    assert "seconds per epoch | relative to CfC" not in tables.markdown(EXPERIMENTS["walker2d"], tmp_path)
    epoch_time.write(tmp_path, "xor", {**record, "models": {"cfc": model("CfC", 1.0)}})
    epoch_time.write(tmp_path, "walker2d", record)
    text = tables.markdown(EXPERIMENTS["walker2d"], tmp_path)
    assert text.endswith(
        "| model | H | weights | seconds per epoch | relative to CfC | relative to LSTM |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
        "| LSTM | 64 | 1,234 | 1.00 | 0.50 | 1.00 |\n| CfC | 64 | 1,234 | 2.00 | 1.00 | 2.00 |\n"
        "| ODE-RNN | 64 | 1,234 | 30.00 | 15.00 | 30.00 |\n"
    )
    assert "| CfC | 64 | 1,234 | 1.00 | 1.00 | – |" in tables.markdown(EXPERIMENTS["xor"], tmp_path)
