"""The report's figures are what they say they are, computed here by other means."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

import liquidtime as lt
from liquidtime.closed_form import measure

pytestmark = pytest.mark.slow
B, T, D, H = 2, 3, 2, 4


@pytest.fixture
def ltc():
    torch.manual_seed(0)
    return lt.LTC(D, wiring=lt.wirings.Random(H, 2, 0.2)).double()


@pytest.fixture
def signal():
    torch.manual_seed(1)
    return {"x": torch.randn(B, T, D, dtype=torch.float64), "dt": 1.5 * torch.rand(B, T, dtype=torch.float64)}


def solve(cell, x, dt, v):
    """Return the states (T, H) of one series by an adaptive solver of scipy."""
    states = []
    for x_k, dt_k in zip(x, dt, strict=True):
        drive = cell.drive(x_k.unsqueeze(0))

        def slope(_, v, drive=drive):
            v = torch.from_numpy(v).unsqueeze(0)
            rate, push = drive(v)
            return (push - rate * v)[0].detach().numpy()

        v = solve_ivp(slope, (0, float(dt_k)), v, method="DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
        states.append(v)
    return np.array(states)


def states_of(layer, x, dt, h=None):
    kept = []
    for k in range(x.shape[1]):
        _, h = layer.step(x[:, k], h, dt[:, k])
        kept.append(h[0])
    return torch.stack(kept, 1).detach().numpy()  # (B, T, H)


@pytest.mark.parametrize("method", ["paper", "hold", "midpoint"])
def test_errors_are_those_against_another_solver(ltc, signal, method):
    h0 = torch.randn(1, B, H, dtype=torch.float64)
    out = lt.compile_ltc(ltc, method, **signal, h0=h0)
    exact = np.stack([solve(ltc.cells[0], signal["x"][b], signal["dt"][b], h0[0, b].numpy()) for b in range(B)])
    error = states_of(out, **signal, h=h0) - exact
    report = out.report
    assert report.reference_settled
    assert report.mse == pytest.approx((error**2).mean(), rel=0.03)
    assert report.mse_per_neuron[0] == pytest.approx((error**2).mean((0, 1)), rel=0.05)
    assert report.max_error == pytest.approx(np.abs(error).max(), rel=0.03)
    assert report.state_variance == pytest.approx(exact.reshape(-1, H).var(0).mean(), rel=1e-3)
    output_error = out(signal["x"], h0, dt=signal["dt"])[0] - ltc.cells[0].read_out(torch.from_numpy(exact))
    assert report.mse_output == pytest.approx(float(output_error.detach().square().mean()), rel=0.03)
    before = np.concatenate([h0[0].unsqueeze(1).numpy(), exact[:, :-1]], axis=1)
    once = [
        out.step(signal["x"][:, k], torch.from_numpy(before[:, k]).unsqueeze(0), signal["dt"][:, k])[1][0].detach()
        for k in range(T)
    ]
    assert report.mse_step == pytest.approx(((torch.stack(once, 1).numpy() - exact) ** 2).mean(), rel=0.03)
    assert (report.series, report.samples) == (B, B * T)
    assert report.dt_range == (float(signal["dt"].min()), float(signal["dt"].max()))


def test_padding_is_not_measured(ltc, signal):
    x, dt = signal["x"].clone(), signal["dt"].clone()
    x[1, 2:], dt[1, 2:] = torch.nan, 7.0
    ragged = lt.compile_ltc(ltc, "hold", x=x, dt=dt, lengths=[3, 2]).report
    parts = [lt.compile_ltc(ltc, "hold", x=x[b : b + 1, :n], dt=dt[b : b + 1, :n]).report for b, n in ((0, 3), (1, 2))]
    assert ragged.samples == 5
    assert ragged.mse == pytest.approx((3 * parts[0].mse + 2 * parts[1].mse) / 5, rel=0.02)
    assert ragged.mse_output == pytest.approx((3 * parts[0].mse_output + 2 * parts[1].mse_output) / 5, rel=0.02)
    assert ragged.dt_range[1] < 7


def test_one_series_and_batch_second_measure_the_same(ltc, signal):
    x, dt = signal["x"][:1], signal["dt"][:1]
    batched = lt.compile_ltc(ltc, "hold", x=x, dt=dt).report
    alone = lt.compile_ltc(ltc, "hold", x=x[0], dt=dt[0]).report
    ltc.batch_first = False
    turned = lt.compile_ltc(ltc, "hold", x=x.transpose(0, 1), dt=dt.transpose(0, 1)).report
    assert batched.mse_per_neuron == alone.mse_per_neuron == turned.mse_per_neuron
    assert batched.mse_output == pytest.approx(alone.mse_output) == pytest.approx(turned.mse_output)


def test_no_time_no_error(ltc, signal):
    report = lt.compile_ltc(ltc, "hold", x=signal["x"], dt=0.0).report
    assert report.mse == report.mse_output == report.max_error == 0.0


def test_fine_steps_follow_the_stiffness(ltc, signal):
    """A network a hundred times faster needs as many more steps for RK4 to stand, and gets them."""
    signal = {name: part[:, :2] for name, part in signal.items()}
    slow = lt.compile_ltc(ltc, "midpoint", **signal).report
    with torch.no_grad():
        ltc.cells[0].capacitance.fill_(-4.6)  # softplus: 0.01
    fast = lt.compile_ltc(ltc, "midpoint", **signal).report
    assert fast.reference_unfolds >= 16 * slow.reference_unfolds
    assert fast.reference_settled
    assert fast.max_error < 2


def test_says_when_the_fine_solution_does_not_settle(ltc, signal, monkeypatch):
    monkeypatch.setattr(measure, "MOST_UNFOLDS", 16)
    monkeypatch.setattr(measure, "MATTERS", 0.0)
    monkeypatch.setattr(measure, "ROUNDING", 0.0)
    report = lt.compile_ltc(ltc, "midpoint", **signal | {"dt": 0.2 * signal["dt"]}).report
    assert not report.reference_settled
    assert 0 < report.reference_change < 1e-3
    assert report.reference_unfolds == 16
    assert "not settled" in str(report)


def test_a_method_that_runs_away_does_not_excuse_a_coarse_reference():
    torch.manual_seed(0)
    ltc = lt.LTC(10, 4)
    x, dt = torch.randn(2, 12, 10), 0.3
    report = lt.compile_ltc(ltc, "paper", repaired=False, x=x, dt=dt).report
    assert report.mse > 1e6  # each step multiplies the state by the number of synapses
    assert report.reference_settled
    assert report.reference_change < 0.01


def test_reads_and_serialises(ltc, signal):
    report = lt.compile_ltc(ltc, "hold", **signal).report
    text = str(report)
    for part in ("hold", f"rk4 x {report.reference_unfolds}", "semi_implicit x 6", f"{report.mse:.2e}", "6 samples"):
        assert part in text
    plain = json.loads(json.dumps(report.to_dict()))
    assert set(plain) == {field.name for field in dataclasses.fields(report)}
    assert plain["mse_per_neuron"] == [list(report.mse_per_neuron[0])]
    assert report.seconds > 0
    assert report.speedup > 0
    assert report.speedup_fine > 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.mse = 0.0
