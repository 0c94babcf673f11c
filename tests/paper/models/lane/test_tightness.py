"""The traces are those of the layer, the errors those of the traces, and what overflows is said to."""

import dataclasses

import pytest
import torch

from liquidtime.paper.experiments.lane_keeping import SETTINGS, TASK
from liquidtime.paper.experiments.tightness import NCP, ROWS, TIGHTNESS
from liquidtime.paper.fitting import Trial
from liquidtime.paper.models.lane.tightness import FINE, Course, _errors, course, from_recorded, traces
from liquidtime.solvers import RK4, Hold, SemiImplicit
from paper.small_runs import shrink_head, written


@pytest.fixture
def on():
    torch.manual_seed(0)
    T = 40
    ltc = NCP.driver(SETTINGS, 3).network.requires_grad_(False).eval()
    x = torch.tanh(torch.randn(1, T, 64).cumsum(1) / 3)
    return Course(ltc, x, 0.08 + 0.1 * torch.rand(1, T), torch.zeros(T))


def test_traces_end_in_what_the_layer_gives(on):
    cell = on.ltc.cells[0]
    found = traces(on, SemiImplicit(), 6)
    expected, _ = on.ltc(on.x, dt=on.dt)
    torch.testing.assert_close(cell.read_out(found.float()), expected[0], atol=1e-5, rtol=1e-4)


def test_errors_fall_in_the_order_of_the_methods(on):
    fine = traces(on, RK4(), FINE)
    assert float((fine - traces(on, RK4(), FINE // 2)).abs().max()) < 1e-4
    error = {name: float((row.model.traces(on, fine) - fine).square().mean()) for name, row in ROWS.items()}
    assert error["midpoint"] < error["hold"] < error["repaired"]
    assert error["midpoint"] < error["semi_implicit"] < error["repaired"]
    assert error["printed_recorded"] > 10 * error["repaired_recorded"]
    assert error["hold"] < 1e-3


def test_recorded_activity_needs_no_state_of_its_own(on):
    """The last sample alone, with the time since the start, gives what the whole run gives there."""
    fine = traces(on, RK4(), 8)
    whole = from_recorded(on, fine, repaired=True)
    late = Course(on.ltc, on.x[:, -1:], on.dt.double().sum(1, keepdim=True), on.y)
    torch.testing.assert_close(from_recorded(late, fine[-1:], repaired=True)[0], whole[-1])


def test_errors_by_hand():
    found = torch.tensor([[1.0, 0.0], [1.0, 2.0]], dtype=torch.float64)
    errors = _errors(found, torch.zeros_like(found), 3.0)
    assert errors["mse_per_neuron"] == [1.0, 2.0]
    assert (errors["mse"], errors["mse_motor"], errors["mse_output"], errors["largest"]) == (1.5, 1.0, 9.0, 2.0)
    assert errors["overflow"] is None
    found[1, 1] = torch.inf
    errors = _errors(found, torch.zeros_like(found), 3.0)
    assert (errors["mse"], errors["mse_per_neuron"], errors["overflow"]) == (None, [1.0, None], 1)


def test_the_network_is_read_from_its_file_and_trained_where_there_is_none(tmp_path_factory, tmp_path, monkeypatch):
    shrink_head(monkeypatch)
    split = TIGHTNESS.load(written(tmp_path_factory.getbasetemp() / "data"), window=4)
    run = Trial(
        task=TASK,
        split=split,
        honest=True,
        seed=0,
        folder=tmp_path / "run",
        progress=False,
        kept=tmp_path / "kept",
    )
    settings = dataclasses.replace(SETTINGS, epochs=1)
    first = course(run, NCP, settings)
    assert (tmp_path / "kept" / "lane-ncp-seed0.safetensors").stat().st_size < 40_000
    monkeypatch.setattr(type(NCP), "fit", None)
    second = course(run, NCP, settings)
    assert all(torch.equal(value, second.ltc.state_dict()[name]) for name, value in first.ltc.state_dict().items())
    assert torch.equal(first.x, second.x)
    outcome = dataclasses.replace(ROWS["hold"].model, ncp_settings=settings).fit(run, None)
    assert outcome.prediction.shape == (2, 4)
    assert outcome.figures["speed"]["speedup"] > 0
    cell = second.ltc.cells[0]
    expected = cell.read_out(traces(second, Hold(), 1))[:, 0]
    torch.testing.assert_close(torch.from_numpy(outcome.prediction).flatten(), expected)
    found, fine = traces(second, Hold(), 1), traces(second, RK4(), FINE)
    own = traces(second, cell.solver, cell.unfolds)
    for name, other in (("fine", fine), ("own", own)):
        error = float((found - other).square().mean())
        assert outcome.figures[f"against_{name}"]["mse"] == pytest.approx(error, rel=1e-6)
    assert float((fine - own).square().mean()) > 1e-9  # or the test above could not tell them apart
    change = float((fine - traces(second, RK4(), FINE // 2)).abs().max())
    assert outcome.figures["fine_change"] == pytest.approx(change, rel=1e-6)
    with pytest.raises(ValueError, match="must have a folder `kept`"):
        course(dataclasses.replace(run, kept=None), NCP, settings)
