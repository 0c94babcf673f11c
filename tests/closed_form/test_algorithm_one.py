"""Algorithm 1 equals its two loops over recorded activity, and is what it is said to be as a step."""

import numpy as np
import pytest
import torch

import liquidtime as lt
from liquidtime.closed_form import AlgorithmOne, algorithm_one
from liquidtime.solvers import RK4, Hold
from oracles import algorithm_one as oracle

B, T, D, H = 2, 3, 4, 5
# Neuron 3 has no synapses at all, neuron 4 only one from an input.
ADJACENCY = [[1, -1, 0, 0, 0], [0, 0, 1, 0, 0], [1, 0, -1, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0]]
SENSORY = [[1, 0, 0, 0, 0], [0, -1, 0, 0, 0], [0, 0, 1, 0, -1], [1, 1, 0, 0, 0]]
EACH = pytest.mark.parametrize("repaired", [True, False], ids=["repaired", "printed"])


@pytest.fixture
def cell():
    torch.manual_seed(3)
    cell = lt.cells.LTCCell(D, wiring=lt.wirings.Adjacency(ADJACENCY, SENSORY, 2)).double()
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter += 0.1 * torch.randn_like(parameter)  # also affine maps and potentials of absent synapses
    return cell


@pytest.fixture
def recorded():
    generator = torch.Generator().manual_seed(4)
    x, activity, t = (torch.randn(B, T, n, generator=generator, dtype=torch.float64) for n in (D, H, 1))
    return x, activity, t.abs().cumsum(1)[..., 0], torch.randn(B, H, generator=generator, dtype=torch.float64)


@EACH
def test_equals_the_loops_of_the_paper(cell, recorded, repaired):
    x, activity, t, x0 = recorded
    loops = oracle.weighted if repaired else oracle.printed
    p = oracle.parameters(cell)
    expected = [
        [loops(p, x[b, k].numpy(), activity[b, k].numpy(), float(t[b, k]), x0[b].numpy()) for k in range(T)]
        for b in range(B)
    ]
    given = algorithm_one(cell, x, activity, t, x0, repaired=repaired).detach()
    np.testing.assert_allclose(given, expected, rtol=1e-12, atol=1e-13)


@EACH
def test_free_running_is_the_same_formula_from_the_last_state(cell, recorded, repaired):
    x, activity, t, _ = recorded
    v = activity[:, 0]
    step = AlgorithmOne(repaired=repaired).integrate(cell.drive(x[:, 0]), v, t[:, :1], 1)
    assert torch.equal(step, algorithm_one(cell, x[:, :1], v.unsqueeze(1), t[:, :1], v, repaired=repaired)[:, 0])


@EACH
def test_one_start_serves_every_series(cell, recorded, repaired):
    x, activity, t, x0 = recorded
    one = algorithm_one(cell, x, activity, t, x0[0], repaired=repaired)
    assert torch.equal(one, algorithm_one(cell, x, activity, t, x0[:1].expand(B, H), repaired=repaired))


def test_neurons_without_synapses(cell, recorded):
    x, activity, t, x0 = recorded
    p = oracle.parameters(cell)
    assert bool((algorithm_one(cell, x, activity, t, x0, repaired=False)[..., 3] == 0).all())
    rate, rest = p["gl"][3] / p["cm"][3], p["vl"][3]
    leak_alone = rest + (x0[:, 3:4].numpy() - rest) * np.exp(-rate * t.numpy())
    repaired = algorithm_one(cell, x, activity, t, x0)[..., 3].detach()
    np.testing.assert_allclose(repaired, leak_alone, rtol=1e-12)


def test_repaired_is_hold_with_the_factor_phi(cell, recorded):
    x, activity, t, _ = recorded
    drive, v, h = cell.drive(x[:, 0]), activity[:, 0], t[:, :1]
    rate, push = drive(v)
    A = push / rate
    at_once = AlgorithmOne().step(drive, v, 0 * h)
    phi = (at_once - A) / (v - A)  # what dt = 0 leaves of the distance to A
    assert bool(((phi > 0) & (phi < 1))[:, [0, 1, 2, 4]].all())
    held = Hold().step(drive, v, h)
    torch.testing.assert_close(AlgorithmOne().step(drive, v, h), A + phi * (held - A))


