from __future__ import annotations

import pytest
import torch
from torch import nn

from liquidtime.files.contents import tensors_from_bytes
from liquidtime.files.folders import read_folder
from liquidtime.training import Loss, TrainingDiverged, TrainSettings, squared_error, train
from liquidtime.training.divergence import MOST_SKIPPED
from training.task import batches_of, equal_bits, network, objective, rows, weights


def test_a_nan_in_one_row_is_named_and_the_last_good_weights_stay():
    data = rows()
    data.x[37, 2] = float("nan")
    model = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    seen: list[tuple[torch.Tensor, list[str]]] = []

    def watched(model: nn.Module, batch) -> Loss:
        seen.append((weights(model), batch.ids))
        return objective(model, batch)

    with pytest.raises(TrainingDiverged) as caught:
        train(model, watched, batches_of(data, 8), TrainSettings(epochs=2, seed=3))
    error, steps = caught.value, len(seen) - 1
    assert steps > 2
    assert (error.step, error.epoch) == (steps, 0)
    assert "row37" in error.ids
    assert set(error.ids) == set(seen[-1][1])
    assert error.culprit == "the gradient of `0.weight`"
    assert f"at step {steps}" in str(error)
    assert "row37" in str(error)
    assert bool(torch.isfinite(weights(model)).all())  # the buffers of the normalisation had seen the NaN
    kept = dict(model.named_parameters())["0.weight"]
    assert torch.equal(kept.detach().reshape(-1), seen[-2][0][: kept.numel()])


def test_an_exploding_loss_gives_back_weights_that_had_a_normal_loss():
    data = rows(32)
    torch.manual_seed(0)
    model = nn.Linear(5, 1)

    def square(model: nn.Module, batch) -> Loss:
        return squared_error(model(batch.x), batch.x[:, :1])

    with torch.no_grad():
        first = float(square(model, data).total) / 32
    settings = TrainSettings(epochs=500, optimizer="sgd", learning_rate=50.0)
    with pytest.raises(TrainingDiverged, match=r"the loss exploded to \S+ \(the first was") as caught:
        train(model, square, lambda epoch, generator: [data], settings)
    assert caught.value.culprit is None
    with torch.no_grad():
        loss = square(model, data)
    assert float(loss.total) / float(loss.weight) <= 1e6 * max(1.0, first)


def test_a_parameter_that_is_not_finite_is_named():
    model = network()
    with torch.no_grad():
        model[3].bias[1] = float("inf")
    with pytest.raises(TrainingDiverged, match=r"first that is not finite is the parameter `3.bias`"):
        train(model, objective, batches_of(rows()))


def root(model: nn.Module, batch) -> Loss:
    return Loss((model(batch.x) * 0.0).square().sum().sqrt(), 1.0)  # 0 with the slope 0/0


def test_gradients_that_stay_infinite_end_the_run_without_an_update():
    model = nn.Linear(5, 1)
    before = weights(model)
    with pytest.raises(TrainingDiverged, match=r"the norm of the gradient is nan.*the gradient of `weight`") as caught:
        train(model, root, batches_of(rows()))
    assert caught.value.step == MOST_SKIPPED - 1
    assert equal_bits(weights(model), before)


def sometimes(skipped: set[int]):
    """Return an objective whose gradient is not finite at some calls, and the weights before each call."""
    seen: list[torch.Tensor] = []

    def loss_of(model: nn.Module, batch) -> Loss:
        seen.append(weights(model))
        return root(model, batch) if len(seen) - 1 in skipped else objective(model, batch)

    return loss_of, seen


def test_a_step_whose_gradient_is_not_finite_is_skipped_and_counted():
    skipped = {0, 3, 4, 9}
    loss_of, seen = sometimes(skipped)
    model = network(dropout=0.0)
    result = train(model, loss_of, batches_of(rows(), 16), TrainSettings(epochs=2, seed=3))
    assert result.steps == len(seen) == 12
    assert result.skipped == 4
    assert [record.get("skipped") for record in result.history] == [3, 1]
    for step, (before, after) in enumerate(zip(seen, [*seen[1:], weights(model)], strict=True)):
        assert equal_bits(before, after) == (step in skipped)


def test_fewer_in_a_row_than_the_most_are_skipped_again_and_again():
    skipped = set(range(100)) - set(range(0, 100, MOST_SKIPPED))
    result = train(network(), sometimes(skipped)[0], batches_of(rows(), 16), TrainSettings(epochs=15))
    assert result.skipped == 90 - 9  # of the 90 steps 9 updated the weights


def test_a_resumed_run_remembers_the_steps_it_skipped(tmp_path):
    settings = TrainSettings(epochs=1, checkpoint_every=1)

    def then_stopped(epoch: int, generator: torch.Generator):
        yield from batches_of(rows(160), 16)(epoch, generator)[:9]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(nn.Linear(5, 1), root, then_stopped, settings, folder=tmp_path)
    with pytest.raises(TrainingDiverged) as caught:
        train(nn.Linear(5, 1), root, batches_of(rows(160), 16), settings, folder=tmp_path, resume=True)
    assert caught.value.step == MOST_SKIPPED - 1


def test_the_checkpoint_stays_good(tmp_path):
    data = rows()

    def batches(epoch: int, generator: torch.Generator):
        given = batches_of(data)(epoch, generator)
        if epoch == 2:
            given[3].x[0, 0] = float("nan")
        return given

    model, undisturbed = network(), network()
    with pytest.raises(TrainingDiverged):
        train(model, objective, batches, TrainSettings(epochs=4), folder=tmp_path)
    saved = tensors_from_bytes(read_folder(tmp_path / "checkpoint")["tensors.safetensors"])
    train(undisturbed, objective, batches_of(data), TrainSettings(epochs=2))
    for name, tensor in undisturbed.state_dict().items():
        assert torch.equal(saved[f"model/{name}"], tensor)


def test_dictionaries_may_carry_ids():
    def batches(epoch, generator):
        return [{"x": torch.full((2, 5), float("nan")), "ids": torch.tensor([4, 9])}]

    with pytest.raises(TrainingDiverged, match="rows 4, 9"):
        train(nn.Linear(5, 1), lambda model, batch: model(batch["x"]).sum(), batches)
