from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from torch import nn

from liquidtime.training import Loss, TrainSettings, cross_entropy, isolated_rng, squared_error, train
from training.task import batches_of, equal_bits, network, objective, rows, validation, weights

CONTEXT = TrainSettings(epochs=3, learning_rate=1e-2)


def test_learns_the_task():
    data = rows(400)
    model = network(dropout=0.0)
    result = train(model, objective, batches_of(data), TrainSettings(epochs=40, learning_rate=1e-2))
    assert result.history[0]["loss"] > 0.6
    assert result.history[-1]["loss"] < 0.2
    assert (result.epochs, result.steps, result.stopped) == (40, 40 * 25, "finished")


def test_same_seed_same_bits_other_seed_other_bits():
    data = rows()

    def run(seed: int) -> torch.Tensor:
        model = network()
        train(model, objective, batches_of(data), TrainSettings(epochs=3, seed=seed))
        return weights(model)

    first = run(0)
    torch.rand(7), np.random.rand(3), random.random()
    assert equal_bits(first, run(0))
    assert not equal_bits(first, run(1))


def test_the_callers_random_state_is_untouched():
    torch.manual_seed(5), np.random.seed(6), random.seed(7)
    expected = (torch.rand(3), np.random.rand(3), random.random())
    torch.manual_seed(5), np.random.seed(6), random.seed(7)

    def noisy(model: nn.Module, batch: object) -> Loss:
        np.random.rand(2), random.random()
        return objective(model, batch)

    train(network(), noisy, batches_of(rows()), TrainSettings(epochs=1, seed=11))
    with isolated_rng(3):
        torch.rand(1), np.random.rand(1), random.random()
    got = (torch.rand(3), np.random.rand(3), random.random())
    assert torch.equal(got[0], expected[0])
    assert (got[1] == expected[1]).all()
    assert got[2] == expected[2]


def test_isolated_rng_repeats_and_restores_after_an_error():
    def draw(seed: int) -> tuple[float, float, float]:
        with isolated_rng(seed):
            return float(torch.rand(())), float(np.random.rand()), random.random()

    assert draw(4) == draw(4)
    assert len({*draw(4), *draw(5)}) == 6
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"), isolated_rng(1):
        torch.rand(4, 3) @ torch.rand(4, 3)
    assert torch.equal(before, torch.get_rng_state())


def test_validation_draws_do_not_change_the_course():
    data = rows()

    def run(validate) -> torch.Tensor:
        model = network()
        train(model, objective, batches_of(data), TrainSettings(epochs=3), validate=validate)
        return weights(model)

    losses = iter([3.0, 2.0, 1.0])  # the last epoch is the best

    def noisy(model: nn.Module) -> dict[str, float]:
        torch.rand(()), np.random.rand(), random.random()
        return {"loss": next(losses)}

    assert equal_bits(run(None), run(noisy))


def test_batches_without_length_need_a_rate_that_is_held():
    def stream(epoch, generator):
        yield from batches_of(rows())(epoch, generator)

    one, two = network(), network()
    settings = TrainSettings(epochs=3, schedule="exponential", decay=0.5, schedule_every="epoch")
    train(one, objective, stream, settings)
    train(two, objective, batches_of(rows()), settings)
    assert equal_bits(weights(one), weights(two))
    with pytest.raises(ValueError, match="must return something with a length"):
        train(network(), objective, stream, TrainSettings(schedule="one_cycle"))


def test_early_stopping_picks_the_best_epoch_and_restores_it():
    data = rows(24)
    values = iter([0.9, 0.5, 0.7, 0.4, 0.6, 0.41, 0.8, 0.1])
    seen: list[torch.Tensor] = []

    def validate(model: nn.Module) -> dict[str, float]:
        seen.append(weights(model))
        return {"mse": next(values)}

    model = network()
    settings = TrainSettings(epochs=8, patience=3, monitor="mse", learning_rate=0.05)
    result = train(model, objective, batches_of(data), settings, validate=validate)
    assert (result.best_epoch, result.best_metric, result.stopped, result.epochs) == (3, 0.4, "early", 7)
    assert equal_bits(weights(model), seen[3])
    assert not equal_bits(seen[3], seen[6])
    assert [record["val_mse"] for record in result.history] == [0.9, 0.5, 0.7, 0.4, 0.6, 0.41, 0.8]


@pytest.mark.parametrize(
    ("monitor", "target", "values", "epochs"),
    [
        ("accuracy", 0.9, [0.95, 0.8, 0.9, 0.92, 1.0], 4),
        ("mse", 0.2, [0.1, 0.3, 0.2, 0.1, 0.0], 4),
        ("mse", 0.2, [1.0] * 5, 5),
    ],
)
def test_a_target_held_for_some_epochs_ends_the_run(monitor, target, values, epochs):
    given = iter(values)
    settings = TrainSettings(epochs=5, monitor=monitor, target=target, target_epochs=2)
    result = train(network(), objective, batches_of(rows()), settings, validate=lambda model: {monitor: next(given)})
    assert (result.epochs, result.stopped) == (epochs, "target" if epochs == 4 else "finished")


@pytest.mark.parametrize(("monitor", "direction", "best"), [("auc", "auto", 1), ("own", "min", 0), ("own", "max", 1)])
def test_direction_of_the_metric(monitor, direction, best):
    values = iter([0.2, 0.9, 0.5, float("nan")])
    settings = TrainSettings(epochs=4, monitor=monitor, direction=direction)
    result = train(network(), objective, batches_of(rows()), settings, validate=lambda model: {monitor: next(values)})
    assert result.best_epoch == best


