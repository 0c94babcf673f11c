"""Runs that are killed, for test_kills.py: forks from a process that has imported torch and started no threads.

Usage: python kill_run.py FOLDER SEED. Prints JSON.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import stat
import sys
import time
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

from liquidtime.training import TrainSettings, cross_entropy, train
from training.task import batches_of, network, rows, validation

SETTINGS = TrainSettings(
    epochs=6,
    learning_rate=0.02,
    schedule="one_cycle",
    checkpoint_every=3,
    clip_norm=0.5,
)
DATA = rows(60)


begun_pipe: list[int] = []


def noisy(model, batch):
    if begun_pipe:
        os.write(begun_pipe.pop(), b"begun")
    shift = 0.01 * np.random.rand() + 0.01 * random.random()
    return cross_entropy(model(batch.x + shift), batch.y)


def run(folder: Path) -> None:
    """Train, going on where the folder is, and leave the final weights as bytes."""
    model = network()
    train(
        model, noisy, batches_of(DATA, 2), SETTINGS, validate=validation(rows(40, seed=9)), folder=folder, resume=True
    )
    flat = np.concatenate([tensor.numpy().ravel() for tensor in model.state_dict().values()])
    (folder / "final.bin").write_bytes(flat.tobytes())


def child(folder: Path, kill_at: str | None = None) -> int:
    """Fork a run, and return when its first step is due."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            begun_pipe.append(writer)
            if kill_at is not None:
                kill_inside_save(kill_at)
            run(folder)
            code = 0
        except SystemExit as stop:
            code = int(stop.code)
        finally:
            os._exit(code)
    os.close(writer)
    os.read(reader, 5)
    os.close(reader)
    return pid


OPERATIONS = (
    "sync state.json",
    "sync tensors.safetensors",
    "sync manifest.json",
    "sync temporary",
    "remove previous",
    "rename to checkpoint.previous",
    "rename to checkpoint",
    "sync stages",
)


def kill_inside_save(kill_at: str) -> None:
    """Die when one of the operations of a save is due for the third time; a file to be synced is torn in half first."""
    count = 0
    originals = {"fsync": os.fsync, "rename": os.rename, "unlink": os.unlink}

    def maybe_die(what: str, handle: int | None = None) -> None:
        nonlocal count
        count += what == kill_at
        if count == 3:
            if handle is not None and stat.S_ISREG(os.fstat(handle).st_mode):
                os.ftruncate(handle, os.fstat(handle).st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)

    def fsync(handle):
        name = Path(os.readlink(f"/proc/self/fd/{handle}")).name
        maybe_die("sync temporary" if name.endswith(".tmp") else f"sync {name}", handle)
        originals["fsync"](handle)

    def rename(source, target):
        maybe_die(f"rename to {Path(target).name}")
        originals["rename"](source, target)

    def unlink(path):
        if Path(path).name == "state.json":
            maybe_die("remove previous")  # the removal is half done
        originals["unlink"](path)

    os.fsync, os.rename, os.unlink = fsync, rename, unlink


def wait(pid: int) -> int | None:
    """Return the signal a child died of, None if it ended well."""
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status)
    if os.WEXITSTATUS(status) != 0:
        raise RuntimeError("a run failed")
    return None


def main() -> None:
    home, rng = Path(sys.argv[1]), random.Random(int(sys.argv[2]))
    torch.set_num_threads(1)
    torch.optim.AdamW(network().parameters())  # what it imports late is imported once, before the forks
    pid = child(home / "undisturbed")
    begun = time.perf_counter()
    if wait(pid) is not None:
        raise RuntimeError("the undisturbed run was killed")
    whole = time.perf_counter() - begun
    kills, in_save, steps, pace = 0, 0, [], whole / 20
    while kills < 15:
        pid = child(home / "random")
        time.sleep(rng.uniform(0.0, 2.0) * pace)
        os.kill(pid, signal.SIGKILL)
        if wait(pid) is None:  # it was through before the last kill: again, with less time between them
            shutil.rmtree(home / "random")
            kills, in_save, steps, pace = 0, 0, [], pace / 2
            continue
        kills += 1
        in_save += any((home / "random").glob(".checkpoint.*.tmp"))
        state = home / "random" / "checkpoint" / "state.json"
        steps.append(json.loads(state.read_bytes())["run"]["total_steps"] if state.exists() else 0)
    wait(child(home / "random"))
    stages = {operation: wait(child(home / "stages", kill_at=operation)) for operation in OPERATIONS}
    wait(child(home / "stages"))
    asked = {}
    for number in (signal.SIGTERM, signal.SIGINT):
        pid = child(home / "asked")
        time.sleep(rng.uniform(0.0, 2.0) * pace)
        os.kill(pid, number)
        asked[number.name] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    wait(child(home / "asked"))
    finals = {
        name: (home / name / "final.bin").read_bytes().hex() for name in ("undisturbed", "random", "stages", "asked")
    }
    report = {"kills": kills, "in_save": in_save, "steps": steps, "stages": stages, "asked": asked}
    print(json.dumps({**report, "finals": finals}))


if __name__ == "__main__":
    main()
