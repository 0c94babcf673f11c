"""The networks with a fixed memory, and the other cells of the sentiment table, against plain numpy, row by row."""

import numpy as np
import pytest
import torch

from liquidtime.baselines import recurrent
from oracles import memories, steps
from oracles.agreement import ROWS as B
from oracles.agreement import assert_agrees, n, shaken

D, H, N, THETA = 3, 5, 7, 1.5


def compare(cell, state, oracle):
    """Compare a step with oracle(x, dt, *state) -> the new state, whose first part is the output."""
    y, after, _ = assert_agrees(cell, lambda x, *rest: oracle(x, rest[-1], *rest[:-1]), state=state)
    assert torch.equal(y, after[0])


def random_state(*sizes):
    return tuple(torch.randn(B, size).double() for size in sizes)


def hippo_weights(cell):
    return {
        "W": np.hstack([n(cell.input_map.weight), n(cell.recurrent_map.weight)]),
        "b": n(cell.input_map.bias),
        "w": n(cell.signal.weight)[0],
        "v": n(cell.signal.bias)[0],
    }


def test_lagt():
    cell = shaken(recurrent.HiPPOLagTCell(D, H, order=N, theta=THETA))
    p, matrices = hippo_weights(cell), memories.lagt(N)

    def oracle(x, dt, h, c):
        return memories.hippo(x, h, c, p, lambda c, f: memories.held(*matrices, c, f, dt / THETA))

    compare(cell, random_state(H, N), oracle)


def test_legs():
    cell = shaken(recurrent.HiPPOLegSCell(D, H, order=N))
    p, matrices = hippo_weights(cell), memories.legs(N)

    def oracle(x, dt, h, c, t):
        now = t[0] + dt
        h, c = memories.hippo(x, h, c, p, lambda c, f: memories.held(*matrices, c, f, np.log(now / t[0])))
        return h, c, now

    h, c, t = random_state(H, N, 1)
    compare(cell, (h, c, t.abs() + 0.1), oracle)


def test_lmu():
    cell = shaken(recurrent.LMUCell(D, H, order=N, theta=THETA))
    matrices = memories.delay(N)
    from_x, from_state = n(cell.input_map.weight), n(cell.recurrent_map.weight)
    p = {
        "e": np.hstack([from_x[:1], n(cell.state_map.weight)])[0],
        "Wx": from_x[1:],
        "Wh": from_state[:, :H],
        "Wc": from_state[:, H:],
    }

    def oracle(x, dt, h, c):
        return memories.lmu(x, h, c, p, lambda c, u: memories.held(*matrices, c, u, dt / THETA))

    compare(cell, random_state(H, N), oracle)


@pytest.mark.parametrize("order", [16, 64, 200])
@pytest.mark.parametrize("span", [0.0, 1e-6, 0.005, 0.3, 20.0, 500.0])
def test_high_orders_keep_their_digits(order, span):
    for kind, matrices in (
        (recurrent.HiPPOLagTCell, memories.lagt),
        (recurrent.HiPPOLegSCell, memories.legs),
        (recurrent.LMUCell, memories.delay),
    ):
        s = torch.tensor([span, span / 2], dtype=torch.float64)
        whole, half = n(kind(1, 1, order=order).transition(torch.exp(-s) if kind is recurrent.HiPPOLegSCell else s))
        scale = max(np.abs(half).max() ** 2, 1.0)
        np.testing.assert_allclose(half @ half, whole, rtol=0, atol=1e-9 * scale)
        if span <= 0.005:
            wanted = memories.linalg.expm(matrices(order)[0] * span)
            np.testing.assert_allclose(whole[:16, :16], wanted[:16, :16], rtol=0, atol=1e-9)


def test_relu_gru():
    cell = shaken(recurrent.ReLUGRUCell(D, H))
    R = np.vstack([n(cell.gate_map.weight), n(cell.candidate_map.weight)])
    p = {"W": n(cell.input_map.weight), "b": n(cell.input_map.bias), "R": R}
    compare(cell, random_state(H), lambda x, dt, h: (memories.relu_gru(x, h, p),))


@pytest.mark.parametrize("wish", [0.1, 0.49, 0.5, 1.0])
def test_skip_lstm(wish):
    cell = shaken(recurrent.SkipLSTMCell(D, H, forget_bias=0.7))
    inner = cell.lstm
    weights = (n(inner.input_map.weight), n(inner.recurrent_map.weight), n(inner.input_map.bias))
    p = {"w": n(cell.wish.weight)[0], "b": n(cell.wish.bias)[0]}

    def lstm(x, h, m):
        i, a, f, o = np.split(weights[0] @ x + weights[1] @ h + weights[2], 4)
        m = steps.sigmoid(f + 0.7) * m + steps.sigmoid(a) * np.tanh(i)
        return steps.sigmoid(o) * np.tanh(m), m

    h, m = random_state(H, H)
    state = (h, m, torch.full((B, 1), wish).double())
    compare(cell, state, lambda x, dt, h, m, w: memories.skip_lstm(x, h, m, w[0], p, lstm))


def test_exp_rnn():
    cell = shaken(recurrent.ExpRNNCell(D, H))
    S = cell.recurrent_map.parametrizations.weight.original
    p = {"W": n(cell.input_map.weight), "S": n(S), "b": n(cell.bias)}
    compare(cell, random_state(H), lambda x, dt, h: (memories.exp_rnn(x, h, p),))


def test_weight_counts():
    def count(module):
        return sum(parameter.numel() for parameter in module.parameters())

    # Voelker et al. 2019, permuted sequential MNIST: 102,027 with the read-out.
    assert count(recurrent.LMUCell(1, 212, order=256)) + 213 * 10 == 102_027
    assert count(recurrent.ReLUGRUCell(D, H)) == 3 * (H * H + H * D + H)
    assert count(recurrent.SkipLSTMCell(D, H)) == 4 * H * (D + H + 1) + H + 1
    assert count(recurrent.HiPPOLegSCell(D, H, order=N)) == 2 * H * (D + H + N + 1) + H + 1
