"""One study for several processes: made once, never more trials than asked for, a killed worker does not count."""

from __future__ import annotations

import signal
import threading
import time
from types import SimpleNamespace

import pytest

from liquidtime.tuning.study import SURPLUS, at_work, counted, done, open_storage, open_study
from liquidtime.tuning.trials import Place, run_slot
from processes import Child

pytest.importorskip("optuna")
pytest.importorskip("psycopg")
from serving.servers import needs_postgresql, postgresql_server

pytestmark = [pytest.mark.slow, needs_postgresql]
SEARCH = """
import sys, time
import numpy as np
import liquidtime as lt
from liquidtime.tuning.trials import Material
from estimators.small import series
data, labels, _ = series(S=48, empty=False)
loss = Material.loss
def slow(self, trial):
    print("trial", trial.number, flush=True)
    time.sleep(float(sys.argv[2]))
    return loss(self, trial)
Material.loss = slow
found = lt.search(
    data, np.where(labels == "c", "b", labels), trials=6, storage=sys.argv[1], seed=1, epochs=1, batch_size=16,
    backbone_units=8, read_out_units=8, space={"hidden_size": (4, 8)},
)
print("ended", found.loss, len(found.trials), flush=True)
"""


@pytest.fixture(scope="module")
def address():
    with postgresql_server() as address:
        yield address


def _made_up(trial):
    time.sleep(0.01)
    return trial.suggest_float("x", 0.0, 1.0)


def test_workers_that_start_at_once_make_one_study_and_no_trial_too_many(address):
    material, faults = SimpleNamespace(seed=3, loss=_made_up), []

    def work():
        try:
            place = Place(address, "shared", False, "same", 7)
            study = open_study(open_storage(address), "shared", 3, False, "same")
            while run_slot(material, place, study):
                pass
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not faults
    study = open_study(open_storage(address), "shared", 3, False, "same")
    assert done(study) == 7
    assert {one.state.name for one in counted(study)} == {"COMPLETE"}
    assert len({one.params["x"] for one in counted(study)}) == 7  # no two workers draw the same
    assert all(one.user_attrs.get(SURPLUS) for one in study.get_trials() if one not in counted(study))


def test_a_database_out_of_reach_is_named_at_once():
    with pytest.raises(ConnectionError, match=r"postgresql://me@127.0.0.1:1/none cannot be opened: .*127\.0\.0\.1"):
        open_storage("postgresql://me:secret@127.0.0.1:1/none")


@pytest.mark.extras
def test_a_killed_worker_does_not_count_and_both_that_are_left_end_alike(address):
    killed = Child(["-c", SEARCH, address, "60"])
    killed.wait_for("trial 0")
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    pair = [Child(["-c", SEARCH, address, "0.2"]) for _ in range(2)]
    ended = [child.communicate(500) for child in pair]
    assert [child.returncode for child in pair] == [0, 0], ended
    lines = [out.strip().splitlines()[-1].split() for out, _ in ended]
    assert lines[0] == lines[1]
    assert int(lines[0][2]) == 7  # six, and the one that was killed
    optuna = pytest.importorskip("optuna")
    study = optuna.load_study(study_name="liquidtime", storage=open_storage(address))
    assert [one.state.name for one in study.get_trials()].count("FAIL") - 1 == sum(
        bool(one.user_attrs.get(SURPLUS)) for one in study.get_trials()
    )
    assert (done(study), at_work(study)) == (6, 0)
