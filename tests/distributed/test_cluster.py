"""A Ray cluster does what this machine does, to the same bits, whatever happens to its workers."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import signal
import threading
import time
import warnings

import numpy as np
import polars as pl
import pytest
import torch

import liquidtime
from cli.tables import WIDE, write_shards, write_tables
from distributed import stepping
from distributed.ray_cluster import HOST, ray_cluster
from liquidtime.distributed import WorkerDied, in_processes, joined_cluster, ranks
from liquidtime.distributed.cluster_ranks import launch_on
from processes import run
from serving.servers import needs_postgresql, postgresql_server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.extras,
    pytest.mark.filterwarnings("default::ResourceWarning"),
    pytest.mark.filterwarnings("default::pytest.PytestUnraisableExceptionWarning"),
]
NAMES = ["piece 1", "piece 2", "piece 3"]
SMALL = ["--epochs", 1, "--hidden-size", 4, "--n-estimators", 1, "--batch-size", 8]


@pytest.fixture(scope="module")
def address():
    if importlib.util.find_spec("ray") is None:
        pytest.skip("needs ray")
    with ray_cluster() as address:
        import ray  # reads the token when it is imported

        cloudpickle = ray.cloudpickle
        cloudpickle.register_pickle_by_value(stepping)  # workers have the package, and not its tests
        yield address
        assert not ray.is_initialized()
    cloudpickle.unregister_pickle_by_value(stepping)


@pytest.fixture(scope="module")
def machines(address):
    with joined_cluster(address) as cluster:
        yield cluster


def test_pieces_have_the_bits_of_processes_and_a_killed_worker_is_reported(machines):
    def work(item, again):
        if item[0] == 1 and not again:
            os.kill(os.getpid(), signal.SIGKILL)
        item += 1  # a copy, which can be written to
        generator = torch.Generator().manual_seed(int(item[0]))
        drawn = torch.randn(64, 64, generator=generator)
        return (drawn @ drawn).numpy().tobytes(), torch.get_num_threads(), again, os.getcwd()

    items = [np.full(3, float(place)) for place in range(3)]
    with pytest.warns(UserWarning, match="a worker process died; repeating: piece 2$"):
        found = machines.map(work, items, names=NAMES)
    assert [again for _, _, again, _ in found] == [False, True, False]
    assert {(threads, folder) for _, threads, _, folder in found} == {(1, os.getcwd())}
    assert items[0].tolist() == [0.0, 0.0, 0.0]
    here = in_processes(lambda item, again: work(item, True), [item.copy() for item in items], 1, names=NAMES)
    assert [bits for bits, *_ in found] == [bits for bits, *_ in here]


def test_faults_and_warnings_of_pieces_come_back(machines):
    def odd(place, again):
        warnings.warn(f"piece {place} is odd", UserWarning, stacklevel=2)
        if place == 2:
            raise FileNotFoundError("no piece 3")
        return place

    with pytest.warns(UserWarning, match=r"piece \d is odd"):
        assert machines.map(odd, [0, 1], names=NAMES[:2]) == [0, 1]
    with pytest.warns(UserWarning, match="odd"), pytest.raises(FileNotFoundError, match="no piece 3") as caught:
        machines.map(odd, [2], names=NAMES[2:])
    assert "in a worker process" in caught.value.__notes__[0]
    assert machines.map(odd, [], names=[]) == []


def test_a_piece_that_kills_every_worker_stops_the_work(machines):
    def die(place, again):
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.warns(UserWarning, match="repeating"), pytest.raises(WorkerDied, match="died 3 times over piece 1"):
        machines.map(die, [0], names=NAMES[:1])


def test_machines_that_are_not_as_they_must_be_are_named(machines, monkeypatch, tmp_path):
    machines.check([tmp_path])
    with pytest.raises(ValueError, match=rf"\({HOST}\) of ray://.* does not see {tmp_path / 'none'}; paths must mean"):
        machines.check([tmp_path, tmp_path / "none"])
    version = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.9" if name == "torch" else version(name))
    with pytest.raises(ValueError, match=rf"has torch {torch.__version__[:4]}.*, but this one has 1\.9; install"):
        machines.check([])


def alone(folder):
    """Return the weights of the small run by one process."""
    torch.set_num_threads(1)
    return stepping.run(folder)


def together(folder):
    """Be one of two ranks; return the weights and the number of threads."""
    with ranks():
        return stepping.run(folder).tolist(), torch.get_num_threads()


def test_ranks_start_again_after_one_was_killed_and_end_with_the_same_bits(machines, tmp_path):
    undisturbed = launch_on(machines, _by_value(together), (f"{tmp_path}/run",), 2)
    (weights, threads), other = undisturbed[0], undisturbed[1]
    assert (weights, threads) == other
    assert threads == 1
    assert (torch.tensor(weights) - alone(f"{tmp_path}/alone")).abs().max() < 1e-6
    with pytest.warns(UserWarning, match="died; restarting all ranks from the last checkpoint"):
        killed = launch_on(machines, stepping.killed_once, (f"{tmp_path}/killed", 1), 2)
    assert killed[0] == killed[1] == weights


def _by_value(function):
    """Return a function of this module as one that workers without it can run."""
    from ray import cloudpickle

    cloudpickle.register_pickle_by_value(__import__(function.__module__, fromlist=["_"]))
    return function


def until_stopped(folder):
    """Be one of two ranks that train for long; return by what signal they were stopped, after which step."""
    from liquidtime.training import Loss, TrainingInterrupted, TrainSettings, train
    from liquidtime.training.ranks import Share, current

    def batches(epoch, generator):
        time.sleep(0.02)
        yield stepping.Rows(torch.ones(3, 2), Share(current(), 5))

    with ranks():
        try:
            torch.manual_seed(0)
            settings = TrainSettings(epochs=3000, checkpoint_every=1)
            train(
                torch.nn.Linear(2, 1), lambda model, batch: Loss(model(batch.x).sum(), 3.0), batches, settings,
                folder=folder,
            )  # fmt: skip
        except TrainingInterrupted as stop:
            return stop.signal.name, stop.step, stop.saved
    return None


def test_a_signal_here_stops_all_ranks_there_after_the_same_step_saved(machines, tmp_path):
    def interrupt():
        while not list(tmp_path.glob("run/checkpoint*")):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    timer = threading.Thread(target=interrupt)
    timer.start()
    stopped = launch_on(machines, _by_value(until_stopped), (f"{tmp_path}/run",), 2)
    timer.join()
    assert stopped[0] == stopped[1]
    assert stopped[0][::2] == ("SIGTERM", True)
    assert 0 < stopped[0][1] < 3000


def test_more_ranks_than_cpus_are_refused_at_once(machines):
    with pytest.raises(ValueError, match=r"3 ranks need 3 CPUs at once, but the cluster at ray://.* has 2; use"):
        launch_on(machines, together, ("none",), 3)


def join(address):
    with joined_cluster(address):
        pass


def test_addresses_that_are_none_and_a_second_cluster_are_refused(machines):
    for wrong in ("127.0.0.1:10001", "ray://", "ray://host:port", "ray://host/path", ""):
        with pytest.raises(ValueError, match="`cluster` must be ray://HOST or ray://HOST:PORT, or auto"):
            join(wrong)
    with pytest.raises(ValueError, match="connected to a Ray cluster; `cluster` must be auto, got 'ray://other'"):
        join("ray://other")
    join("auto")
    assert machines.cpus() == 2


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    write_tables(folder, S=24)
    write_shards(folder, each=6)
    return folder


def words(command, home, *more):
    return [
        "-m", "liquidtime", command, home / "wide.parquet", *WIDE, "--values", "hr,temp", "--target", "state", *more,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def trained(home, address):
    """Train by two ranks of the cluster; return the model folder and what was printed."""
    code, out, err = run(
        *words("train", home, *SMALL, "--out", home / "model", "--cluster", address, "--workers", 2), timeout=600
    )
    assert code == 0, err
    return home / "model", out


def test_ranks_of_a_cluster_train_the_model_of_one_process(home, trained):
    model, out = trained
    assert "contains:" in out
    assert out.count("report  ") == 1
    code, _, err = run(*words("train", home, *SMALL, "--out", home / "alone"), env={"OMP_NUM_THREADS": "1"})
    assert code == 0, err
    data = liquidtime.SeriesSet.from_wide(
        pl.read_parquet(home / "wide.parquet").drop("state", "score"), id="patient", time="minutes"
    )
    one, other = (liquidtime.load(folder).predict_proba(data) for folder in (model, home / "alone"))
    assert np.abs(one - other).max() < 1e-6


def test_shards_are_predicted_once_each_and_finished_ones_skipped(home, trained, address, tmp_path):
    model, _ = trained
    command = ["-m", "liquidtime", "predict", model, home / "shards", "--out", tmp_path / "out", "--cluster", address]
    code, out, err = run(*command, timeout=300)
    assert code == 0, err
    assert "4 of 4 shards predicted: 24 series" in out
    here = run("-m", "liquidtime", "predict", model, home / "shards", "--out", tmp_path / "here")
    assert here[0] == 0, here
    for number in range(4):
        name = f"part-{number}.parquet"
        assert pl.read_parquet(tmp_path / "out" / name).equals(pl.read_parquet(tmp_path / "here" / name))
    (tmp_path / "out" / "part-2.parquet").unlink()
    code, out, err = run(*command, timeout=300)
    assert code == 0, err
    assert "1 of 4 shards predicted, 3 had been predicted before: 6 series" in out


@needs_postgresql
def test_a_search_has_its_trials_on_the_cluster(home, address):
    space = ["--space", "hidden_size=4..8", "--epochs", 1, "--trials", 3, "--out", home / "found"]
    with postgresql_server() as database:
        code, out, err = run(
            *words("search", home, *space, "--cluster", address, "--storage", database, "--json"), timeout=600
        )
    assert code == 0, err
    assert '"trials": 3' in out
    assert liquidtime.load(home / "found").hidden_size in range(4, 9)


def test_what_a_cluster_cannot_do_is_refused_in_one_line(home, trained, address, tmp_path):
    out = ["--out", tmp_path / "m", "--cluster"]
    model, _ = trained
    for said, line in (
        (words("search", home, *out, address), "pass --storage as postgresql://"),
        (words("search", home, *out, address, "--storage", f"sqlite:///{tmp_path}/s"), "that all machines can reach"),
        (words("train", home, *out, address, "--n-jobs", 2), "--n-jobs trains several networks"),
        (words("train", home, *out, "ray://127.0.0.1:1"), "ray://127.0.0.1:1 cannot be reached"),
        (words("train", home, *out, address, "--device", "cuda"), "--device cuda is for this machine"),
        (
            ["-m", "liquidtime", "predict", model, "x", "--out", "x.csv", "--cluster", "auto"],
            "--cluster is for predicting shards into a folder",
        ),
        (
            ["-m", "liquidtime", "predict", model, home / "shards", *out, "here"],
            "--cluster must be ray://HOST",
        ),
    ):
        code, _, err = run(*said)
        assert code in (1, 2)
        assert line in err
        assert len(err.strip().splitlines()) == 1, err
    assert not list(tmp_path.iterdir())
