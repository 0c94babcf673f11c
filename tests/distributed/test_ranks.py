"""Ranks that train one model together come to what one process comes to, whatever happens to one of them."""

from __future__ import annotations

import socket
from pathlib import Path

import numpy as np
import pytest
import torch

import processes
from distributed import ranked, stepping
from liquidtime.distributed import in_processes, ranks
from liquidtime.distributed.torchrun import launch
from liquidtime.training import Loss, TrainSettings, train
from liquidtime.training.ranks import ALONE, Ranks, RanksDisagree, Share, current, drawn, joined, sharing

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent


def together(script, *arguments, world=2):
    """Run a script as so many ranks; return exit code, standard output and standard error of each."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    children = [
        processes.Child(
            [str(HERE / script), *map(str, arguments)],
            {
                "RANK": str(rank),
                "WORLD_SIZE": str(world),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
                "OMP_NUM_THREADS": "1",
            },
        )
        for rank in range(world)
    ]
    ended = [child.communicate() for child in children]
    return [(child.returncode, *texts) for child, texts in zip(children, ended, strict=True)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return a folder with the weights of every case, from one process and from two."""
    folder = tmp_path_factory.mktemp("ranked")
    for world in (1, 2):
        for code, _, err in together("ranked.py", folder, world=world):
            assert code == 0, err[-3000:]
    return folder


