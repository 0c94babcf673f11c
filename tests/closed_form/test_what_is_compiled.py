"""Liquid cells are compiled and nothing else is: every cell of the package, and what a user may pass beside them."""

import inspect
from functools import partial

import pytest
import torch
from torch import nn

import liquidtime as lt
from liquidtime import baselines, cells, theory
from liquidtime.baselines import recurrent
from liquidtime.closed_form import AlgorithmOne, algorithm_one
from liquidtime.closed_form.recording import record
from liquidtime.compat import ncps
from liquidtime.compat.ncps.torch.ltc_cell import MembraneCell
from liquidtime.solvers import Hold

D, H = 3, 5
NCP = lt.wirings.NCP(3, 2, 1, 2, 2, 2, 2)
WIRED = lt.wirings.Random(H, 2, 0.3)
SIGNAL = {"x": torch.ones(2, 4, D), "dt": torch.full((2, 4), 0.1)}


class Shifted(cells.LTCCell):
    """Has a forward of its own, which still asks the solver."""

    def forward(self, x, state, dt):
        y, state = super().forward(x + 1, state, dt)
        return 2 * y, state


class Stepwise(cells.LTCCell):
    def forward(self, x, state, dt):
        v = self.solver.step(self.drive(x), state[0], dt.unsqueeze(-1))
        return self.read_out(v), (v,)


class Deaf(cells.LTCCell):
    """Has a forward of its own that no solver changes."""

    def forward(self, x, state, dt):
        v = 0.5 * state[0]
        return self.read_out(v), (v,)


class OwnDrive(cells.LTCCell):
    def drive(self, x):
        return lambda v: (1 + v.square(), v.cos())


class Twice(cells.Cell):
    """Calls the liquid cell inside it two times per sample."""

    def __init__(self, width):
        super().__init__()
        self.inner = cells.LTCCell(width, H)
        self.input_size, self.output_size, self.state_sizes = width, H, (H,)

    def forward(self, x, state, dt):
        return self.inner(x, self.inner(x, state, dt / 2)[1], dt / 2)


class Silent(Twice):
    """Uses the equation of the liquid cell inside it and never calls it."""

    def forward(self, x, state, dt):
        v = Hold().step(self.inner.drive(x), state[0], dt.unsqueeze(-1))
        return v, (v,)


class Pooled(lt.LTC):
    """A layer that returns its last output alone."""

    def forward(self, *args, **kwargs):
        return super().forward(*args, **kwargs)[0][:, -1]


LIQUID = {
    "LTCCell": lambda d: cells.LTCCell(d, H),
    "LTCCell-wired": lambda d: cells.LTCCell(d, wiring=WIRED),
    "LTCCell-NCP": lambda d: cells.LTCCell(d, wiring=NCP),
    "MixedMemory-hidden": lambda d: cells.MixedMemory(cells.LTCCell(d, wiring=WIRED)),
    "MixedMemory-input": lambda d: cells.MixedMemory(cells.LTCCell(H, H), "input", input_size=d),
    "MixedMemory-twice": lambda d: cells.MixedMemory(cells.MixedMemory(cells.LTCCell(d, H))),
    "Shifted": lambda d: Shifted(d, H),
    "Stepwise": lambda d: Stepwise(d, H),
    "OwnDrive": lambda d: OwnDrive(d, H),
}
MADE_OTHERWISE = {
    "ImputeGRUCell": lambda d: cells.ImputeGRUCell(d, H, masks=[1]),
    "MixedMemory": lambda d: cells.MixedMemory(cells.CfCCell(d, H, backbone_units=4)),
    "WiredCfCCell": lambda d: cells.WiredCfCCell(d, WIRED),
}


def other_cells():
    """Return {name: function from the number of inputs to a cell} of every cell of the package that is not liquid."""
    subjects = {}
    for room in (cells, recurrent):
        for name in room.__all__:
            kind = getattr(room, name)
            if inspect.isclass(kind) and issubclass(kind, cells.Cell) and not inspect.isabstract(kind):
                subjects[name] = MADE_OTHERWISE.get(name, partial(_make, kind))
    del subjects["LTCCell"]
    assert len(subjects) > 28
    return subjects


def _make(kind, width):
    return kind(width, H)


OTHERS = other_cells()


