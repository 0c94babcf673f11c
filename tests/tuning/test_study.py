"""The study in its database: what became of processes that died."""

import socket

import pytest

from liquidtime.tuning.study import PROCESS, bury_dead, done, open_storage, open_study


def test_two_processes_may_find_the_same_dead_trial(monkeypatch):
    pytest.importorskip("optuna")
    study = open_study(open_storage(None), "s", 0, False, "same")
    study.ask().set_user_attr(PROCESS, f"{socket.gethostname()}:{2**22 + 5}")
    running = study.get_trials(deepcopy=False)
    assert bury_dead(study) == [0]
    monkeypatch.setattr(study, "get_trials", lambda **_: running)  # as the other process read them before
    assert bury_dead(study) == []
    monkeypatch.undo()
    assert done(study) == 0
