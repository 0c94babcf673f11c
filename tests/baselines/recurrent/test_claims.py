"""What the paper of each recurrent model claims for it."""

import itertools
import math

import pytest
import torch

from liquidtime import cells
from liquidtime.baselines import recurrent
from liquidtime.solvers import Dopri5, Flow

B, D, H = 4, 3, 6
F64 = torch.float64


def shake(cell, size=0.5):
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.add_(size * torch.randn_like(parameter))
    return cell.double().eval()


def rand(*shape):
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(7))


def times(value):
    return torch.full((B,), value, dtype=F64)


def test_cornn_keeps_its_energy_below_the_bound_whatever_the_weights():
    cell = shake(recurrent.CoRNNCell(D, H, step=0.1, frequency=2.0, damping=1.5), 3.0)
    x, dt = 5 * rand(B, 300, D), 2 * torch.rand(B, 300, dtype=F64)
    state, t = cell.initial_state(x), torch.zeros(B, dtype=F64)
    for k in range(300):
        _, state = cell(x[:, k], state, dt[:, k])
        t = t + cell.step * dt[:, k]
        energy = cell.frequency * state[0].square().sum(-1) + state[1].square().sum(-1)
        largest_step = cell.step * 2.0
        assert (energy <= H * t / (2 * cell.damping - cell.frequency * largest_step)).all()
    assert energy.min() > 0.01


def test_cornn_neither_loses_nor_blows_up_its_gradient():
    torch.manual_seed(0)
    norms = {}
    for name, cell in (("cornn", recurrent.CoRNNCell(D, 16, step=0.02)), ("rnn", cells.RNNCell(D, 16))):
        with torch.no_grad():
            cell.recurrent_map.weight.mul_(0.5)
        x = torch.randn(1, 200, D)
        start = tuple(part.requires_grad_() for part in cell.initial_state(x))
        y, _ = cell.scan(x, start, torch.ones(1, 200))
        norms[name] = torch.autograd.grad(y[:, -1].sum(), start[0])[0].norm()
    assert 1e-2 < norms["cornn"] < 1e2
    assert norms["rnn"] < 1e-20


@pytest.mark.parametrize("beta", [0.5, 0.75, 1.0])
def test_lipschitz_rnn_bounds_the_eigenvalues_of_its_matrices(beta):
    cell = shake(recurrent.LipschitzRNNCell(D, 12, beta=beta, gamma=0.2), 1.0)
    for free, matrix in zip(cell.free, cell.matrices(), strict=True):
        real = torch.linalg.eigvals(matrix).real
        allowed = torch.linalg.eigvalsh((1 - beta) * (free + free.T)) - 0.2
        assert (real >= allowed[0] - 1e-9).all()
        assert (real <= allowed[-1] + 1e-9).all()
        if beta == 1.0:
            torch.testing.assert_close(real, torch.full_like(real, -0.2))


def test_phased_lstm_stands_still_while_its_gate_is_closed():
    cell = shake(recurrent.PhasedLSTMCell(D, H, open_ratio=0.1), 0.0)
    with torch.no_grad():
        cell.log_period.fill_(torch.log(torch.tensor(10.0)))
        cell.shift.copy_(torch.tensor([0.0, 0.0, 0.0, 5.0, 5.0, 5.0]))
    h, m = rand(B, H), rand(B, H)
    _, (h_new, m_new, t) = cell(rand(B, D), (h, m, torch.full((B, 1), 3.0, dtype=F64)), times(2.2))
    assert torch.equal(t, torch.full((B, 1), 5.2, dtype=F64))
    assert torch.equal(h_new[:, :3], h[:, :3])  # 5.2 of 10: closed
    assert torch.equal(m_new[:, :3], m[:, :3])
    assert (h_new[:, 3:] != h[:, 3:]).all()  # 0.2 of 10 since its shift: open
    cell.train()
    _, (h_leak, _, _) = cell(rand(B, D), (h, m, torch.full((B, 1), 3.0, dtype=F64)), times(2.2))
    moved = (h_leak[:, :3] - h[:, :3]).abs()
    assert (moved > 0).all()
    assert moved.max() < 3 * cell.leak


