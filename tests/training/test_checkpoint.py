from __future__ import annotations

import json
import os
import resource
import signal
import threading
from pathlib import Path

import pytest
import torch
from torch import nn

from liquidtime.files.folders import write_folder
from liquidtime.files.sealed import problem_of
from liquidtime.training import FallbackWarning, FolderInUse, TrainingInterrupted, TrainSettings, read_log, train
from liquidtime.training.run_folder import held_folder
from processes import Child
from training.task import batches_of, equal_bits, network, objective, rows, validation, weights

SETTINGS = TrainSettings(epochs=4, learning_rate=0.02, checkpoint_every=2)


class Stop(Exception):
    pass


def stopping_at(step: int):
    count = 0

    def stopped(model: nn.Module, batch):
        nonlocal count
        count += 1
        if count > step:
            raise Stop
        return objective(model, batch)

    return stopped


def undisturbed(settings: TrainSettings = SETTINGS) -> torch.Tensor:
    model = network()
    train(model, objective, batches_of(rows()), settings, validate=validation(rows(40, 9)))
    return weights(model)


def stopped_run(folder: Path, step: int, settings: TrainSettings = SETTINGS) -> None:
    with pytest.raises(Stop):
        train(
            network(), stopping_at(step), batches_of(rows()), settings, validate=validation(rows(40, 9)), folder=folder
        )


def resumed(folder: Path, settings: TrainSettings = SETTINGS, **options) -> torch.Tensor:
    model = network(seed=77 if (folder / "checkpoint").exists() else 1)  # what it was is to be forgotten
    validate = validation(rows(40, 9))
    train(model, objective, batches_of(rows()), settings, validate=validate, folder=folder, resume=True, **options)
    return weights(model)


@pytest.mark.parametrize("step", [0, 1, 3, 6, 9, 12, 23])
def test_a_run_that_goes_on_has_the_same_bits(tmp_path, step):
    stopped_run(tmp_path, step)
    assert equal_bits(resumed(tmp_path), undisturbed())


@pytest.mark.parametrize("optimizer", ["adam", "sgd", "rmsprop"])
def test_every_optimizer_continues(tmp_path, optimizer):
    momentum = 0.0 if optimizer == "adam" else 0.9
    settings = TrainSettings(epochs=3, optimizer=optimizer, momentum=momentum, checkpoint_every=1, schedule="cosine")
    stopped_run(tmp_path, 9, settings)
    assert equal_bits(resumed(tmp_path, settings), undisturbed(settings))


