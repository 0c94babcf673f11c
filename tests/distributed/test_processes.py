"""Pieces of work in processes: the numbers of a loop, and nothing lost when a worker or the whole is stopped."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

import liquidtime as lt
from estimators.small import TINY
from liquidtime.distributed import WorkerDied, check_jobs, in_processes
from liquidtime.training import TrainingDiverged, TrainingInterrupted, TrainSettings, train

pytestmark = pytest.mark.slow
NAMES = ["piece 1", "piece 2", "piece 3"]


@pytest.fixture(scope="module")
def series():
    rng = np.random.default_rng(0)
    data = [(np.sort(rng.uniform(0, 48, n)), rng.normal(size=(n, 4))) for n in rng.integers(10, 40, 40)]
    return data, np.arange(40) % 2


def weights(model):
    return [value for network in model.networks_ for value in network.state_dict().values()]


def test_members_and_trials_have_the_bits_of_a_loop_with_one_thread(series):
    data, y = series
    settings = {**TINY, "n_estimators": 3, "bin_width": "scales", "random_state": 0}
    settings.pop("epochs", None)
    alone, together = (
        lt.CfCClassifier(**{**settings, "budget": "search", "n_jobs": jobs}).fit(data, y) for jobs in (1, 2)
    )
    assert alone.trials_ == together.trials_
    assert len(alone.trials_) >= 2
    assert alone.results_[2].history[-1]["loss"] == together.results_[2].history[-1]["loss"]
    assert all(torch.equal(one, other) for one, other in zip(weights(alone), weights(together), strict=True))
    assert np.array_equal(alone.predict_proba(data), together.predict_proba(data))


def test_folds_of_a_stack_have_the_bits_of_a_loop_with_one_thread(series):
    data, _ = series
    y = np.array([float(np.nanmean(values[:, 0])) for _, values in data])
    alone, together = (
        lt.StackedRegressor(n_networks=1, n_splits=3, random_state=0, n_jobs=jobs).fit(data, y) for jobs in (1, 2)
    )
    assert [part.weight for part in alone.parts_] == [part.weight for part in together.parts_]
    assert np.array_equal(alone.predict(data), together.predict(data))


def test_a_fault_in_a_worker_is_raised_as_it_is():
    def diverge(place, again):
        raise TrainingDiverged("the loss is nan", 1, 2, ["a"], None)

    with pytest.raises(TrainingDiverged, match="the loss is nan at step 2") as caught:
        in_processes(diverge, range(3), 2, names=NAMES)
    assert caught.value.ids == ("a",)
    assert "in a worker process" in caught.value.__notes__[0]


def test_warnings_of_a_worker_are_given_again():
    def warn(place, again):
        warnings.warn(f"piece {place} is odd", UserWarning, stacklevel=2)
        return place

    with pytest.warns(UserWarning, match=r"piece \d is odd"):
        assert in_processes(warn, range(3), 2, names=NAMES) == [0, 1, 2]


def test_large_arrays_reach_workers_as_one_file_and_can_be_written():
    table = np.zeros(300_000)

    def write(place, again):
        table[0] += 1
        return type(table).__name__, float(table[0]), torch.get_num_threads()

    assert in_processes(write, range(3), 2, names=NAMES)[0] == ("memmap", 1.0, 1)
    assert table[0] == 0


def steps(folder, place, epochs):
    def batches(epoch, generator):
        time.sleep(0.01)
        return [torch.randn(4, 2, generator=generator)]

    def objective(model, batch):
        return model(batch).square().sum()

    torch.manual_seed(place)
    model, settings = torch.nn.Linear(2, 1), TrainSettings(epochs=epochs, seed=place)

    def run(resume):
        train(model, objective, batches, settings, folder=folder / f"member-{place}", resume=resume)
        return model.weight.detach()

    return run


def test_workers_save_their_step_when_asked_to_stop_and_resume_to_the_same_bits(tmp_path):
    def long(place, again, where=tmp_path / "run", epochs=300, resume=False):
        return steps(where, place, epochs)(resume)

    timer = threading.Thread(target=_when, args=(tmp_path / "run" / "member-0" / "checkpoint", signal.SIGTERM))
    timer.start()
    with pytest.raises(TrainingInterrupted) as stopped:
        in_processes(long, range(2), 2, names=NAMES[:2], folder=tmp_path / "run")
    timer.join()
    assert stopped.value.code == 143
    assert 0 < stopped.value.step < 600
    resumed = in_processes(
        lambda place, again: long(place, again, resume=True), range(2), 2, names=NAMES[:2], folder=tmp_path / "run"
    )
    whole = [steps(tmp_path / "whole", place, 300)(False) for place in range(2)]
    assert all(torch.equal(one, other) for one, other in zip(resumed, whole, strict=True))


def _when(path: Path, asked: signal.Signals) -> None:
    while not path.exists():
        time.sleep(0.01)
    os.kill(os.getpid(), asked)


def test_what_a_killed_worker_had_is_done_again_and_said(tmp_path):
    def die_once(place, again):
        if place == 1 and not again:
            os.kill(os.getpid(), signal.SIGKILL)
        return place, again

    with pytest.warns(UserWarning, match=r"a worker process died; repeating: .*piece 2"):
        found = in_processes(die_once, range(3), 2, names=NAMES)
    assert [place for place, _ in found] == [0, 1, 2]
    assert found[1] == (1, True)


@pytest.fixture
def _ctrl_c():
    """A job in a shell's background ignores Ctrl-C; the test is of a program in the foreground."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_ctrl_c")
def test_ctrl_c_leaves_no_worker(tmp_path):
    def wait(place, again):
        (tmp_path / str(os.getpid())).touch()
        time.sleep(60)

    def interrupt() -> None:
        while len(list(tmp_path.iterdir())) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Thread(target=interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        in_processes(wait, range(3), 2, names=NAMES)
    timer.join()
    pids = [int(file.name) for file in tmp_path.iterdir()]
    deadline = time.monotonic() + 20
    while any(_lives(pid) for pid in pids):
        assert time.monotonic() < deadline, "a worker is still there"
        time.sleep(0.05)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z" if Path("/proc").exists() else True


def test_without_jobs_pieces_run_here_with_the_threads_there_are():
    here = os.getpid()
    assert in_processes(lambda place, again: os.getpid() - here, range(3), None, names=NAMES) == [0, 0, 0]
    assert in_processes(lambda place, again: torch.get_num_threads(), range(3), 1, names=NAMES) == [1, 1, 1]


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, "all"])
def test_what_is_no_number_of_processes_is_refused(n_jobs):
    with pytest.raises(ValueError, match=r"`n_jobs` must be a number of processes, -1 for one per core, or None; got"):
        check_jobs(n_jobs)
    with pytest.raises(ValueError, match="`n_jobs`"):
        lt.CfCClassifier(n_jobs=n_jobs).fit(np.zeros((4, 3)), [0, 1, 0, 1])


def test_minus_one_is_one_per_core():
    assert check_jobs(-1) == len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else check_jobs(-1) >= 1
    assert check_jobs(-1000) == 1
    assert issubclass(WorkerDied, RuntimeError)
