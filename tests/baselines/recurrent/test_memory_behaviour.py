"""What the papers promise of each memory, tried on signals with known answers."""

import numpy as np
import pytest
import torch
from numpy.polynomial import laguerre, legendre

from liquidtime import cells
from liquidtime.baselines import recurrent

N = 24


def drive(cell, signal, dt):
    """Feed a signal (T,) with intervals (T,) into the memory itself; return c (N,)."""
    c = torch.zeros(1, cell.order, dtype=torch.float64)
    state = (torch.zeros(1, 1).double(), c, *[torch.zeros(1, 1).double()] * (len(cell.state_sizes) - 2))
    spans = cell.spans(state, torch.tensor(dt).unsqueeze(0))[0]
    for f, E in zip(signal, cell.transition(spans), strict=True):
        c = cell.remember(c, torch.full((1, 1), float(f)).double(), E)
    return c[0].numpy()


def smooth(t):
    return np.sin(2.1 * t) + 0.5 * np.cos(5 * t + 1)


def uneven(count, total, seed=0):
    dt = np.random.default_rng(seed).uniform(0.2, 1.8, count)
    return dt * total / dt.sum()


def middles(dt):
    return np.cumsum(dt) - dt / 2


def test_legs_gives_back_the_whole_signal():
    dt = uneven(1000, 4.0)
    c = drive(recurrent.HiPPOLegSCell(1, 1, order=N), smooth(middles(dt)), dt)
    u = np.linspace(0.01, 0.99, 50)
    rebuilt = legendre.legval(2 * u - 1, c * np.sqrt(2 * np.arange(N) + 1))
    assert np.abs(rebuilt - smooth(4.0 * u)).max() < 1e-2
    assert np.abs(smooth(4.0 * u)).max() > 1.0


def test_legs_has_no_time_scale():
    dt = uneven(300, 4.0)
    signal = smooth(middles(dt))
    cell = recurrent.HiPPOLegSCell(1, 1, order=N)
    one = drive(cell, signal, dt)
    np.testing.assert_allclose(drive(cell, signal, 1000 * dt), one, rtol=0, atol=1e-12)
    assert np.abs(drive(cell, signal, dt * np.linspace(0.1, 1.0, 300)) - one).max() > 0.05


def test_legs_starts_with_its_first_sample_even_at_no_distance():
    cell = recurrent.HiPPOLegSCell(1, 1, order=N)
    for first in (0.0, 1e-9, 5.0):
        c = drive(cell, [3.0], [first])
        np.testing.assert_allclose(c, [3.0] + [0.0] * (N - 1), atol=1e-12)
    held = drive(cell, [3.0, 7.0], [2.0, 0.0])
    np.testing.assert_allclose(held, [3.0] + [0.0] * (N - 1), atol=1e-12)


def test_lagt_weighs_the_past_exponentially():
    theta, dt = 0.2, uneven(2000, 10.0)
    t = middles(dt)
    c = drive(recurrent.HiPPOLagTCell(1, 1, order=N, theta=theta), smooth(t), dt)
    age = (10.0 - t) / theta
    for n in (0, 1, 2, 5):
        basis = laguerre.lagval(age, [0.0] * n + [1.0])
        assert c[n] == pytest.approx(np.sum(smooth(t) * np.exp(-age) * basis * dt) / theta, abs=5e-4)
    rebuilt = laguerre.lagval(np.linspace(0, 3, 20), c)
    assert np.abs(rebuilt - smooth(10.0 - theta * np.linspace(0, 3, 20))).max() < 0.05


def test_lagt_fades_by_e_in_theta():
    cell = recurrent.HiPPOLagTCell(1, 1, order=N, theta=0.5)
    first = [drive(cell, [1.0, 0.0], [50.0, wait])[0] for wait in (1.0, 1.5)]
    assert first[0] / first[1] == pytest.approx(np.e)


def test_lmu_delays_a_signal_by_its_window():
    theta, dt = 0.8, uneven(1500, 6.0)
    t = middles(dt)
    c = drive(recurrent.LMUCell(1, 1, order=N, theta=theta), smooth(t), dt)
    for share in (0.0, 0.25, 0.5, 0.9, 1.0):
        rebuilt = legendre.legval(2 * share - 1, c)
        assert rebuilt == pytest.approx(smooth(6.0 - theta * share), abs=8e-3)


def test_lmu_forgets_what_left_the_window():
    cell = recurrent.LMUCell(1, 1, order=N, theta=1.0)
    burst = drive(cell, [5.0, 0.0, 0.0], [1.0, 0.5, 0.25])
    gone = drive(cell, [5.0, 0.0, 0.0], [1.0, 0.5, 1.5])
    assert np.abs(burst).max() > 0.3
    assert np.abs(gone).max() < 1e-3


