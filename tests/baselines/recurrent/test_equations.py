"""The recurrent models that the paper compares with, against plain numpy, row by row."""

from functools import partial

import numpy as np
import pytest
import torch

from liquidtime.baselines import recurrent
from liquidtime.solvers import SemiImplicit
from oracles import baseline_steps as steps
from oracles.agreement import ROWS as B
from oracles.agreement import assert_agrees, linear, n, shaken
from oracles.steps import gru, lstm

D, H = 3, 5


def test_time_as_one_more_input():
    cell = shaken(recurrent.AugmentedLSTMCell(D, H, forget_bias=0.6))
    W, b, R = *linear(cell.input_map), n(cell.recurrent_map.weight)
    assert W.shape == (4 * H, D + 1)
    assert_agrees(cell, lambda x, h, m, dt: lstm(np.append(x, dt), h, m, W, b, R, 0.6))
    cell = shaken(recurrent.TimeGRUCell(D, H))
    W, b, R, c = *linear(cell.input_map), n(cell.recurrent_map.weight), n(cell.recurrent_bias)
    assert_agrees(cell, lambda x, h, dt: [gru(np.append(x, dt), h, W, b, R, c)])


def test_rnn_decay():
    cell = shaken(recurrent.DecayGRUCell(D, H))
    with torch.no_grad():
        cell.decay.weight[0] = -1.0  # a rate below 0 does not make the state grow
    W, b, R, c = *linear(cell.input_map), n(cell.recurrent_map.weight), n(cell.recurrent_bias)
    w, shift = n(cell.decay.weight), n(cell.decay.bias)
    assert_agrees(cell, lambda x, h, dt: [gru(x, steps.faded(h, w, shift, dt), W, b, R, c)])


def with_masks():
    """Return samples of two values, their masks in the other order, and a fifth column."""
    x = torch.randn(B, 5, generator=torch.Generator().manual_seed(5)).double()
    x[:, 2:4] = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    state = (torch.randn(B, H).double(), torch.randn(B, 2).double(), torch.rand(B, 2).double())
    return x, state


MASKS, MEAN = [3, 2], np.array([0.75, -0.5])


def decays(cell, x, last, since, dt):
    decay = cell.imputed.decay
    out, delta, last, since = steps.filled(x, last + MEAN, since, dt, MASKS, MEAN, n(decay.weight), n(decay.bias))
    return out, delta, last - MEAN, since


def test_gru_d():
    cell = shaken(recurrent.GRUDCell(5, H, MASKS, MEAN))
    maps = [*linear(cell.input_map), *linear(cell.state_decay), n(cell.gate_map.weight), n(cell.candidate_map.weight)]

    def oracle(x, h, last, since, dt):
        out, delta, last, since = decays(cell, x, last, since, dt)
        return steps.gru_d(np.concatenate([out, x[2:]]), h, delta, *maps), last, since

    assert_agrees(cell, oracle, *with_masks())
    cell = shaken(recurrent.GRUDCell(D, H))
    maps = [*linear(cell.input_map), *linear(cell.state_decay), n(cell.gate_map.weight), n(cell.candidate_map.weight)]
    assert_agrees(cell, lambda x, h, dt: [steps.gru_d(x, h, np.array([dt]), *maps)])


def test_rnn_impute():
    cell = shaken(recurrent.ImputeGRUCell(5, H, MASKS, MEAN))
    inner = cell.gru
    W, b, R, c = *linear(inner.input_map), n(inner.recurrent_map.weight), n(inner.recurrent_bias)
    assert W.shape == (3 * H, 3)  # two values and the column that is neither value nor mask

    def oracle(x, h, last, since, dt):
        out, _, last, since = decays(cell, x, last, since, dt)
        return gru(np.append(out, x[4]), h, W, b, R, c), last, since

    assert_agrees(cell, oracle, *with_masks())


