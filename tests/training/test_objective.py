from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from liquidtime.training import absolute_error, cross_entropy, squared_error


def test_cross_entropy_with_class_weights_is_torchs_weighted_mean():
    torch.manual_seed(0)
    logits, target, weights = torch.randn(40, 3), torch.randint(0, 3, (40,)), [1.0, 2.5, 0.0]
    loss = cross_entropy(logits, target, weights)
    expected = functional.cross_entropy(logits, target, weight=torch.tensor(weights))
    torch.testing.assert_close(loss.total / loss.weight, expected)


def test_a_mask_leaves_out_steps():
    torch.manual_seed(0)
    logits, target = torch.randn(4, 6, 2), torch.randint(0, 2, (4, 6))
    mask = torch.rand(4, 6) < 0.5
    target[~mask] = -1  # no class, and not looked at
    loss = cross_entropy(logits, target, mask=mask)
    picked = functional.cross_entropy(logits[mask], target[mask], reduction="sum")
    torch.testing.assert_close(loss.total, picked)
    assert loss.weight == int(mask.sum())


def test_errors_count_observed_values_only_and_their_gradient_is_finite():
    output = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    target = torch.tensor([[0.0, float("nan")], [5.0, float("nan")]])
    loss = squared_error(output, target, ~target.isnan())
    loss.total.backward()
    assert (float(loss.total.detach()), loss.weight) == (5.0, 2.0)
    assert output.grad.tolist() == [[2.0, 0.0], [-4.0, 0.0]]
    assert float(absolute_error(output.detach(), target, ~target.isnan()).total) == 3.0


def test_half_precision_is_summed_in_single():
    output = torch.full((4096,), 1.0, dtype=torch.bfloat16)
    assert float(squared_error(output, torch.zeros(4096)).total) == 4096.0
    logits = torch.zeros(4096, 2, dtype=torch.bfloat16)
    assert float(cross_entropy(logits, torch.zeros(4096, dtype=torch.long)).total) == pytest.approx(2839.13, abs=0.01)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((torch.zeros(3, 1), torch.zeros(3)), "at least 2 classes"),
        ((torch.zeros(3, 2), torch.zeros(4)), r"`target` must have shape .*\(3,\); got \(4,\)"),
        ((torch.zeros(3, 2), torch.tensor([0, 1, 2])), r"`target` must be in 0…1; got 0…2"),
        ((torch.zeros(3, 2), torch.zeros(3).long(), [1.0]), r"`class_weights` must have shape"),
        ((torch.zeros(3, 2), torch.zeros(3).long(), [1.0, -1.0]), "finite and at least 0"),
    ],
)
def test_refusals(arguments, text):
    with pytest.raises(ValueError, match=text):
        cross_entropy(*arguments)
