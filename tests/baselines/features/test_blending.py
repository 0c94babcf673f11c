"""Weights of a mean of models: on the simplex, never worse than the best model, and refused where undefined."""

import numpy as np
import pytest

from liquidtime.baselines.features.blending import blend_weights, blended


def log_loss(probabilities, y):
    return -np.log(np.maximum(probabilities[np.arange(len(y)), y], 1e-12)).mean()


def noisy_probabilities(random, y, K, noise):
    scores = np.eye(K)[y] + noise * random.normal(size=(len(y), K))
    raised = np.exp(2 * scores)
    return raised / raised.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(20))
def test_log_loss_is_never_worse_than_the_best_member(seed):
    random = np.random.default_rng(seed)
    K = int(random.integers(2, 6))
    y = random.integers(K, size=80)
    members = [noisy_probabilities(random, y, K, noise) for noise in random.uniform(0.1, 3.0, size=4)]
    weights = blend_weights(members, y, "log_loss")
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1.0)
    best = min(log_loss(member, y) for member in members)
    assert log_loss(blended(members, weights), y) <= best + 1e-12


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("K", [None, 3])
def test_mse_is_never_worse_than_the_best_member(seed, K):
    random = np.random.default_rng(seed)
    y = random.normal(size=60 if K is None else (60, K))
    members = [y + scale * random.normal(size=y.shape) for scale in random.uniform(0.01, 5.0, size=3)]
    weights = blend_weights(members, y, "mse")
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1.0)
    best = min(((member - y) ** 2).mean() for member in members)
    assert ((blended(members, weights) - y) ** 2).mean() <= best + 1e-12


def test_mse_finds_the_weights_of_independent_errors():
    random = np.random.default_rng(0)
    y = np.zeros(200_000)
    members = [random.normal(size=len(y)), 2.0 * random.normal(size=len(y))]
    np.testing.assert_allclose(blend_weights(members, y, "mse"), [0.8, 0.2], atol=0.01)  # by 1 / variance


def test_log_loss_finds_the_shares_of_a_mixture():
    random = np.random.default_rng(0)
    first, second = np.array([0.9, 0.05, 0.05]), np.array([0.05, 0.05, 0.9])
    y = random.choice(3, size=100_000, p=0.7 * first + 0.3 * second)
    members = [np.tile(row, (len(y), 1)) for row in (first, second)]
    np.testing.assert_allclose(blend_weights(members, y, "log_loss"), [0.7, 0.3], atol=0.01)


def test_a_useless_member_gets_nothing():
    random = np.random.default_rng(0)
    y = random.integers(2, size=300)
    good, bad = noisy_probabilities(random, y, 2, 0.1), np.full((300, 2), 0.5)
    np.testing.assert_array_equal(blend_weights([good, bad], y, "log_loss"), [1.0, 0.0])
    values = random.normal(size=300)
    np.testing.assert_array_equal(blend_weights([values, values + 100.0], values, "mse"), [1.0, 0.0])


def test_equal_members_share_equally_and_one_member_has_all():
    y = np.array([0, 1, 1, 0])
    member = noisy_probabilities(np.random.default_rng(0), y, 2, 1.0)
    np.testing.assert_allclose(blend_weights([member] * 4, y, "log_loss"), np.full(4, 0.25))
    np.testing.assert_allclose(blend_weights([y + 1.0, y + 1.0], y, "mse"), [0.5, 0.5])
    np.testing.assert_array_equal(blend_weights([member], y, "log_loss"), [1.0])


def test_certain_and_wrong_members_are_survived():
    y = np.array([0, 1])
    right, wrong = np.eye(2)[y], np.eye(2)[1 - y]
    np.testing.assert_allclose(blend_weights([wrong, right], y, "log_loss"), [0.0, 1.0], atol=1e-6)
    np.testing.assert_array_equal(blend_weights([np.zeros(2), np.zeros(2)], np.zeros(2), "mse"), [0.5, 0.5])


def test_a_little_noise_moves_the_weights_little():
    random = np.random.default_rng(3)
    y = random.integers(3, size=400)
    members = [noisy_probabilities(random, y, 3, noise) for noise in (0.8, 1.0, 1.2)]
    shaken = [np.abs(member + 1e-4 * random.normal(size=member.shape)) for member in members]
    shaken = [member / member.sum(axis=1, keepdims=True) for member in shaken]
    difference = blend_weights(members, y, "log_loss") - blend_weights(shaken, y, "log_loss")
    assert np.abs(difference).max() < 0.02


def test_rows_without_a_prediction_are_left_out():
    y = np.array([0.0, 1.0, 2.0, 3.0])
    first, second = y.copy(), y + 1.0
    second[0], first[0] = np.nan, 1e9
    np.testing.assert_array_equal(blend_weights([first, second], y, "mse"), [1.0, 0.0])


def test_what_cannot_be_blended_is_refused():
    y = np.zeros(3)
    with pytest.raises(ValueError, match="at least one model"):
        blend_weights([], y, "mse")
    with pytest.raises(ValueError, match="one shape"):
        blend_weights([np.zeros(3), np.zeros(4)], y, "mse")
    with pytest.raises(ValueError, match="one shape"):
        blend_weights([np.zeros(4)], y, "mse")
    with pytest.raises(ValueError, match="rows that every model predicts"):
        blend_weights([np.full(3, np.nan)], y, "mse")
    with pytest.raises(ValueError, match="loss"):
        blend_weights([np.zeros(3)], y, "mae")
