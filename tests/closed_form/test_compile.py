"""A compiled network is a layer like any other, with the parameters of the one it came from."""

import copy

import pytest
import torch
from torch import nn

import liquidtime as lt
from liquidtime.closed_form import AlgorithmOne, ErrorReport
from liquidtime.solvers import Hold, Midpoint

METHODS = {"paper": {}, "printed": {"repaired": False}, "hold": {}, "midpoint": {}}
EACH = pytest.mark.parametrize("name", METHODS)
B, T, D, H = 3, 4, 2, 5


def compiled(ltc, name, **signal):
    return lt.compile_ltc(ltc, "paper" if name == "printed" else name, **METHODS[name], **signal)


def small(**kwargs):
    torch.manual_seed(0)
    return lt.LTC(D, wiring=lt.wirings.Random(H, 2, 0.3), **kwargs)


@pytest.fixture
def signal():
    torch.manual_seed(1)
    return {"x": torch.randn(B, T, D), "dt": torch.rand(B, T)}


@EACH
def test_new_layer_same_parameters_original_untouched(name, signal):
    ltc = small()
    before = copy.deepcopy(ltc.state_dict())
    expected, _ = ltc(signal["x"], dt=signal["dt"])
    out = compiled(ltc, name, **signal)
    assert type(out) is lt.LTC
    assert list(out.state_dict()) == list(before)
    assert all(torch.equal(value, before[key]) for key, value in out.state_dict().items())
    with torch.no_grad():
        for parameter in out.parameters():
            parameter += 1.0
    assert all(torch.equal(value, before[key]) for key, value in ltc.state_dict().items())
    assert torch.equal(ltc(signal["x"], dt=signal["dt"])[0], expected)
    assert (ltc.cells[0].solver.name, ltc.cells[0].unfolds) == ("semi_implicit", 6)
    assert not hasattr(ltc, "report")
    assert not any(module._forward_hooks for layer in (ltc, out) for module in layer.modules())


@EACH
def test_is_its_method_in_the_place_of_the_solver(name, signal):
    ltc = small()
    out = compiled(ltc, name, **signal)
    solver = {"paper": AlgorithmOne(), "printed": AlgorithmOne(repaired=False), "hold": Hold(), "midpoint": Midpoint()}
    cell, v = ltc.cells[0], torch.zeros(B, H)
    y, h = out(signal["x"], dt=signal["dt"])
    for k in range(T):
        v = solver[name].step(cell.drive(signal["x"][:, k]), v, signal["dt"][:, k : k + 1])
        torch.testing.assert_close(y[:, k], cell.read_out(v))
    torch.testing.assert_close(h[0], v)


@EACH
def test_steps_copies_and_state_dicts_give_the_same_numbers(name, signal):
    out = compiled(small(), name, **signal)
    y, h = out(signal["x"], dt=signal["dt"])
    state = None
    for k in range(T):
        y_k, state = out.step(signal["x"][:, k], state, signal["dt"][:, k])
        torch.testing.assert_close(y_k, y[:, k])
    torch.testing.assert_close(state, h)
    assert torch.equal(copy.deepcopy(out)(signal["x"], dt=signal["dt"])[0], y)
    assert copy.deepcopy(out).report == out.report
    torch.manual_seed(9)
    other = compiled(lt.LTC(D, wiring=lt.wirings.Random(H, 2, 0.3)), name, **signal)
    other.load_state_dict(out.state_dict())
    assert torch.equal(other(signal["x"], dt=signal["dt"])[0], y)


@pytest.mark.parametrize("name", ["hold", "midpoint"])
def test_no_time_leaves_the_state_bit_by_bit(name, signal):
    out = compiled(small(), name, **signal)
    h0 = torch.randn(1, B, H)
    assert torch.equal(out(signal["x"], h0, dt=0.0)[1], h0)


@pytest.mark.parametrize("name", ["paper", "printed"])
def test_no_time_moves_the_papers_state(name, signal):
    out = compiled(small(), name, **signal)
    h0 = torch.randn(1, B, H)
    assert not torch.allclose(out(signal["x"], h0, dt=0.0)[1], h0, atol=1e-2)


@EACH
def test_gradients_of_inputs_times_and_every_parameter(name):
    torch.manual_seed(2)
    ltc = lt.LTC(1, wiring=lt.wirings.FullyConnected(2, 1)).double()
    x, dt = torch.randn(2, 2, 1, dtype=torch.float64), torch.rand(2, 2, dtype=torch.float64) + 0.1
    out = compiled(ltc, name, x=x, dt=dt)
    parameters = dict(out.named_parameters())
    values = [p.detach().clone().requires_grad_() for p in parameters.values()]

    def run(x, dt, *values):
        return torch.func.functional_call(out, dict(zip(parameters, values, strict=True)), (x,), {"dt": dt})[0]

    assert torch.autograd.gradcheck(run, (x.requires_grad_(), dt.requires_grad_(), *values))