def test_without_validation_the_last_epoch_is_kept():
    model, other = network(), network()
    train(model, objective, batches_of(rows()), CONTEXT)
    losses = iter([3.0, 2.0, 1.0])
    train(other, objective, batches_of(rows()), CONTEXT, validate=lambda model: {"loss": next(losses)})
    assert equal_bits(weights(model), weights(other))


def test_l2_penalty_is_that_of_the_sum_of_squares():
    data = rows(32)

    def penalised(model: nn.Module, batch) -> torch.Tensor:
        loss = cross_entropy(model(batch.x), batch.y)
        return loss.total / loss.weight + 0.01 * (model[0].weight.square().sum() + model[3].weight.square().sum())

    ours, oracle = network(dropout=0.0), network(dropout=0.0)
    basic = {"epochs": 5, "optimizer": "sgd", "learning_rate": 0.3}
    result = train(
        ours, objective, batches_of(data), TrainSettings(**basic, l2_penalty=0.01, l2_parameters=("*.weight",))
    )
    train(oracle, penalised, batches_of(data), TrainSettings(**basic))
    torch.testing.assert_close(weights(ours), weights(oracle), rtol=0, atol=2e-6)
    expected = 0.01 * sum(float(ours[k].weight.detach().square().sum()) for k in (0, 3))
    assert result.history[-1]["penalty"] == pytest.approx(expected, rel=1e-6)


def test_l2_pattern_that_matches_nothing_is_refused():
    settings = TrainSettings(l2_penalty=0.1, l2_parameters=("0.wight",))
    with pytest.raises(ValueError, match=r"'0.wight', which no parameter matches; did you mean `0.weight`"):
        train(network(), objective, batches_of(rows()), settings)


@pytest.mark.parametrize("name", ["adam", "adamw", "rmsprop", "sgd"])
def test_optimizers_are_torchs_own(name):
    data = rows(16)
    extra = {"momentum": 0.8} if name in ("rmsprop", "sgd") else {}
    own = {"smoothing": 0.9} if name == "rmsprop" else {}
    own |= {"epsilon": 1e-3} if name != "sgd" else {}
    ours, oracle = network(dropout=0.0), network(dropout=0.0)
    settings = TrainSettings(epochs=6, optimizer=name, learning_rate=0.01, weight_decay=0.1, **extra, **own)
    train(ours, objective, lambda epoch, generator: [data], settings)
    classes = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "rmsprop": torch.optim.RMSprop}
    extra |= {"alpha": 0.9} if name == "rmsprop" else {}
    extra |= {"eps": 1e-3} if name != "sgd" else {}
    optimizer = classes.get(name, torch.optim.SGD)(oracle.parameters(), lr=0.01, weight_decay=0.1, **extra)
    for _ in range(6):
        optimizer.zero_grad()
        nn.functional.cross_entropy(oracle(data.x), data.y).backward()
        optimizer.step()
    torch.testing.assert_close(weights(ours), weights(oracle), rtol=0, atol=1e-6)


def test_batches_without_weight_change_nothing():
    data = rows(32)
    empty = torch.zeros(32, 2, dtype=torch.bool)

    def masked(model: nn.Module, batch) -> Loss:
        return squared_error(model(batch.x), torch.zeros(len(batch.y), 2), empty[: len(batch.y)])

    model, before = network(), network()
    train(model, masked, batches_of(data), TrainSettings(epochs=1, weight_decay=0.5))
    assert equal_bits(weights(model), weights(before))


def test_the_models_mode_comes_back():
    model = network().eval()
    train(model, objective, batches_of(rows()), CONTEXT, validate=validation(rows()))
    assert not model.training


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"settings": TrainSettings(patience=2)}, "`patience` needs `validate`"),
        ({"settings": TrainSettings(target=1.0)}, "`target` needs `validate`"),
        ({"resume": True}, "`resume` needs the `folder`"),
        ({"batches": lambda epoch, generator: []}, "returned no batch for epoch 0"),
        ({"objective": lambda model, batch: torch.zeros(())}, "without gradient"),
        ({"model": nn.Linear(2, 2).requires_grad_(False)}, "nothing to train"),
        (
            {"settings": TrainSettings(monitor="auc"), "validate": lambda model: {"auk": 1.0}},
            "`monitor` is 'auc', but `validate` returned `auk`; did you mean `auk`",
        ),
    ],
)
def test_refusals(arguments, text):
    usual = {"model": network(), "objective": objective, "batches": batches_of(rows())}
    with pytest.raises(ValueError, match=text):
        train(**{**usual, **arguments})


def test_an_objective_that_returns_no_scalar_is_refused():
    with pytest.raises(TypeError, match=r"scalar tensor; got \(16, 2\)"):
        train(network(), lambda model, batch: model(batch.x), batches_of(rows()))


def test_every_epoch_has_an_order_of_its_own():
    orders = []

    def watched(model, batch):
        orders.append(tuple(batch.ids))
        return objective(model, batch)

    for _ in range(2):
        train(network(), watched, batches_of(rows(48), 48), TrainSettings(epochs=4, seed=5))
    assert len(set(orders[:4])) == 4
    assert orders[:4] == orders[4:]
