"""The one table of networks: what it says is what the constructors take, and everybody reads it."""

import inspect
from functools import partial

import pytest
import torch
from torch import nn

import liquidtime as lt
from benchmarks.side_by_side.contenders import CONTENDERS
from benchmarks.side_by_side.networks import CELLS
from estimators.small import TINY, series
from liquidtime import baselines, cells
from liquidtime.baselines import recurrent
from liquidtime.baselines.series import SequenceModel, Transformer
from liquidtime.networks import ALIASES, NETWORKS, canonical, check_network, entry_of, recurrent_layer, whole_series
from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.experiments.physionet import TASK
from liquidtime.paper.fitting import Settings
from liquidtime.paper.models import MODELS
from liquidtime.paper.models.network import Discrete
from subjects import SUBJECTS

STEPS = {name: entry for name, entry in NETWORKS.items() if not entry.reads_series}
WHOLE = {name: entry for name, entry in NETWORKS.items() if entry.reads_series}
DISCRETE = {"lstm": nn.LSTM, "augmented_lstm": nn.LSTM, "gru": nn.GRU, "rnn_delta_t": nn.GRU, "rnn": nn.RNN}
over_steps = pytest.mark.parametrize("name", STEPS)
over_whole = pytest.mark.parametrize("name", WHOLE)