def test_printed_grows_with_the_number_of_synapses():
    """With all synapses alike and long times, the printed sum is their number times one reversal potential."""
    for n in (1, 7, 50):
        cell = lt.cells.LTCCell(n, wiring=lt.wirings.Adjacency([[0]], [[1]] * n))
        x, t = torch.zeros(1, 1, n), torch.full((1, 1), 1e4)
        sums = [
            float(algorithm_one(cell, x, torch.zeros(1, 1, 1), t, torch.zeros(1, 1)[0], repaired=repaired).detach())
            for repaired in (False, True)
        ]
        assert sums[0] == pytest.approx(n)
        assert -0.2 < sums[1] < 1


def test_recorded_use_long_after_the_start(cell):
    """A resting network is at A of its own activity, so the repaired form returns it; the printed sum is far off."""
    x = torch.full((B, 1, D), 0.7, dtype=torch.float64)
    t, start = torch.full((B, 1), 100.0, dtype=torch.float64), torch.zeros(H, dtype=torch.float64)
    with torch.no_grad():
        rest = RK4().integrate(cell.drive(x[:, 0]), start.expand(B, H), t, 1000).unsqueeze(1)
        error = {
            repaired: float((algorithm_one(cell, x, rest, t, start, repaired=repaired) - rest).abs().max())
            for repaired in (True, False)
        }
    assert error[True] < 1e-9
    assert error[False] > 0.5


@EACH
def test_gradients(cell, recorded, repaired):
    x, activity, t, x0 = (part[:1].clone().requires_grad_() for part in recorded)

    def run(*args):
        return algorithm_one(cell, *args, repaired=repaired)

    assert torch.autograd.gradcheck(run, (x, activity, t, x0))


def test_equal_and_shown_by_its_form():
    assert AlgorithmOne() == AlgorithmOne(repaired=True) != AlgorithmOne(repaired=False)
    assert hash(AlgorithmOne()) == hash(AlgorithmOne(repaired=True))
    assert repr(AlgorithmOne(repaired=False)) == "AlgorithmOne(repaired=False)"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"x": torch.zeros(B, D)}, r"`x` must have shape \(B, T, D\); got \(2, 4\)"),
        ({"x": torch.zeros(B, T, D + 1)}, r"`x` must have shape \(B, T, D\) = \(2, 3, 4\); got \(2, 3, 5\)"),
        ({"recorded": torch.zeros(B, T, 1)}, r"`recorded` must have shape \(B, T, H\) = \(2, 3, 5\); got \(2, 3, 1\)"),
        ({"t": torch.zeros(T)}, r"`t` must have shape \(B, T\) = \(2, 3\); got \(3,\).*cumsum"),
        ({"x0": torch.zeros(T)}, r"`x0` must have shape \(B, H\) = \(2, 5\); got \(3,\)"),
        ({"t": torch.tensor([[0.0, 1, 2], [0, -1, 2]])}, r"1 of 6 times are not.*-1 in series 1 at position 1"),
        ({"t": torch.tensor([[0.0, 1, 2], [0, 1, torch.nan]])}, r"nan in series 1 at position 2"),
    ],
)
def test_refusals(cell, recorded, change, text):
    arguments = dict(zip(("x", "recorded", "t", "x0"), recorded, strict=True)) | change
    with pytest.raises(ValueError, match=text):
        algorithm_one(cell, **arguments)


def test_needs_synapses():
    with pytest.raises(TypeError, match=r"`drive` must be the result of LTCCell.drive; got function"):
        AlgorithmOne().step(lambda x: (x, x), torch.ones(1, 1), torch.ones(1, 1))