@pytest.mark.parametrize("name", list(ranked.cases()))
def test_two_ranks_come_to_the_weights_of_one_process(trained, name):
    alone, first, second = (np.load(trained / f"{name} {which}.npy") for which in ("0 of 1", "0 of 2", "1 of 2"))
    assert np.array_equal(first, second)
    assert np.abs(first - alone).max() < (5e-6 if name in ("front end", "equal lengths") else 1e-6)
    assert not np.array_equal(first, np.zeros_like(first))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Return the weights of the small run by two ranks."""
    folder = tmp_path_factory.mktemp("undisturbed")
    for code, _, err in together("stepping.py", folder / "run", folder):
        assert code == 0, err[-3000:]
    weights = [torch.load(folder / f"{rank} of 2.pt") for rank in range(2)]
    assert torch.equal(*weights)
    return weights[0]


def test_a_signal_to_one_rank_stops_all_and_any_number_of_them_resumes(tmp_path, undisturbed):
    stopped = together("stepping.py", tmp_path / "run", tmp_path, "SIGTERM")
    assert [code for code, _, _ in stopped] == [143, 143], stopped
    assert "training stopped by SIGTERM after step 7; saved" in stopped[0][2]
    assert "saved" not in stopped[1][2]
    (code, _, err), *_ = together("stepping.py", tmp_path / "run", tmp_path, "", "resume", world=1)
    assert code == 0, err[-3000:]
    assert (torch.load(tmp_path / "0 of 1.pt") - undisturbed).abs().max() < 1e-6


def test_divergence_on_one_rank_stops_all(tmp_path):
    ended = together("stepping.py", tmp_path / "run", tmp_path, "nan")
    for code, _, err in ended:
        assert code == 1
        assert "TrainingDiverged: the loss is nan at step 6" in err


def test_what_rank_0_is_refused_ends_the_others_too(tmp_path):
    stepping.run(str(tmp_path / "run"))
    first, second = together("stepping.py", tmp_path / "run", tmp_path)
    assert first[0] == second[0] == 1
    assert "FileExistsError: `folder`" in first[2]
    assert "rank 0 did not begin: FileExistsError: `folder`" in second[2]


@pytest.mark.parametrize("rank", [0, pytest.param(1, marks=pytest.mark.extras)])
def test_ranks_start_again_after_one_was_killed_and_end_with_the_same_bits(tmp_path, undisturbed, rank):
    ended = launch(stepping.killed_once, (str(tmp_path / "run"), rank), 2)
    assert ended[0] == ended[1] == undisturbed.tolist()


def doubled(rank=0, total=2):
    """Return ranks of which each sum is doubled, as if another one had the same."""
    return Ranks(rank, total, lambda tensor: tensor.mul_(2), lambda: None, lambda message: message)


def test_rows_are_dealt_out_in_turn_and_a_stand_in_does_not_count():
    assert [Ranks(rank, 3).rows(5) for rank in range(3)] == [(slice(rank, None, 3), True) for rank in range(3)]
    assert Ranks(2, 3).rows(2) == (slice(0, 1), False)
    whole = torch.arange(12.0).reshape(6, 2)
    torch.manual_seed(0)
    with sharing(Share(Ranks(1, 2), 3)):
        assert drawn(lambda n: whole[:n], 2).tolist() == [[4.0, 5.0], [6.0, 7.0]]  # row 1 of 3, with two of each


def test_models_and_batches_that_ranks_cannot_share_are_refused():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.5))
    with pytest.raises(ValueError, match=r"`model` has Dropout at '1', which each of 2 ranks would draw"):
        train(model, lambda m, b: m(b).sum(), lambda epoch, generator: [], ranks=doubled())
    norm = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    with pytest.raises(ValueError, match="BatchNorm1d at '1'"):
        train(norm, lambda m, b: m(b).sum(), lambda epoch, generator: [], ranks=doubled())
    plain = torch.nn.Linear(2, 1)
    with pytest.raises(TypeError, match=r"`batches` must return this rank's rows of each batch, with a `share`"):
        train(plain, lambda m, b: m(b).sum(), lambda epoch, generator: [torch.ones(2, 2)], ranks=doubled())
    with joined(doubled()), pytest.raises(ValueError, match="`n_jobs` cannot be combined with several ranks"):
        in_processes(lambda place, again: place, range(2), 2, names=["a", "b"])


def test_losses_beside_have_weights_of_their_own():
    def objective(model, batch):
        out = model(batch).sum()
        return Loss(out, 4.0, (Loss(3 * out, 2.0), Loss(out, 0.0)))

    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(model.weight)
    settings = TrainSettings(epochs=1, optimizer="sgd", learning_rate=0.1)
    train(model, objective, lambda epoch, generator: [torch.ones(4, 1)], settings)
    assert float(model.weight.detach()) == pytest.approx(1 - 0.1 * (4 / 4 + 3 * 4 / 2))


def test_ranks_with_other_weights_are_refused(tmp_path):
    def other(message):
        place = message.index(b'"digest": "') + len(b'"digest": "')
        return message[:place] + b"z" + message[place + 1 :]

    strange = Ranks(1, 2, lambda tensor: tensor, lambda: None, other)
    with pytest.raises(RanksDisagree, match="1 of 2 ranks do not have the settings or weights of rank 0"):
        train(torch.nn.Linear(1, 1), lambda m, b: m(b).sum(), lambda epoch, generator: [], ranks=strange)


def test_without_a_launcher_the_process_is_alone(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with ranks() as own:
        assert own is ALONE is current()
    monkeypatch.setenv("WORLD_SIZE", "2")
    for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match=r"WORLD_SIZE is 2, but RANK, MASTER_ADDR, MASTER_PORT is not set"), ranks():
        pass
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
        monkeypatch.setenv("MASTER_PORT", str(taken.getsockname()[1]))
        for wrong in ("two", "2", "-1"):  # a rank that does not exist would wait for the others for ever
            monkeypatch.setenv("RANK", wrong)
            with (
                pytest.raises(ValueError, match=rf"RANK must be a whole number from 0 to 1, .*; got '{wrong}'"),
                ranks(),
            ):
                pass
        monkeypatch.setenv("RANK", "0")
        with (
            pytest.raises(ConnectionError, match=r"cannot be reached at 127\.0\.0\.1:\d+: .*address already in use"),
            ranks(),
        ):
            pass