def cell_of(name, D=6, H=4, U=7):
    return entry_of(name).cell(D, H, U, masks=range(D // 2, D))


@over_steps
def test_what_the_table_says_of_a_cell_is_what_its_constructor_takes(name):
    entry, cell = STEPS[name], cell_of(name)
    taken = inspect.signature(type(cell)).parameters
    if "masks" in taken:
        required = taken["masks"].default is inspect.Parameter.empty
        assert entry.masks == ("required" if required else "optional")
    else:
        assert entry.masks == "none"
    inner = cell.cell if isinstance(cell, cells.MixedMemory) else cell
    assert entry.backbone is isinstance(inner, cells.HeadedCell)
    if entry.backbone:
        narrow, wide = (sum(p.numel() for p in cell_of(name, U=units).parameters()) for units in (7, 8))
        assert narrow < wide
    assert entry.causal
    assert entry.stackable is (entry.masks != "required")


@over_whole
def test_what_the_table_says_of_a_model_is_what_its_class_says(name):
    entry = WHOLE[name]
    model = entry.model(6, 4, mask=True)
    assert isinstance(model, SequenceModel)
    assert entry.causal is model.causal
    assert (entry.masks == "optional") is model.takes_mask is model.mask
    if model.takes_mask:
        assert not entry.model(6, 4, mask=False).mask
    assert entry.stackable is ("num_layers" in inspect.signature(type(model)).parameters)


def test_every_cell_of_the_package_is_a_subject_of_the_contract_tests():
    subjects = {type(make(3)) for make in SUBJECTS.values()}
    for room in (cells, recurrent):
        for name in room.__all__:
            kind = getattr(room, name)
            if inspect.isclass(kind) and issubclass(kind, cells.Cell) and not inspect.isabstract(kind):
                assert kind in subjects, f"{name} needs a line in liquidtime.networks.table or in tests/subjects.py"


def test_every_comparison_model_is_in_the_table():
    built = {type(cell_of(name)) for name in STEPS} | {type(entry.model(6, 4)) for entry in WHOLE.values()}
    for room in (recurrent, baselines.series):
        for name in room.__all__:
            kind = getattr(room, name)
            assert inspect.isabstract(kind) or kind in built, f"{name} needs a line in liquidtime.networks.table"


@pytest.mark.parametrize("name", recurrent.__all__)
def test_comparison_cells_have_their_old_address(name):
    assert getattr(cells, name) is getattr(recurrent, name)
    assert getattr(lt.cells, name) is getattr(recurrent, name)
    scope = {}
    exec(f"from liquidtime.cells import {name}", scope)
    assert scope[name] is getattr(recurrent, name)


def test_an_unknown_address_is_refused():
    with pytest.raises(AttributeError, match=r"'liquidtime.cells' has no attribute 'LSTNCell'"):
        cells.LSTNCell  # noqa: B018


def test_other_names_mean_a_network_of_the_table():
    assert not set(ALIASES) & set(NETWORKS)
    for alias, name in ALIASES.items():
        assert canonical(alias) == name
        assert entry_of(alias) is NETWORKS[name]
    with pytest.raises(ValueError, match=r"`network` must be one of 'cfc', .*; got 'mm_rn'"):
        canonical("mm_rn")


def test_the_benchmarks_read_the_table():
    assert list(STEPS) == list(CELLS)
    assert set(CELLS) <= set(CONTENDERS)


SETTINGS = EXPERIMENTS["physionet"].rows["cfc"].settings


@pytest.mark.parametrize("name", sorted({*NETWORKS, *ALIASES} & set(MODELS)))
def test_a_name_of_the_paper_is_the_same_network(name):
    made = MODELS[name].make(6, SETTINGS, TASK)
    entry = entry_of(name)
    if name in DISCRETE:  # PyTorch's own layers, with the interval as an input or without
        assert isinstance(made, Discrete)
        assert type(made.network) is DISCRETE[name]
        assert made.has_time is cell_of(name).uses_dt
    elif entry.reads_series:
        assert type(made) is type(entry.model(6, 4))
    else:
        (cell,) = made.cells
        assert type(cell) is type(cell_of(name))
        if isinstance(cell, cells.MixedMemory):
            assert type(cell.cell) is type(cell_of(name).cell)


@pytest.mark.parametrize("network", ["wide", "narrow"])
def test_an_estimator_takes_a_model_whose_defaults_do_not_fit_a_width_of_two(monkeypatch, network):
    monkeypatch.setitem(NETWORKS, "wide", whole_series(partial(Transformer, heads=4)))
    monkeypatch.setitem(NETWORKS, "narrow", whole_series(partial(partial(Transformer, heads=4), dropout=0.0)))
    data, labels, _ = series(24)
    model = lt.CfCClassifier(**TINY | {"epochs": 1, "hidden_size": 8}, network=network, num_layers=2).fit(data, labels)
    assert [block.heads for block in model.networks_[0].recurrent.model.blocks] == [4, 4]


def test_a_function_is_no_model_of_whole_series():
    with pytest.raises(TypeError, match="`make` must be a subclass of SequenceModel"):
        whole_series(lambda D, H: Transformer(D, H))


@over_steps
@pytest.mark.parametrize(("D", "H", "U", "layers"), [(6, 2, 64, 1), (2, 3, 1, 2), (17, 5, 3, 3), (40, 16, 8, 1)])
def test_no_cell_is_below_its_lower_bound(name, D, H, U, layers):
    entry = STEPS[name]
    layers = layers if entry.stackable else 1
    layer = recurrent_layer(name, D, H, U, layers, range(D // 2 + D % 2, D))
    weights = list(layer.parameters())
    bound = entry.least_weights(D, H, U, layers)
    assert 0 < bound <= sum(weight.numel() for weight in weights)
    assert 0 < entry.least_tensors(layers) <= len(weights)
    assert entry.least_weights(D, 1000 * H, 1000 * U, layers) >= 1000 * bound


@over_whole
@pytest.mark.parametrize(("D", "H", "layers"), [(2, 2, 1), (6, 4, 3), (40, 16, 2)])
def test_no_model_is_below_its_lower_bound(name, D, H, layers):
    entry = WHOLE[name]
    layers = layers if entry.stackable else 1
    weights = list(entry.model(D, H, layers, mask=True).parameters())
    assert 0 < entry.least_weights(D, H, 1, layers) <= sum(weight.numel() for weight in weights)
    assert 0 < entry.least_tensors(layers) <= len(weights)
    assert entry.least_weights(D, 1000 * H, 1, layers) >= 10**6 * H * H


class TestMasks:
    def test_a_network_that_needs_them_is_refused_without(self):
        with pytest.raises(ValueError, match="`network` 'rnn_impute' needs inputs that say which values were observed"):
            recurrent_layer("rnn_impute", 4, 5)
        with pytest.raises(ValueError, match="`masks` must contain the mask column"):
            NETWORKS["rnn_impute"].cell(4, 5)

    def test_a_second_layer_of_it_is_refused(self):
        for refused in (check_network, lambda name, layers: recurrent_layer(name, 4, 5, num_layers=layers, masks=[2])):
            with pytest.raises(ValueError, match="`num_layers` must be 1 for network='rnn_impute', whose second layer"):
                refused("rnn_impute", 2)
        data, labels, _ = series(24)
        with pytest.raises(ValueError, match="`num_layers` must be 1 for network='rnn_impute'"):
            lt.CfCClassifier(**TINY | {"network": "rnn_impute", "num_layers": 2}).fit(data, labels)

    def test_only_the_first_layer_of_gru_d_has_them(self):
        for _ in range(2):  # a layer made before changes nothing
            first, second = recurrent_layer("gru_d", 4, 5, num_layers=2, masks=[2, 3]).cells
            assert first.imputed.masks.tolist() == [2, 3]
            assert type(second) is recurrent.GRUDCell
            assert second.imputed is None

    @pytest.mark.parametrize("name", [name for name in STEPS if STEPS[name].masks == "none"])
    def test_other_networks_do_not_look_at_them(self, name):
        torch.manual_seed(0)
        plain = recurrent_layer(name, 4, 5, 6)
        torch.manual_seed(0)
        masked = recurrent_layer(name, 4, 5, 6, masks=[2, 3])
        assert all(map(torch.equal, plain.state_dict().values(), masked.state_dict().values()))

    @pytest.mark.parametrize("name", [name for name in MODELS if name in NETWORKS and entry_of(name).masks != "none"])
    def test_word_vectors_are_never_taken_for_them(self, name):
        """Of samples without masks, as wide as [values ; mask] could be."""
        settings = Settings(**{**vars(SETTINGS), "hidden_size": 4})
        task = EXPERIMENTS["imdb"].task
        if entry_of(name).masks == "required":
            with pytest.raises(ValueError, match="needs inputs that say which values were observed"):
                MODELS[name].make(6, settings, task)
        else:
            made = MODELS[name].make(6, settings, task)
            assert not made.mask if isinstance(made, SequenceModel) else made.cells[0].imputed is None


@pytest.mark.parametrize("network", ["mtand", "gru", "gru_d", "rnn_impute"])
def test_encoders_without_masks(network):
    """The model of a folder may have been encoded without; no column of values is then taken for a mask."""
    data, labels, _ = series(24)
    model = lt.CfCClassifier(**TINY | {"epochs": 1, "network": network}).fit(data, labels)
    for blocks in (("values",), ("values", "since"), ("mask", "since")):
        encoder = lt.SeriesEncoder(blocks=blocks).fit(data)
        if network == "rnn_impute":
            with pytest.raises(ValueError, match="'rnn_impute' needs inputs that say which values were observed"):
                model._make_network(3, encoder, model.networks_[0].pieces)
            continue
        layer = model._make_network(3, encoder, model.networks_[0].pieces).recurrent
        x = torch.randn(2, 5, encoder.input_size_)
        y = layer(x, dt=torch.ones(2, 5), lengths=torch.tensor([5, 4]))[0]
        assert y.shape == (2, 5, model.hidden_size)
        if network == "mtand":
            assert not layer.model.mask
        elif network == "gru_d":
            assert layer.cells[0].imputed is None


def test_a_function_must_return_a_cell():
    with pytest.raises(TypeError, match="`network` must return a Cell; got Linear"):
        recurrent_layer(lambda D: nn.Linear(D, 2), 3, 4)
    with pytest.raises(TypeError, match="`network` must be a name or a function"):
        check_network(7)
    with pytest.raises(ValueError, match="`network` must run step by step; 'mtand' reads whole series"):
        recurrent_layer("mtand", 3, 4)
    assert recurrent_layer(lambda D: cells.GRUCell(D, 2), 3, 4).output_size == 2
