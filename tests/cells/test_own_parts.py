"""A CfC with networks of the user's own for its backbone and its heads."""

import copy

import pytest
import torch
from torch import nn

import liquidtime as lt
from liquidtime.cells import VARIANTS, CfCCell


class Attention(nn.Module):
    """Each entry of [x ; h] is a token that attends to all of them."""

    def __init__(self, width):
        super().__init__()
        self.embed = nn.Parameter(torch.randn(width, 8))
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, z):
        tokens = z.unsqueeze(-1) * self.embed
        mixed, _ = self.attend(tokens, tokens, tokens)
        return mixed.mean(dim=1)


class Convolution(nn.Module):
    """A convolution over [x ; h], with batch normalisation, whose statistics must not change when it is tried."""

    def __init__(self, width):
        super().__init__()
        self.conv, self.norm = nn.Conv1d(1, 4, 3, padding=1), nn.BatchNorm1d(4)

    def forward(self, z):
        return self.norm(self.conv(z.unsqueeze(1))).relu().flatten(1)


SHARED = nn.Linear(128, 5)


def head(width, H):
    return nn.Sequential(nn.Linear(width, 6), nn.Tanh(), nn.Linear(6, H))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("backbone", [Attention, Convolution])
def test_whole_steps_gradients_and_ragged_rows(variant, backbone):
    torch.manual_seed(0)
    rnn = lt.CfC(3, 5, variant, backbone=backbone, head=head, num_layers=2).eval()
    x, dt, lengths = torch.randn(4, 6, 3), torch.rand(4, 6), torch.tensor([6, 1, 4, 0])
    y, h = rnn(x, dt=dt, lengths=lengths)
    alone, last = rnn(x[2:3, :4], dt=dt[2:3, :4])
    torch.testing.assert_close(y[2:3, :4], alone)
    torch.testing.assert_close(h[:, 2:3], last)
    state = None
    for k in range(6):
        step, state = rnn.step(x[:, k], state, dt[:, k])
        torch.testing.assert_close(step[0], y[0, k])
    y.square().sum().backward()
    assert all(parameter.grad is not None for parameter in rnn.parameters())
    assert len({id(parameter) for parameter in rnn.parameters()}) == len(list(rnn.parameters()))


def test_the_dense_parts_given_as_modules_are_the_dense_cell():
    torch.manual_seed(0)
    plain = CfCCell(3, 5, backbone_units=7, backbone_activation="relu")
    own = CfCCell(
        3,
        5,
        backbone=lambda width: nn.Sequential(nn.Linear(width, 7), nn.ReLU()),
        head=lambda width, H: nn.Linear(width, H),
    )
    with torch.no_grad():
        own.backbone[0].load_state_dict(plain.backbone.layers[0].state_dict())
        for part, weight, bias in zip(
            own.own_heads, plain.heads.weight.split(5), plain.heads.bias.split(5), strict=True
        ):
            part.weight.copy_(weight)
            part.bias.copy_(bias)
    x, dt = torch.randn(2, 4, 3), torch.rand(2, 4)
    torch.testing.assert_close(own.scan(x, own.initial_state(x), dt), plain.scan(x, plain.initial_state(x), dt))


def test_trying_a_module_leaves_it_as_it_was():
    made = []

    def make(width):
        made.append(Convolution(width))
        made.append(copy.deepcopy(made[-1]))
        return made[0]

    cell = CfCCell(3, 5, backbone=make)
    assert cell.backbone is made[0]
    assert cell.backbone.training
    for ours, before in zip(made[0].state_dict().values(), made[1].state_dict().values(), strict=True):
        assert torch.equal(ours, before)


def test_saved_and_loaded_weights(tmp_path):
    torch.manual_seed(0)
    first, second = (lt.CfC(3, 5, backbone=Attention, mixed_memory=True) for _ in range(2))
    torch.save(first.state_dict(), tmp_path / "weights.pt")
    second.load_state_dict(torch.load(tmp_path / "weights.pt"))
    x = torch.randn(2, 3, 3)
    assert torch.equal(first(x)[0], second(x)[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backbone": nn.Linear(8, 4)}, "`backbone` must be a function that makes a module"),
        ({"backbone": lambda width: 3}, "`backbone` must make an nn.Module; got int"),
        ({"backbone": lambda width: nn.LSTM(width, 4)}, "a module that returns a tensor; got tuple"),
        ({"backbone": lambda width: nn.Unflatten(1, (width, 1))}, r"`backbone` must have shape \(B, F\)"),
        (
            {"backbone": lambda width: nn.Linear(width, 4), "backbone_layers": 2},
            "`backbone_layers` applies to the dense",
        ),
        ({"head": lambda width, H: nn.Linear(width, H + 1)}, r"outputs \(B, H\) = \(B, 5\); got \(B, 6\)"),
        ({"head": lambda width, H: SHARED}, "a new module in each of its 4 calls"),
        ({"head": head, "switch_times": (1.0, 3.0)}, "`switch_times` sets the biases of the linear heads"),
        ({"head": head, "wiring": lt.wirings.FullyConnected(5)}, "have no effect with a wiring"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        lt.CfC(3, 5, **options)