def damage(folder: Path, kind: str) -> str:
    file = folder / "checkpoint" / "tensors.safetensors"
    data = bytearray(file.read_bytes())
    if kind == "truncated":
        file.write_bytes(data[: len(data) // 2])
        return "tensors.safetensors has .* bytes, not the"
    if kind == "flipped":
        data[len(data) // 2] ^= 4
        file.write_bytes(data)
        return "tensors.safetensors has another sha256"
    if kind == "file missing":
        file.unlink()
        return "tensors.safetensors cannot be read"
    for entry in (folder / "checkpoint").iterdir():
        entry.unlink()
    (folder / "checkpoint").rmdir()
    return "there is no folder"


@pytest.mark.parametrize("kind", ["truncated", "flipped", "file missing", "folder missing"])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path, kind):
    stopped_run(tmp_path, 9)
    text = damage(tmp_path, kind)
    with pytest.warns(FallbackWarning, match=text):
        final = resumed(tmp_path)
    assert equal_bits(final, undisturbed())
    assert problem_of(tmp_path / "checkpoint") is None


def test_two_damaged_generations_are_an_error_and_nothing_starts_over(tmp_path):
    stopped_run(tmp_path, 9)
    damage(tmp_path, "flipped")
    (tmp_path / "checkpoint.previous" / "state.json").write_bytes(b"{}")
    with pytest.raises(ValueError, match=r"no undamaged copy is left: .*sha256.*state.json has 2 bytes"):
        resumed(tmp_path)


def test_a_finished_run_is_given_back_and_may_go_on_longer(tmp_path):
    model = network()
    first = train(model, objective, batches_of(rows()), SETTINGS, validate=validation(rows(40, 9)), folder=tmp_path)
    again = network(seed=5)
    never = stopping_at(0)
    second = train(
        again, never, batches_of(rows()), SETTINGS, validate=validation(rows(40, 9)), folder=tmp_path, resume=True
    )
    assert equal_bits(weights(model), weights(again))
    assert second == first
    longer = TrainSettings(epochs=6, learning_rate=0.02, checkpoint_every=2)
    assert equal_bits(resumed(tmp_path, longer), undisturbed(longer))


def test_other_settings_or_another_model_are_refused(tmp_path):
    stopped_run(tmp_path, 9)
    other = TrainSettings(epochs=4, learning_rate=0.05, checkpoint_every=5)
    with pytest.raises(ValueError, match=r"other settings: `learning_rate` 0.02 → 0.05\. Keep them"):
        resumed(tmp_path, other)
    small = nn.Sequential(nn.Linear(5, 3), nn.Tanh(), nn.Dropout(), nn.Linear(3, 2))
    with pytest.raises(ValueError, match=r"'0.weight' with shape \(16, 5\); the model's is \(3, 5\)"):
        train(small, objective, batches_of(rows()), SETTINGS, folder=tmp_path, resume=True)
    with pytest.raises(ValueError, match="has no tensor 'weight'"):
        train(nn.Linear(5, 2), objective, batches_of(rows()), SETTINGS, folder=tmp_path, resume=True)


def test_a_newer_format_is_refused(tmp_path):
    stopped_run(tmp_path, 9)
    files = {name: (tmp_path / "checkpoint" / name).read_bytes() for name in ("state.json", "tensors.safetensors")}
    files["state.json"] = json.dumps({**json.loads(files["state.json"]), "format": 2}).encode()
    write_folder(tmp_path / "checkpoint", files)
    with pytest.raises(ValueError, match=r"has format 2; this version reads up to 1\. Update"):
        resumed(tmp_path)


def test_a_folder_with_a_run_is_not_overwritten(tmp_path):
    stopped_run(tmp_path, 9)
    with pytest.raises(FileExistsError, match=r"already has a run\. Pass resume=True"):
        train(network(), objective, batches_of(rows()), SETTINGS, folder=tmp_path)


@pytest.mark.slow
def test_a_second_run_in_the_folder_is_refused(tmp_path):
    code = (
        "import sys; from pathlib import Path; from liquidtime.training.run_folder import held_folder\n"
        "import time\n"
        "with held_folder(Path(sys.argv[1])): print('held', flush=True); time.sleep(600)"
    )
    other = Child(["-c", code, tmp_path])
    other.wait_for("held\n")
    with pytest.raises(FolderInUse, match=rf"in use by process {other.pid}\. Wait for it to end"):
        train(network(), objective, batches_of(rows()), SETTINGS, folder=tmp_path)
    other.send_signal(signal.SIGKILL)
    other.communicate()
    train(network(), objective, batches_of(rows()), SETTINGS, folder=tmp_path)  # the lock went with its process


def test_two_runs_in_one_process_are_refused_too(tmp_path):
    with held_folder(tmp_path), pytest.raises(FolderInUse, match=f"process {os.getpid()}"):
        train(network(), objective, batches_of(rows()), SETTINGS, folder=tmp_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_ends_cleanly(tmp_path, number, capsys):
    count = 0
    handlers = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)

    def signalled(model: nn.Module, batch):
        nonlocal count
        count += 1
        if count == 8:
            os.kill(os.getpid(), number)
        return objective(model, batch)

    with pytest.raises(TrainingInterrupted) as caught:
        train(network(), signalled, batches_of(rows()), SETTINGS, validate=validation(rows(40, 9)), folder=tmp_path)
    assert (caught.value.code, caught.value.step, caught.value.saved) == (128 + number, 8, True)
    said = capsys.readouterr().err
    assert (
        f"stopped by {signal.Signals(number).name} after step 8; saved in {tmp_path}. Resume it with resume=True."
        in said
    )
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == handlers
    assert json.loads((tmp_path / "checkpoint" / "state.json").read_bytes())["run"]["total_steps"] == 8
    assert equal_bits(resumed(tmp_path), undisturbed())


def test_a_second_ctrl_c_stops_at_once(tmp_path):
    def signalled(model: nn.Module, batch):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        return objective(model, batch)

    with pytest.raises(KeyboardInterrupt):
        train(network(), signalled, batches_of(rows()), SETTINGS, folder=tmp_path)


def test_without_a_folder_ctrl_c_is_the_callers():
    def signalled(model: nn.Module, batch):
        os.kill(os.getpid(), signal.SIGINT)
        return objective(model, batch)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore Ctrl-C
    try:
        with pytest.raises(KeyboardInterrupt):
            train(network(), signalled, batches_of(rows()), SETTINGS)
    finally:
        signal.signal(signal.SIGINT, before)


def test_in_another_thread_no_handler_is_set(tmp_path):
    seen: list[object] = []

    def watched(model: nn.Module, batch):
        seen.append(signal.getsignal(signal.SIGTERM))
        return objective(model, batch)

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(
        target=train, args=(network(), watched, batches_of(rows()), SETTINGS), kwargs={"folder": tmp_path}
    )
    thread.start()
    thread.join()
    assert len(seen) == 24
    assert set(seen) == {before}


def test_a_full_disk_warns_keeps_the_last_good_one_and_trains_on(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    model = network()

    def batches(epoch: int, generator: torch.Generator):
        if epoch == 2:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1024, limits[1]))
        return batches_of(rows())(epoch, generator)

    try:
        with pytest.warns(
            UserWarning, match=r"File too large. The last good one is kept: .*checkpoint Training continues"
        ):
            train(model, objective, batches, SETTINGS, validate=validation(rows(40, 9)), folder=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert equal_bits(weights(model), undisturbed())
    run = json.loads((tmp_path / "checkpoint" / "state.json").read_bytes())["run"]
    assert (run["epoch"], run["step"]) == (2, 0)
    assert problem_of(tmp_path / "checkpoint") is None
    assert equal_bits(resumed(tmp_path), undisturbed())


def test_nothing_in_the_folder_is_a_pickle(tmp_path):
    stopped_run(tmp_path, 9)
    names = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    parts = ["manifest.json", "state.json", "tensors.safetensors"]
    folders = ["checkpoint", "checkpoint.previous"]
    assert names == sorted(
        [f"{f}/{p}" for f in folders for p in parts] + ["liquidtime-run.txt", "lock", "metrics.jsonl"]
    )


def test_a_state_that_is_not_a_tensor_is_refused(tmp_path):
    class Odd(nn.Linear):
        def get_extra_state(self):
            return {"object": 1}

        def set_extra_state(self, state):
            pass

    with pytest.raises(TypeError, match="'_extra_state' of type dict; only tensors are saved"):
        train(Odd(5, 2), objective, batches_of(rows()), SETTINGS, folder=tmp_path)


def test_the_log_of_a_resumed_run_is_that_of_an_undisturbed_one(tmp_path):
    stopped_run(tmp_path / "a", 15)
    with open(tmp_path / "a" / "metrics.jsonl", "a") as file:
        file.write('{"epoch": 2, "step": 18, "loss": 1.0}\n{"epoch": 3, "st')  # from a process killed before its save
    resumed(tmp_path / "a")
    resumed(tmp_path / "b")
    plain = [[{k: v for k, v in r.items() if k != "seconds"} for r in read_log(tmp_path / name)] for name in "ab"]
    assert plain[0] == plain[1]
    assert [record["epoch"] for record in plain[0]] == [0, 1, 2, 3]
    assert set(plain[0][0]) == {"epoch", "step", "loss", "rate", "val_loss"}