def test_gru_d_lets_a_value_decay_from_its_last_observation_to_the_mean():
    cell = shake(recurrent.GRUDCell(2, H, masks=[1], mean=[2.0]), 0.0)
    decay = cell.imputed
    seen, missing = torch.tensor([[5.0, 1.0]], dtype=F64), torch.tensor([[9.0, 0.0]], dtype=F64)
    x_hat, _, last, since = decay(seen, *(torch.zeros(1, 1, dtype=F64),) * 2, torch.ones(1, dtype=F64))
    assert x_hat.item() == 5.0
    found = []
    for _ in range(60):
        x_hat, delta, last, since = decay(missing, last, since, torch.ones(1, dtype=F64))
        found.append(x_hat.item())
    assert delta.item() == 60.0
    assert all(5.0 > a > b > 2.0 for a, b in itertools.pairwise(found[:20]))
    rate = decay.decay.weight.item()
    assert found[3] == pytest.approx(2.0 + 3.0 * torch.exp(torch.tensor(-4 * rate)).item(), rel=1e-6)
    assert found[-1] == pytest.approx(2.0 + 3.0 * torch.exp(torch.tensor(-60 * rate)).item(), rel=1e-6)


@pytest.mark.parametrize("kind", [recurrent.GRUDCell, recurrent.ImputeGRUCell])
def test_what_stands_at_a_missing_value_changes_nothing(kind):
    cell = shake(kind(4, H, masks=[2, 3]))
    x, dt = rand(B, 5, 4), torch.rand(B, 5, dtype=F64)
    x[..., 2:] = (rand(B, 5, 2) > 0).double()
    other = torch.where(torch.cat([x[..., 2:] == 0, torch.zeros(B, 5, 2).bool()], dim=-1), 99.0, x)
    assert torch.equal(cell.scan(x, cell.initial_state(x), dt)[0], cell.scan(other, cell.initial_state(x), dt)[0])


def test_ct_lstm_decays_towards_its_level_between_events():
    cell = shake(recurrent.CTLSTMCell(D, H))
    _, state = cell(rand(B, D), cell.initial_state(rand(B, D)), times(1.0))
    c, level, rate, out = state
    assert (rate > 0).all()
    gaps = [(cell.decayed(state, times(t))[0] - level).abs() for t in (0.0, 0.5, 1.0, 400.0)]
    torch.testing.assert_close(gaps[1], (c - level).abs() * torch.exp(-0.5 * rate))
    torch.testing.assert_close(gaps[0] * gaps[2], gaps[1].square())  # the same factor in the same time
    assert gaps[3].max() < 1e-6
    torch.testing.assert_close(cell.decayed(state, times(400.0))[1], out * torch.tanh(level))


def test_ct_gru_forgets_each_trace_at_its_own_time_scale():
    cell = shake(recurrent.CTGRUCell(D, H, scales=3, shortest=0.5))
    with torch.no_grad():
        cell.input_map.weight.zero_()
        cell.scale_map.weight.zero_()
        cell.input_map.bias[H : 2 * H] = 40.0  # writes to the longest scale alone
    traces = rand(B, H, 3)
    _, (after,) = cell(rand(B, D), (traces.flatten(1),), times(2.0))
    factors = torch.exp(-2.0 / (0.5 * 10 ** (0.5 * torch.arange(3, dtype=F64))))
    torch.testing.assert_close(after.reshape(B, H, 3)[..., :2], (traces * factors)[..., :2])


def test_rnn_decay_forgets_everything_in_the_end():
    cell = shake(recurrent.DecayGRUCell(D, H), 0.0)
    x, h = rand(B, D), rand(B, H)
    fresh, _ = cells.GRUCell.advance(cell, cell.project(x, times(0.0)), (torch.zeros_like(h),), times(0.0))
    gaps = [(cell(x, (h,), times(t))[0] - fresh).abs().max() for t in (0.0, 10.0, 1e5)]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-12


