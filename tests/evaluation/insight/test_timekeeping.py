"""Units, gaps and trajectories of networks of which something is known."""

import numpy as np
import pytest
import torch

import liquidtime as lt
from estimators.small import TINY, series
from liquidtime.evaluation.insight.time_constants import time_constants
from liquidtime.evaluation.insight.units import _correlations, _followed


@pytest.fixture(scope="module")
def fitted():
    data, labels, _ = series(40)
    return lt.CfCClassifier(n_estimators=2, **TINY | {"epochs": 1}).fit(data, labels), data


def test_units_have_constants_in_the_unit_of_the_data(fitted):
    model, data = fitted
    found = lt.insight.units(model, data)
    assert len(found.units) == 16
    rows = np.flatnonzero(data.lengths > 0)
    sample = model.encode(data[rows]).prepared().at(np.arange(len(rows)))
    expected = time_constants(model.networks_[1].recurrent, sample.x, sample.dt, sample.lengths)
    mine = [unit.time_constant for unit in found.units if unit.network == 1]
    np.testing.assert_allclose(mine, expected * model.encoder_.time_scale_, rtol=1e-6)
    assert set(found.followed()) <= {"drift", "noise", "time since the start"}
    assert len(found.plot().axes) == 1


def test_a_unit_follows_what_it_is_made_of(fitted):
    """A state that is the last value of a channel follows it entirely."""
    _, data = fitted
    names, followed = _followed(data)
    states = np.stack([np.nan_to_num(followed[:, 0]) * -2 + 1, np.zeros(len(followed))], axis=1)
    links = _correlations(states, followed)
    assert links[0, names.index("drift")] == pytest.approx(-1.0, abs=0.2)
    known = ~np.isnan(followed[:, 0])
    np.testing.assert_allclose(_correlations(states[known], followed[known])[0, 0], -1.0)
    np.testing.assert_array_equal(links[1], 0)
    first = int(data.offsets[5])
    seen = data[5].values[:, 0]
    assert followed[first + len(seen) - 1, 0] == pytest.approx(float(seen[~np.isnan(seen)][-1]))


def test_liquid_time_constants_are_those_of_the_equation():
    layer = lt.LTC(2, 3)
    cell = layer.cells[0]
    with torch.no_grad():
        for part in (cell.sensory, cell.recurrent):
            part.mask.zero_()  # no synapse: the rate is leak over capacitance
    x, dt = torch.randn(2, 4, 2), torch.ones(2, 4)
    expected = (cell.positive(cell.capacitance) / cell.positive(cell.leak)).detach().numpy()
    np.testing.assert_allclose(time_constants(layer, x, dt, torch.tensor([4, 2])), expected, rtol=1e-5)


def test_responses_are_differences_of_predictions(fitted):
    model, data = fitted
    found = lt.insight.gap_response(model, data, ["drift"])
    some = [row for row in range(len(data)) if data.lengths[row]][:24]
    gap = found.gaps[3]
    apart = []
    for row in some:
        said = []
        for value in (found.low[0], found.high[0]):
            one = data[row]
            values = np.concatenate([one.values, np.array([[value, np.nan, np.nan]], dtype=np.float32)])
            times = np.append(one.times, one.times[-1] + gap)
            longer = data[[row]].replace_unchecked(offsets=np.array([0, len(times)]), times=times, values=values)
            said.append(model.predict_proba(longer)[0])
        apart.append(np.abs(said[1] - said[0]).max())
    assert found.responses[0, 3] == pytest.approx(np.mean(apart), abs=1e-6)
    assert len(found.plot().axes[0].lines) == 1


def test_trajectories_are_the_states_of_the_network(fitted):
    model, data = fitted
    found = lt.insight.state_trajectories(model, data, 6)
    sample = model.encode(data[[6]]).prepared().at([0])
    with torch.no_grad():
        y, _ = model.networks_[0].recurrent(sample.x, dt=sample.dt, lengths=sample.lengths)
    np.testing.assert_allclose(found.states, y[0].numpy(), atol=1e-6)
    np.testing.assert_allclose(found.times, data[6].times)
    assert lt.insight.state_trajectories(model, data, 0) is None  # no sample


def test_networks_of_whole_series_have_no_units():
    data, labels, _ = series(24)
    model = lt.CfCClassifier(network="seft", **TINY | {"epochs": 1}).fit(data, labels)
    assert lt.insight.units(model, data) is None
    with pytest.raises(ValueError, match="reads whole series"):
        lt.insight.circuit(model, data)
    explanation = lt.explain(model, data, labels, repeats=1, most_series=6, most_presence=0)
    assert explanation.units is None
    assert explanation.effects