def test_ct_gru():
    cell = shaken(recurrent.CTGRUCell(D, H, scales=4, shortest=0.2))
    maps = [*linear(cell.input_map), n(cell.scale_map.weight), n(cell.recurrent_map.weight)]
    scales = [0.2 * 10 ** (i / 2) for i in range(4)]
    y, (traces,), _ = assert_agrees(
        cell, lambda x, v, dt: [steps.ct_gru(x, v.reshape(H, 4), dt, *maps, scales).reshape(-1)]
    )
    torch.testing.assert_close(y, traces.reshape(B, H, 4).sum(dim=-1))


@pytest.mark.parametrize("training", [True, False])
def test_phased_lstm(training):
    cell = shaken(recurrent.PhasedLSTMCell(D, H, periods=(0.5, 3.0), open_ratio=0.4, leak=0.05)).train(training)
    maps = [*linear(cell.input_map), n(cell.recurrent_map.weight), n(cell.peephole)]
    period, shift, leak = np.exp(n(cell.log_period)), n(cell.shift), 0.05 if training else 0.0

    def oracle(x, h, m, t, dt):
        h, m = steps.phased_lstm(x, h, m, t[0] + dt, *maps, period, shift, 0.4, leak)
        return h, m, t + dt

    assert_agrees(cell, oracle)


def test_ct_lstm():
    cell = shaken(recurrent.CTLSTMCell(D, H))
    maps = [*linear(cell.input_map), n(cell.recurrent_map.weight)]
    y, (c, _, _, out), _ = assert_agrees(cell, lambda x, c, low, d, o, dt: steps.ct_lstm(x, c, low, d, o, dt, *maps))
    torch.testing.assert_close(y, out * torch.tanh(c))


@pytest.mark.parametrize("unfolds", [1, 3])
def test_cornn(unfolds):
    cell = shaken(recurrent.CoRNNCell(D, H, step=0.3, frequency=1.3, damping=0.8, unfolds=unfolds))
    maps = [*linear(cell.input_map), n(cell.recurrent_map.weight)]
    y, (y_state, _), _ = assert_agrees(
        cell, lambda x, y, z, dt: steps.cornn(x, y, z, dt, *maps, 0.3, 1.3, 0.8, unfolds)
    )
    assert torch.equal(y, y_state)


@pytest.mark.parametrize("unfolds", [1, 3])
def test_lipschitz_rnn(unfolds):
    cell = shaken(recurrent.LipschitzRNNCell(D, H, beta=0.8, gamma=0.1, step=0.3, unfolds=unfolds))
    A, W = (steps.mixed_matrix(M, 0.8, 0.1) for M in n(cell.free))
    np.testing.assert_allclose(n(cell.matrices()), [A, W])
    maps = linear(cell.input_map)
    assert_agrees(cell, lambda x, h, dt: [steps.lipschitz_rnn(x, h, dt, *maps, A, W, 0.3, unfolds)])


def test_ct_rnn():
    cell = shaken(recurrent.CTRNNCell(D, H, time_constant=0.8, solver="rk4", unfolds=5))
    assert recurrent.CTRNNCell(D, H, time_constant=0.8).time_constant.tolist() == pytest.approx([0.8] * H)
    maps, tau = [*linear(cell.input_map), n(cell.recurrent_map.weight)], np.log1p(np.exp(n(cell.raw_time_constant)))
    assert_agrees(cell, lambda x, h, dt: [steps.ct_rnn(x, h, dt, *maps, tau, 5)])


def test_bidirectional_rnn():
    cell = shaken(recurrent.BidirectionalRNNCell(D, H, solver="rk4", unfolds=5))
    inner = [*linear(cell.lstm.input_map), n(cell.lstm.recurrent_map.weight)]
    leaky = [*linear(cell.leaky.input_map), n(cell.leaky.recurrent_map.weight), n(cell.leaky.time_constant)]

    def oracle(x, h, m, v, dt):
        h, m = lstm(np.concatenate([x, v]), h, m, *inner, 1.0)
        return h, m, steps.ct_rnn(np.concatenate([x, h]), v, dt, *leaky, 5)

    y, (h, _, v), _ = assert_agrees(cell, oracle)
    W, b = linear(cell.output_map)
    np.testing.assert_allclose(n(y), np.concatenate([n(v), n(h)], axis=1) @ W.T + b)