@pytest.mark.parametrize("name", ["paper", "hold", "midpoint"])
def test_trains(name, signal):
    out = compiled(small(), name, **signal)
    target = torch.sin(signal["x"].cumsum(1))
    optimizer = torch.optim.Adam(out.parameters(), lr=0.03)
    losses = []
    for _ in range(25):
        loss = (out(signal["x"], dt=signal["dt"])[0] - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.7 * losses[0]


@pytest.mark.parametrize(
    "kwargs",
    [
        {"num_layers": 2, "dropout": 0.5},
        {"bidirectional": True},
        {"mixed_memory": True},
        {"mixed_memory": "input"},
        {"proj_size": 3, "num_layers": 2, "bidirectional": True, "mixed_memory": True},
    ],
    ids=str,
)
def test_every_liquid_cell_of_a_layer_is_compiled_and_measured(kwargs, signal):
    ltc = small(**kwargs)
    out = lt.compile_ltc(ltc, "midpoint", x=signal["x"], dt=0.2 * signal["dt"])
    liquid = [module for module in out.modules() if isinstance(module, lt.cells.LTCCell)]
    assert {(cell.solver, cell.unfolds) for cell in liquid} == {(Midpoint(), 1)}
    assert len(out.report.mse_per_neuron) == len(liquid) == len(ltc.cells)
    assert 0 < out.report.mse < 1e-3 * out.report.state_variance
    assert 0 < out.report.mse_output < 1e-3
    assert out.training


@pytest.mark.parametrize("batch_first", [True, False])
def test_measures_on_a_signal_of_its_own(batch_first):
    report = lt.compile_ltc(small(batch_first=batch_first), "hold").report
    assert (report.series, report.samples) == (8, 128)
    assert 0 < report.dt_range[0] < 0.1
    assert 1.9 < report.dt_range[1] < 2
    assert 0 < report.mse < report.state_variance


def test_another_layer_with_liquid_cells(signal):
    layer = lt.Recurrent(lambda width: lt.cells.LTCCell(width, H), D)
    out = lt.compile_ltc(layer, "hold", **signal)
    assert type(out) is lt.Recurrent
    assert out.cells[0].solver == Hold()


def test_a_compiled_layer_compiles_again(signal):
    hold = lt.compile_ltc(small(), "hold", **signal)
    midpoint = lt.compile_ltc(hold, "midpoint", **signal)
    assert midpoint.report.own_solver == "hold x 1"
    assert midpoint.report.mse == pytest.approx(lt.compile_ltc(small(), "midpoint", **signal).report.mse, rel=1e-3)


def test_same_report_at_every_call_and_no_random_numbers_taken():
    ltc = small()
    first = lt.compile_ltc(ltc, "hold").report
    assert isinstance(first, ErrorReport)
    torch.rand(3)
    state = torch.get_rng_state()
    assert lt.compile_ltc(ltc, "hold").report.mse_per_neuron == first.mse_per_neuron
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("kwargs", "text"),
    [
        ({"method": "midpiont"}, r"`method` must be one of 'paper', 'hold', 'midpoint'; got 'midpiont'; did you mean"),
        ({"method": "hold", "repaired": True}, r"`repaired` applies only to method \"paper\"; got True with 'hold'"),
        ({"method": "midpoint", "repaired": False}, r"got False with 'midpoint'. Leave it out."),
        ({"dt": 1.0}, r"`dt` belongs to the samples in `x`, but there is no `x`"),
        ({"lengths": [1]}, r"`lengths` belongs to the samples in `x`"),
        ({"h0": torch.zeros(1, 8, H)}, r"`h0` belongs to the samples in `x`"),
        ({"x": torch.zeros(B, T, D + 1)}, r"`x` must have shape"),
        ({"x": torch.zeros(B, 0, D)}, r"`x` must have at least one sample to measure the error on; got none"),
        ({"x": torch.zeros(B, T, D), "lengths": [0] * B}, r"`x` must have at least one sample"),
        ({"x": torch.zeros(B, T, D), "dt": -1.0}, r"`dt` must be finite and at least 0"),
        ({"x": torch.zeros(B, T, D), "dt": 1e6}, r"`dt` spans up to .* time constants .* shorter intervals"),
    ],
)
def test_refuses_wrong_arguments(kwargs, text):
    with pytest.raises(ValueError, match=text):
        lt.compile_ltc(small(), **kwargs)


def test_refuses_a_packed_sequence():
    packed = nn.utils.rnn.pack_sequence([torch.zeros(3, D), torch.zeros(2, D)])
    with pytest.raises(TypeError, match=r"`x` must be a tensor, padded with `lengths`.*got PackedSequence"):
        lt.compile_ltc(small(), "hold", x=packed)