@pytest.mark.parametrize("name", LIQUID)
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}], ids=["plain", "stacked"])
def test_liquid_cells_are_compiled(name, options):
    layer = lt.Recurrent(LIQUID[name], D, **options)
    before = [type(module) for module in layer.modules()]
    out = lt.compile_ltc(layer, "hold", **SIGNAL)
    liquid = [module for module in out.modules() if isinstance(module, cells.LTCCell)]
    assert [type(module) for module in out.modules()] == before
    assert {(cell.solver, cell.unfolds) for cell in liquid} == {(Hold(), 1)}
    assert len(out.report.mse_per_neuron) == len(liquid) == len(layer.cells)
    assert out.report.reference_settled
    assert not torch.equal(out(**SIGNAL)[0], layer(**SIGNAL)[0])


@pytest.mark.parametrize("name", OTHERS)
def test_no_other_cell_of_the_package_is(name):
    layer = lt.Recurrent(OTHERS[name], D)
    kind = type(layer.cells[0]).__name__
    for method in ("paper", "hold", "midpoint"):
        with pytest.raises(TypeError, match=rf"`ltc` must be .* got Recurrent of {kind}. Only an LTCCell, or a Mixed"):
            lt.compile_ltc(layer, method)
    with pytest.raises(TypeError, match=rf"`ltc` must be a layer of liquid cells; got {kind}\. Make one"):
        lt.compile_ltc(layer.cells[0], "hold")
    with pytest.raises(TypeError, match=rf"`cell` must be an LTCCell; got {kind}\."):
        algorithm_one(layer.cells[0], torch.zeros(1, 1, D), torch.zeros(1, 1, H), torch.zeros(1, 1), torch.zeros(H))


@pytest.mark.parametrize("name", [name for name, make in OTHERS.items() if make(D).state_sizes == (H,)])
def test_a_cell_of_another_kind_stays_as_it_is_beside_a_liquid_one(name):
    torch.manual_seed(0)
    made = iter((lambda d: cells.LTCCell(d, H), OTHERS[name]))
    layer = lt.Recurrent(lambda width: next(made)(width), D, num_layers=2)
    out = lt.compile_ltc(layer, "hold", **SIGNAL)
    assert out.cells[0].solver == Hold()
    assert vars(out.cells[1]).get("solver") == vars(layer.cells[1]).get("solver")
    assert len(out.report.mse_per_neuron) == 1


def shared():
    cell = cells.LTCCell(D, wiring=lt.wirings.FullyConnected(D))
    return lt.Recurrent(lambda width: cell, D, num_layers=2)


def membrane(width):
    return MembraneCell(
        lt.wirings.Adjacency(torch.ones(H, H).numpy(), torch.ones(width, H).numpy(), H), 6, 1e-8, True, []
    )


