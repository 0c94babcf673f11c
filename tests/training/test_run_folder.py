"""The folder of a run: what is not a run's is never taken over and never removed."""

import os
import signal

import pytest

import processes
from liquidtime.files.folders import write_folder
from liquidtime.training import FolderInUse
from liquidtime.training.checkpoint import STATE, TENSORS
from liquidtime.training.run_folder import FINGERPRINT, MARKER, RunFolder, clear_run, held_folder, is_marked
from processes import Child

PRINT, OTHER = "a" * 64, "b" * 64


def stopped(out, *, members=0):
    """Leave a run as one that was killed does."""
    run = RunFolder(out)
    with run.held(PRINT, resume=False, discard=False):
        for home in [run.path / f"member-{place}" for place in range(members)] or [run.path]:
            with held_folder(home):
                write_folder(home / "checkpoint", {STATE: b"{}", TENSORS: b"x"}, owned=True)
                write_folder(home / "checkpoint", {STATE: b"{}", TENSORS: b"y"}, owned=True)
                (home / "metrics.jsonl").write_text("{}\n")
                (home / ".checkpoint.4000000.tmp").mkdir()
                (home / ".checkpoint.4000000.tmp" / STATE).write_text("half")
    return run


@pytest.mark.parametrize("members", [0, 3])
def test_a_run_removes_all_that_it_wrote(tmp_path, members):
    run = stopped(tmp_path / "m", members=members)
    assert run.has_checkpoint()
    with run.held(PRINT, resume=True, discard=False):
        assert run.clear() == []
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_the_owners_alone(tmp_path):
    assert stopped(tmp_path / "m").path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("members", [0, 2])
def test_what_no_run_wrote_stays(tmp_path, members):
    run = stopped(tmp_path / "m", members=members)
    home = run.path / "member-1" if members else run.path
    mine = [home / "thesis.tex", home / "checkpoint" / "notes.txt"]
    for path in mine:
        path.write_text("mine")
    (run.path / "member-9").mkdir()
    (run.path / "member-9" / "metrics.jsonl").write_text("mine")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / STATE).write_text("mine")
    (run.path / ".checkpoint.5.tmp").symlink_to(tmp_path / "elsewhere")
    with run.held(PRINT, resume=True, discard=False):
        left = {path.name for path in run.clear()}
    assert left == ({"member-1"} if members else {"checkpoint", "thesis.tex"}) | {
        "member-9", ".checkpoint.5.tmp",
    }  # fmt: skip
    assert all(path.read_text() == "mine" for path in mine)
    assert (run.path / "member-9" / "metrics.jsonl").read_text() == "mine"
    assert (tmp_path / "elsewhere" / STATE).read_text() == "mine"
    assert not is_marked(run.path)


@pytest.mark.parametrize("kind", ["filled", "empty", "file", "link", "dangling", "alike", "marked link", "other text"])
@pytest.mark.parametrize("options", [(False, False), (True, False), (False, True)])
def test_what_is_not_a_runs_is_refused_whatever_is_asked(tmp_path, kind, options):
    run = RunFolder(tmp_path / "m")
    aside = tmp_path / "aside"
    aside.mkdir()
    if kind in ("link", "marked link", "dangling"):
        if kind == "marked link":
            aside.rmdir()
            stopped(tmp_path / "n").path.rename(aside)
        run.path.symlink_to(aside if kind != "dangling" else tmp_path / "nowhere")
    elif kind == "file":
        run.path.write_text("mine")
    else:
        run.path.mkdir()
        names = {"filled": ["thesis.tex"], "empty": [], "alike": ["lock", "metrics.jsonl"], "other text": [MARKER]}
        for name in names[kind]:
            (run.path / name).write_text("mine")
    before = sorted((str(item), item.lstat().st_mtime_ns) for item in tmp_path.rglob("*"))
    resume, discard = options
    with pytest.raises(FileExistsError, match=r"m\.run exists and was not written by a run"):
        run.refuse(resume=resume, discard=discard)
    with (
        pytest.raises(FileExistsError, match="move it away, or choose another `folder`"),
        run.held(PRINT, resume=resume, discard=discard),
    ):
        pass
    assert sorted((str(item), item.lstat().st_mtime_ns) for item in tmp_path.rglob("*")) == before