def test_gru_ode():
    cell = shaken(recurrent.GRUODECell(D, H, solver="rk4", unfolds=5))
    flow = [*linear(cell.gate_map), *linear(cell.candidate_map)]
    maps = [*linear(cell.input_map), n(cell.recurrent_map.weight), n(cell.recurrent_bias)]
    assert_agrees(cell, lambda x, h, dt: [steps.gru_ode(x, h, dt, *flow, *maps, 5)])


@pytest.mark.parametrize(("solver", "solve"), [("euler", steps.euler), ("rk4", steps.rk4)])
def test_ode_rnn_and_ode_lstm(solver, solve):
    cell = shaken(recurrent.ODERNNCell(D, H, 7, solver, 3))
    field = [*linear(cell.field.hidden), *linear(cell.field.out)]
    maps = [*linear(cell.input_map), n(cell.recurrent_map.weight), n(cell.recurrent_bias)]
    assert_agrees(cell, lambda x, h, dt: [steps.ode_rnn(x, h, dt, field, *maps, partial(solve, steps=3))])
    cell = shaken(recurrent.ODELSTMCell(D, H, 7, solver, 3, forget_bias=0.6))
    field = [*linear(cell.field.hidden), *linear(cell.field.out)]
    maps = [*linear(cell.input_map), n(cell.recurrent_map.weight)]
    assert_agrees(cell, lambda x, h, m, dt: steps.ode_lstm(x, h, m, dt, field, *maps, 0.6, partial(solve, steps=3)))


def test_refusals():
    with pytest.raises(ValueError, match=r"`masks` must be columns after the 2 values .* got \[1, 2\]"):
        recurrent.GRUDCell(4, H, masks=[1, 2])
    with pytest.raises(ValueError, match="`masks` must contain the mask column of at least one"):
        recurrent.ImputeGRUCell(4, H, masks=[])
    with pytest.raises(ValueError, match=r"`mean` must have shape \(K,\) = \(2,\)"):
        recurrent.GRUDCell(4, H, masks=[2, 3], mean=[0.0])
    with pytest.raises(ValueError, match="pass `masks` too"):
        recurrent.GRUDCell(4, H, mean=[0.0])
    with pytest.raises(ValueError, match="`solver` must be one of"):
        recurrent.ODERNNCell(D, H, solver="hold")
    with pytest.raises(ValueError, match="`solver` must be one of"):
        recurrent.LipschitzRNNCell(D, H, solver=SemiImplicit())
    with pytest.raises(ValueError, match="`shortest` must be finite and greater than 0"):
        recurrent.CTGRUCell(D, H, shortest=0.0)
    with pytest.raises(ValueError, match="`periods` must be two positive finite numbers"):
        recurrent.PhasedLSTMCell(D, H, periods=(3.0, 1.0))
    with pytest.raises(ValueError, match="`open_ratio`"):
        recurrent.PhasedLSTMCell(D, H, open_ratio=0.0)
    with pytest.raises(ValueError, match="`leak`"):
        recurrent.PhasedLSTMCell(D, H, leak=1.0)
    with pytest.raises(ValueError, match="`damping` must be finite and greater than 0"):
        recurrent.CoRNNCell(D, H, damping=-1.0)
    with pytest.raises(ValueError, match=r"`beta` must be at least 0\.5"):
        recurrent.LipschitzRNNCell(D, H, beta=0.4)
    with pytest.raises(ValueError, match="`time_constant` must be finite and greater than 0"):
        recurrent.CTRNNCell(D, H, time_constant=0.0)