REFUSED = {
    "CfC": (lambda: lt.CfC(D, H), r"got CfC of CfCCell. Only an LTCCell"),
    "CfC-wired": (lambda: lt.CfC(D, wiring=NCP), r"got CfC of WiredCfCCell. Only"),
    "CfC-mixed-memory": (lambda: lt.CfC(D, H, mixed_memory=True), r"got CfC of MixedMemory. Only"),
    "nn.LSTM": (lambda: nn.LSTM(D, H), r"got LSTM. Make one with lt.LTC\(...\)."),
    "nn.Linear": (lambda: nn.Linear(D, H), r"got Linear. Make one"),
    "a-string": (lambda: "ltc", r"got str. Make one"),
    "None": (lambda: None, r"got NoneType. Make one"),
    "the-class": (lambda: lt.LTC, r"got the class LTC. Pass a trained layer"),
    "LTCCell": (lambda: cells.LTCCell(D, H), r"got LTCCell. A cell is compiled inside its layer: pass lt.Recurrent"),
    "MixedMemory": (lambda: cells.MixedMemory(cells.LTCCell(D, H)), r"got MixedMemory. A cell is compiled inside"),
    "Sequential": (lambda: nn.Sequential(nn.ReLU(), lt.LTC(D, H)), r"got Sequential. Pass the LTC inside it."),
    "ModuleList": (lambda: nn.ModuleList([cells.LTCCell(D, H)]), r"got ModuleList. Its liquid cells are in no lt.Rec"),
    "ncps": (lambda: ncps.torch.LTC(D, H), r"got LTC. (Pass the|Its liquid cells)"),
    "a-series-model": (lambda: baselines.Transformer(D, 4), r"got Transformer. Make one"),
    "Deaf": (lambda: lt.Recurrent(lambda d: Deaf(d, H), D), r"Deaf has a forward of its own that does not call it"),
    "MembraneCell": (lambda: lt.Recurrent(membrane, D), r"MembraneCell has a forward of its own"),
    "Twice": (lambda: lt.Recurrent(Twice, D), r"its LTCCell was called 8 times for 4 samples"),
    "Silent": (lambda: lt.Recurrent(Silent, D), r"its LTCCell was called 0 times for 4 samples"),
    "shared": (shared, r"its LTCCell was called 8 times for 4 samples. Use each cell in one place only"),
    "Pooled": (lambda: Pooled(D, H), r"the forward of Pooled does not"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("method", ["paper", "hold", "midpoint"])
def test_refused_by_name(name, method):
    make, text = REFUSED[name]
    subject = make()
    with pytest.raises(TypeError, match=rf"^`ltc` must .*{text}"):
        lt.compile_ltc(subject, method, **SIGNAL)


def test_the_papers_method_needs_the_synapses():
    layer = lt.Recurrent(LIQUID["OwnDrive"], D)
    with pytest.raises(TypeError, match=r"`drive` must be the result of LTCCell.drive; got function, without"):
        lt.compile_ltc(layer, "paper", **SIGNAL)
    times, state = torch.zeros(1, 1), torch.zeros(H)
    with pytest.raises(TypeError, match=r"the `drive` of OwnDrive returns function, which has no synapses"):
        algorithm_one(layer.cells[0], torch.zeros(1, 1, D), torch.zeros(1, 1, H), times, state)


@pytest.mark.parametrize(
    ("subject", "hint"),
    [
        (lt.LTC(D, H), "layer.cells\\[0\\]"),
        (cells.MixedMemory(cells.LTCCell(D, H)), "`cell.cell`"),
        ("ltc", "Make one"),
    ],
    ids=["LTC", "MixedMemory", "str"],
)
def test_algorithm_one_says_where_the_cell_is(subject, hint):
    with pytest.raises(TypeError, match=rf"`cell` must be an LTCCell; got {type(subject).__name__}\. .*{hint}"):
        algorithm_one(subject, torch.zeros(1, 1, D), torch.zeros(1, 1, H), torch.zeros(1, 1), torch.zeros(H))


@pytest.mark.parametrize("name", ["x", "recorded", "t", "x0"])
def test_algorithm_one_takes_tensors(name):
    tensors = {
        "x": torch.zeros(1, 1, D),
        "recorded": torch.zeros(1, 1, H),
        "t": torch.zeros(1, 1),
        "x0": torch.zeros(H),
    }
    with pytest.raises(TypeError, match=rf"`{name}` must be a tensor; got ndarray"):
        algorithm_one(cells.LTCCell(D, H), **tensors | {name: tensors[name].numpy()})


def test_conductances_that_are_no_softplus_are_weighted_as_the_cell_has_them():
    """φ is a mean over synapses, so that with all of them half open it is 1/2, whatever the conductances are."""
    cell = MembraneCell(lt.wirings.Adjacency([[1, 1], [1, 1]], [[1, 1]], 2), 6, 1e-8, False, [])
    with torch.no_grad():
        for synapses in (cell.sensory, cell.recurrent):
            synapses.mu.zero_()
    zero = torch.zeros(1, 2)
    rate, push = cell.drive(zero[:, :1])(zero)
    x0 = torch.tensor([[1.0, -1.0]])
    at_once = algorithm_one(cell, zero[:, :1].unsqueeze(1), zero.unsqueeze(1), torch.zeros(1, 1), x0)[0]
    torch.testing.assert_close(at_once, (push / rate + x0) / 2)


def test_recording_leaves_the_layer_as_it_was():
    layer = lt.Recurrent(LIQUID["LTCCell"], D)
    solver = layer.cells[0].solver
    record(layer, SIGNAL["x"], None, SIGNAL["dt"], None)
    with pytest.raises(ValueError, match="`x` must have shape"):
        record(layer, SIGNAL["x"][..., :1], None, SIGNAL["dt"], None)
    assert layer.cells[0].solver is solver
    assert not layer.cells[0]._forward_hooks


def test_another_cell_takes_no_algorithm_one():
    cell = recurrent.CTRNNCell(D, H)
    cell.solver = AlgorithmOne()
    with pytest.raises(TypeError, match=r"got \w+, without synapses. Algorithm 1 sums over synapses"):
        cell(torch.zeros(1, D), cell.initial_state(torch.zeros(1, D)), torch.ones(1))


def test_the_theory_is_at_both_addresses():
    for name in theory.__all__:
        assert getattr(lt.closed_form, name) is getattr(theory, name)
    assert set(theory.__all__) < set(lt.closed_form.__all__)
