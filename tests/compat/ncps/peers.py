"""Networks of `ncps` 1.0.1 and ours with the same weights, and what the peer gives for each row alone."""

import ncps.torch
import ncps.wirings
import torch

from liquidtime.compat.ncps import torch as ours
from liquidtime.compat.ncps import wirings

TOLERANCE = {"rtol": 0.0, "atol": 1e-5}

WIRINGS = {
    "fully_connected": ("FullyConnected", (8, 4)),
    "random": ("Random", (9, 3, 0.5)),
    "ncp": ("NCP", (6, 5, 2, 3, 2, 4, 3)),
    "auto_ncp": ("AutoNCP", (16, 4)),
}


def wiring_pair(name):
    kind, arguments = WIRINGS[name]
    return getattr(ncps.wirings, kind)(*arguments), getattr(wirings, kind)(*arguments)


def pair(kind, input_size, units, **options):
    """Return the peer and our network with its weights; a wiring is given by its name in WIRINGS."""
    theirs, mine = wiring_pair(units) if isinstance(units, str) else (units, units)
    peer = getattr(ncps.torch, kind)(input_size, theirs, **options)
    network = getattr(ours, kind)(input_size, mine, **options)
    with torch.no_grad():  # away from the start, where the liquid networks' maps of inputs and outputs are the identity
        for parameter in peer.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.rand_like(parameter))
    network.load_state_dict(peer.state_dict())
    return peer, network


def parts(state):
    return state if isinstance(state, tuple) else (state,)


def start(peer, B):
    """Return a state to start from, in the form that the peer takes."""
    state = tuple(0.5 * torch.randn(B, peer.state_size) for _ in range(2))
    return state if peer.use_mixed else state[0]


def row_of(state, b):
    return tuple(part[b : b + 1] for part in state) if isinstance(state, tuple) else state[b : b + 1]


def rows_alone(peer, x, state, dt):
    """Return the peer's outputs and states for x (B, T, D) and dt (B, T), each row run alone in its layout."""
    outputs, states = [], []
    for b in range(x.shape[0]):
        row, spans = x[b : b + 1], dt[b : b + 1].unsqueeze(-1)
        if not peer.batch_first:
            row, spans = row.transpose(0, 1), spans.transpose(0, 1)
        y, after = peer(row, row_of(state, b), spans)
        outputs.append(y)
        states.append(parts(after))
    axis = 1 if peer.return_sequences and not peer.batch_first else 0
    return torch.cat(outputs, dim=axis), tuple(torch.cat(part) for part in zip(*states, strict=True))


def assert_same_run(peer, network, input_size, B=5, T=6):
    """Loaded weights give the peer's outputs and states at dt = 1, and its rows' at times of their own."""
    x, dt, state = torch.randn(B, T, input_size), 3 * torch.rand(B, T) + 0.05, start(peer, B)
    laid = x if peer.batch_first else x.transpose(0, 1)
    with torch.no_grad():
        for hx in (None, state):
            y, after = network(laid, hx)
            expected, expected_after = peer(laid, hx)
            torch.testing.assert_close(y, expected, **TOLERANCE)
            torch.testing.assert_close(parts(after), parts(expected_after), **TOLERANCE)
        expected, expected_after = rows_alone(peer, x, state, dt)
        spans = dt if peer.batch_first else dt.transpose(0, 1)
        for given in (spans, spans.unsqueeze(-1)):
            y, after = network(laid, state, given)
            torch.testing.assert_close(y, expected, **TOLERANCE)
            torch.testing.assert_close(parts(after), expected_after, **TOLERANCE)
        assert (expected - peer(laid, state)[0]).abs().max() > 1e-3  # time matters, so the comparison says something


def assert_same_gradients(peer, network, input_size, translate):
    """The gradients of a loss, by name, are the peer's."""
    x = torch.randn(4, 5, input_size)
    for module in (peer, network):
        y, state = module(x)
        (y.square().mean() + sum(part.sin().mean() for part in parts(state))).backward()
    gradients = translate({name: p.grad for name, p in peer.named_parameters() if p.requires_grad})
    mine = {name: p.grad for name, p in network.named_parameters()}
    assert mine.keys() == gradients.keys()
    for name, gradient in gradients.items():
        assert gradient.abs().max() > 0, name
        torch.testing.assert_close(mine[name], gradient, rtol=1e-4, atol=1e-6, msg=lambda m, n=name: f"{n}: {m}")