def test_ode_rnn_follows_the_field_and_time_may_be_cut():
    fine = shake(recurrent.ODERNNCell(D, H, 8, "rk4", 200))
    h, dt = rand(B, H), torch.tensor([0.0, 0.1, 0.5, 1.0], dtype=F64)
    exact = fine.field(h, dt)
    assert torch.equal(exact[0], h[0])
    torch.testing.assert_close(fine.field(fine.field(h, 0.3 * dt), 0.7 * dt), exact, rtol=0, atol=1e-7)
    errors = []
    for unfolds in (8, 16, 32):
        coarse = recurrent.ODERNNCell(D, H, 8, "rk4", unfolds).double()
        coarse.load_state_dict(fine.state_dict())
        errors.append((coarse.field(h, dt) - exact).abs().max())
    assert errors[0] / errors[1] > 10  # of order 4: by 16 where steps are small
    assert errors[1] / errors[2] > 10


@pytest.mark.parametrize("solver", ["semi_implicit", "hold"])
def test_gru_ode_stays_between_minus_one_and_one(solver):
    cell = shake(recurrent.GRUODECell(D, H, solver=solver, unfolds=1), 3.0)
    x, dt = 10 * rand(B, 50, D), 100 * torch.rand(B, 50, dtype=F64)
    y, _ = cell.scan(x, (2 * torch.rand(B, H, dtype=F64) - 1,), dt)
    assert y.abs().max() <= 1.0
    assert y.abs().max() > 0.9


def test_ode_lstm_leaves_its_memory_alone_between_samples():
    cell = shake(recurrent.ODELSTMCell(D, H))
    x, state = rand(B, D), (rand(B, H), rand(B, H))
    _, (h_soon, m_soon) = cell(x, state, times(0.0))
    _, (h_late, m_late) = cell(x, state, times(3.0))
    assert torch.equal(m_soon, m_late)
    assert (h_soon != h_late).all()
    _, (h_plain, m_plain) = cells.LSTMCell.advance(cell, cell.project(x, times(0.0)), state, times(0.0))
    assert torch.equal(m_plain, m_late)
    assert torch.equal(h_plain, h_soon)


@pytest.mark.parametrize("solver", ["semi_implicit", "euler", "rk4", "hold", "midpoint"])
def test_ct_rnn_has_the_time_constant_it_says(solver):
    cell = shake(recurrent.CTRNNCell(D, H, time_constant=0.7, solver=solver, unfolds=300), 0.0)
    with torch.no_grad():
        cell.recurrent_map.weight.zero_()
    x, h = rand(B, D), rand(B, H)
    target = torch.tanh(cell.project(x, times(0.0)))
    _, (after,) = cell(x, (h,), times(0.7))
    left = (after - target) / (h - target)
    torch.testing.assert_close(left, torch.full_like(left, math.exp(-1)), rtol=3e-3, atol=0)


def test_both_networks_of_the_bidirectional_rnn_read_each_other():
    cell = shake(recurrent.BidirectionalRNNCell(D, H))
    x, (h, m, v) = rand(B, D), (rand(B, H), rand(B, H), rand(B, H))
    _, (h_a, _, v_a) = cell(x, (h, m, v), times(1.0))
    _, (h_b, _, _) = cell(x, (h, m, v + 1.0), times(1.0))
    _, (_, _, v_b) = cell(x, (h + 1.0, m, v), times(1.0))
    assert (h_a != h_b).all()
    assert (v_a != v_b).all()


def test_a_hook_sees_every_step_and_changes_nothing_else():
    cell = shake(recurrent.ODERNNCell(D, H))
    x, dt = rand(B, 5, D), torch.rand(B, 5, dtype=F64)
    y, _ = cell.scan(x, cell.initial_state(x), dt)
    seen = []
    cell.register_forward_hook(lambda *step: seen.append(step[1][0].shape))
    hooked, _ = cell.scan(x, cell.initial_state(x), dt)
    assert seen == [(B, D)] * 5
    torch.testing.assert_close(hooked, y)


def test_a_flow_has_no_rate():
    rate, push = Flow(torch.sin, list)(rand(B, H))
    assert rate.item() == 0.0
    assert torch.equal(push, torch.sin(rand(B, H)))
    assert Dopri5() == Dopri5()
    assert Dopri5() != Dopri5(rtol=1e-3)