@pytest.mark.parametrize("kind", [recurrent.HiPPOLagTCell, recurrent.HiPPOLegSCell, recurrent.LMUCell])
@pytest.mark.parametrize("lengths", [None, [9, 4, 0, 7]])
@pytest.mark.parametrize("alike", [True, False])
def test_one_matrix_for_each_interval_is_the_loop(kind, lengths, alike):
    torch.manual_seed(0)
    cell = kind(3, 5).double()
    x = torch.randn(4, 9, 3, dtype=torch.float64)
    dt = torch.rand(1, 9).double().expand(4, 9) if alike else torch.randint(0, 3, (4, 9)).double()
    counts = None if lengths is None else torch.tensor(lengths)
    state = cell.initial_state(x)
    y, after = cell.scan(x, state, dt, counts)
    y_loop, loop = cells.Cell.scan(cell, x, state, dt, counts)
    for part, wanted in zip((y, *after), (y_loop, *loop), strict=True):
        torch.testing.assert_close(part, wanted, rtol=1e-12, atol=1e-12)


def test_exp_rnn_stays_orthogonal_while_it_learns():
    torch.manual_seed(0)
    cell = recurrent.ExpRNNCell(3, 6).double()
    before = cell.recurrent_map.weight.detach().clone()
    optimizer = torch.optim.RMSprop(cell.parameters(), 0.05)
    x, wanted = torch.randn(8, 10, 3).double(), torch.randn(8, 6).double()
    for _ in range(30):
        optimizer.zero_grad()
        y, _ = cell.scan(x, cell.initial_state(x), torch.ones(8, 10).double())
        (y[:, -1] - wanted).square().mean().backward()
        optimizer.step()
    R = cell.recurrent_map.weight.detach()
    assert (R - before).abs().max() > 0.1
    torch.testing.assert_close(R @ R.T, torch.eye(6).double(), rtol=0, atol=1e-12)


def test_exp_rnn_keeps_the_norm_where_nothing_is_added():
    cell = recurrent.ExpRNNCell(3, 6).double()
    torch.nn.init.zeros_(cell.bias)
    h = torch.randn(4, 6).double()
    x = torch.zeros(4, 500, 3).double()
    _, (after,) = cell.scan(x, (h,), torch.ones(4, 500).double())
    torch.testing.assert_close(after.norm(dim=1), h.norm(dim=1))


def skipping(bias):
    cell = recurrent.SkipLSTMCell(3, 5).double()
    torch.nn.init.zeros_(cell.wish.weight)
    torch.nn.init.constant_(cell.wish.bias, bias)
    return cell


def test_skip_lstm_copies_its_state_where_it_skips():
    torch.manual_seed(0)
    cell = skipping(
        float(torch.tensor(0.15).logit())
    )  # the wish grows by 0.15: three samples are skipped, then one taken
    x, dt = torch.randn(2, 13, 3).double(), torch.ones(2, 13).double()
    taken = cell.updates(x, cell.initial_state(x), dt)
    assert taken.detach().tolist() == [[1.0, 0, 0, 0] * 3 + [1.0]] * 2
    y, _ = cell.scan(x, cell.initial_state(x), dt)
    _, kept = cell.lstm.scan(x[:, ::4], cell.lstm.initial_state(x), dt[:, ::4])
    torch.testing.assert_close(y[:, -1], kept[0])
    for k in range(13):
        assert torch.equal(y[:, k], y[:, k - k % 4])


def test_skip_lstm_that_always_wishes_is_an_lstm():
    cell = skipping(4.0)
    x, dt = torch.randn(2, 9, 3).double(), torch.ones(2, 9).double()
    torch.testing.assert_close(
        cell.scan(x, cell.initial_state(x), dt)[0], cell.lstm.scan(x, cell.lstm.initial_state(x), dt)[0]
    )


def test_skip_lstm_learns_to_keep_a_budget():
    torch.manual_seed(0)
    cell = recurrent.SkipLSTMCell(3, 5)
    x, dt, lengths = torch.randn(8, 12, 3), torch.ones(8, 12), torch.full((8,), 10)
    optimizer = torch.optim.Adam(cell.parameters(), 0.1)
    counts = []
    for _ in range(25):
        optimizer.zero_grad()
        taken = cell.updates(x, cell.initial_state(x), dt, lengths)
        assert not taken[:, 10:].any()
        counts.append(float(taken.detach().sum()) / 8)
        taken.sum().backward()
        optimizer.step()
    assert counts[0] > 8
    assert counts[-1] < 5


def test_relu_gru_has_a_rectified_candidate_without_a_ceiling():
    torch.manual_seed(0)
    cell = recurrent.ReLUGRUCell(3, 5)
    x, dt = 50 * torch.randn(16, 12, 3), torch.ones(16, 12)
    y, _ = cell.scan(x, cell.initial_state(x), dt)
    assert (y >= 0).all()
    assert y.max() > 5