def test_a_stopped_run_and_one_at_work_are_told_apart(tmp_path):
    run = stopped(tmp_path / "m")
    with pytest.raises(FileExistsError, match=r"an interrupted run\. Add resume=True to resume it, or restart=True"):
        run.refuse(resume=False, discard=False)
    code = (
        "import sys, time; from pathlib import Path; from liquidtime.training.run_folder import RunFolder\n"
        "with RunFolder(Path(sys.argv[1])).held('a' * 64, resume=True, discard=False):\n"
        "    print('held', flush=True); time.sleep(600)"
    )
    other = Child(["-c", code, tmp_path / "m"])
    other.wait_for("held\n")
    for resume, discard in ((False, False), (True, False), (False, True)):
        with pytest.raises(FolderInUse, match=rf"a run is at work in .*m\.run \(process {other.pid}\). Wait for it"):
            run.refuse(resume=resume, discard=discard)
    other.send_signal(signal.SIGKILL)
    other.communicate()
    run.refuse(resume=True, discard=False)


def test_a_run_continues_only_with_its_own_data_and_settings(tmp_path):
    run = stopped(tmp_path / "m")
    with (
        pytest.raises(ValueError, match="an interrupted run with other data or settings"),
        run.held(OTHER, resume=True, discard=False),
    ):
        pass
    assert run.has_checkpoint()
    with run.held(OTHER, resume=False, discard=True):
        assert not run.has_checkpoint()
        assert (run.path / FINGERPRINT).read_text() == OTHER


@pytest.mark.parametrize("torn", ["", "abc", "a" * 63, "Z" * 64, "\x00" * 64])
def test_a_torn_fingerprint_is_none(tmp_path, torn):
    run = stopped(tmp_path / "m")
    (run.path / FINGERPRINT).write_text(torn)
    with run.held(OTHER, resume=True, discard=False):
        assert (run.path / FINGERPRINT).read_text() == OTHER
        assert run.has_checkpoint()


def test_a_fingerprint_is_written_whole(tmp_path, monkeypatch):
    """A disk that fails while it is written leaves none."""
    run = stopped(tmp_path / "m")
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    (run.path / FINGERPRINT).unlink()
    with pytest.raises(OSError, match="No space left"), run.held(OTHER, resume=True, discard=False):
        pass
    assert not (run.path / FINGERPRINT).exists()
    assert not list(run.path.glob(f".{FINGERPRINT}*"))


def test_files_of_a_user_that_a_run_would_write_over_are_refused(tmp_path):
    """`train(folder=...)` takes a folder with other files, but none of the names that it writes."""
    (tmp_path / "notes.txt").write_text("mine")
    with held_folder(tmp_path):
        pass
    clear_run(tmp_path)
    assert [item.name for item in tmp_path.iterdir()] == ["notes.txt"]
    (tmp_path / "metrics.jsonl").write_text("mine")
    with pytest.raises(FileExistsError, match=r"has .metrics\.jsonl. but no liquidtime-run"), held_folder(tmp_path):
        pass
    assert (tmp_path / "metrics.jsonl").read_text() == "mine"


WINDOWS = """
import os, sys, types
import numpy, sklearn.base, sklearn.model_selection, torch, safetensors.torch, narwhals, polars, rich.console
POSIX = ("fcntl", "resource", "termios", "pwd", "grp", "tty", "pty", "posix", "syslog", "readline")
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name in POSIX:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
for name in POSIX:
    sys.modules.pop(name, None)
for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_DIRECTORY", "pread", "pwrite", "getuid", "geteuid", "fork",
             "sched_getaffinity", "getloadavg", "mkfifo"):
    if hasattr(os, name):
        delattr(os, name)
locked = []
def locking(handle, mode, count):
    here = os.lseek(handle, 0, os.SEEK_CUR)
    assert here > 2**20
    if locked:
        raise OSError(36, "Resource deadlock avoided")
    locked.append(handle)
sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_NBLCK=2)

import liquidtime as lt
from liquidtime.cli import main
from liquidtime.training import FolderInUse
from liquidtime.training.run_folder import held_folder
from pathlib import Path

X = numpy.random.default_rng(0).normal(size=(12, 5, 2))
home = Path(sys.argv[1])
model = lt.CfCClassifier(epochs=1, random_state=0, hidden_size=4, backbone_units=4, read_out_units=4)
model.fit(X, [0, 1] * 6, folder=home / "run").save(home / "model")
assert (lt.load(home / "model").predict(X) == model.predict(X)).all()
locked.clear()
with held_folder(home / "run"):
    try:
        with held_folder(home / "run"):
            raise SystemExit("held twice")
    except FolderInUse as error:
        assert f"process {os.getpid()}" in str(error), error
print("well")
"""


def test_everything_imports_and_trains_without_what_only_posix_has(tmp_path):
    code, out, err = processes.run("-c", WINDOWS, tmp_path)
    assert (code, out) == (0, "well\n"), err
