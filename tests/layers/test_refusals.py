"""Bad input, each with its text."""

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence

import liquidtime as lt

B, T, D, H = 4, 6, 3, 5
NCP = lt.wirings.NCP(6, 4, 2, 3, 2, 3, 2)


@pytest.fixture
def rnn():
    return lt.CfC(D, H, backbone_units=4)


@pytest.fixture
def x():
    return torch.randn(B, T, D)


def refused(error, text, function, *args, **kwargs):
    with pytest.raises(error) as caught:
        function(*args, **kwargs)
    assert text in str(caught.value), str(caught.value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-0.5, "1 of 24 intervals are not. The first is negative (-0.5) in series 2 at position 3."),
        (float("nan"), "The first is NaN (nan) in series 2 at position 3."),
        (float("inf"), "The first is infinite (inf) in series 2 at position 3."),
    ],
)
def test_dt_that_is_no_interval(rnn, x, value, text):
    dt = torch.ones(B, T)
    dt[2, 3] = value
    refused(ValueError, text, rnn, x, dt=dt)
    refused(ValueError, "For absolute times pass lt.elapsed(times).", rnn, x, dt=dt)
    column = dt[:, 3]
    refused(ValueError, "in series 2 at position 0", rnn.step, x[:, 3], None, column)


def test_padding_of_dt_is_not_looked_at_by_its_value(rnn, x):
    dt = torch.ones(B, T)
    dt[1, 5] = float("nan")
    refused(ValueError, "in series 1 at position 5", rnn, x, dt=dt)
    rnn(x, dt=dt, lengths=[6, 5, 6, 6])


def test_dt_of_another_shape(rnn, x):
    text = "`dt` must have shape (B, T) = (4, 6); got (4,). For absolute times pass lt.elapsed(times)."
    refused(ValueError, text, rnn, x, dt=torch.ones(B))
    refused(ValueError, "`dt` must have shape (B, T) = (4, 6); got (6, 4).", rnn, x, dt=torch.ones(T, B))
    refused(ValueError, "got (4, 6, 2).", rnn, x, dt=torch.ones(B, T, 2))
    turned = lt.CfC(D, H, batch_first=False)
    refused(ValueError, "`dt` must have shape (T, B) = (4, 6); got (6, 4).", turned, x, dt=torch.ones(T, B))
    refused(ValueError, "`dt` must have shape (B,) = (4,); got (6,).", rnn.step, x[:, 0], None, torch.ones(T))
    refused(TypeError, "`dt` must be a tensor, a number or None; got str.", rnn, x, dt="1")
    refused(TypeError, "`dt` must be real numbers; got torch.bool", rnn, x, dt=torch.ones(B, T, dtype=torch.bool))


def test_x_of_another_shape(rnn, x):
    refused(ValueError, "`x` must have shape (B, T, D) = (4, 6, 3); got (4, 6, 7).", rnn, torch.randn(B, T, 7))
    refused(ValueError, "`x` must have shape (B, T, D), or (T, D) for one series; got (3,).", rnn, x[0, 0])
    refused(ValueError, "`x` must have shape (B, D) = (4, 3); got (4, 2).", rnn.step, x[:, 0, :2])
    refused(ValueError, "`x` must have shape (B, D), or (D,) for one series; got (4, 6, 3).", rnn.step, x)
    refused(TypeError, "`x` must be a tensor or a PackedSequence; got list", rnn, [[1.0]])


@pytest.mark.parametrize(
    ("lengths", "error", "text"),
    [
        ([6, 6, -1, 6], ValueError, "`lengths` must be in 0…T = 0…6; series 2 has -1"),
        ([6, 7, 1, 6], ValueError, "`lengths` must be in 0…T = 0…6; series 1 has 7"),
        ([6, 6], ValueError, "`lengths` must have shape (B,) = (4,); got (2,)."),
        ([6.0, 1.0, 2.0, 3.0], TypeError, "`lengths` must be whole numbers; got torch.float32"),
    ],
)
def test_lengths(rnn, x, lengths, error, text):
    refused(error, text, rnn, x, lengths=lengths)


def test_lengths_where_there_is_no_batch_or_a_packed_one(rnn, x):
    refused(ValueError, "`lengths` are for a batch", rnn, x[0], lengths=[3])
    packed = pack_padded_sequence(x, [6, 5, 4, 3], batch_first=True)
    refused(ValueError, "a PackedSequence already has its lengths", rnn, packed, lengths=[6, 5, 4, 3])
    other = pack_padded_sequence(torch.ones(B, T), [6, 5, 4, 2], batch_first=True)
    refused(ValueError, "`dt` must be packed with the same lengths", rnn, packed, dt=other)
    refused(TypeError, "Pack both or neither", rnn, x, dt=other)


def test_a_state_of_another_layer(rnn, x):
    text = (
        "`h0` must have shape (layers·directions, B, H) = (1, 4, 5); got (2, 4, 5). "
        "Pass the state that the layer returned."
    )
    refused(ValueError, text, rnn, x, torch.zeros(2, B, H))
    refused(ValueError, "= (1, 4, 5); got (4, 5).", rnn, x, torch.zeros(B, H))
    refused(
        ValueError,
        "`h0` must be a tensor, as returned by this layer; got 2 part(s).",
        rnn,
        x,
        (torch.zeros(1, B, H),) * 2,
    )
    mixed = lt.CfC(D, H, mixed_memory=True)
    refused(ValueError, "`h0` must be a tuple of 2 tensors", mixed, x, torch.zeros(1, B, H))
    refused(ValueError, "(layers·directions, H) = (1, 5); got (1, 4, 5)", rnn, x[0], torch.zeros(1, B, H))


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"variant": "cfc2"}, ValueError, "`variant` must be one of 'cfc', 'no_gate'"),
        ({"variant": "nogate"}, ValueError, "did you mean `no_gate`?"),
        ({"backbone_activation": "rely"}, ValueError, "got 'rely'; did you mean `relu`?"),
        ({"head_activation": "relu"}, ValueError, "`head_activation` must be one of 'tanh', 'lecun_tanh'"),
        ({"backbone_unit": 3}, TypeError, "`backbone_unit` is not an argument of CfC; did you mean `backbone_units`?"),
        ({"backbone_layers": -1}, ValueError, "`backbone_layers` must be at least 0; got -1"),
        ({"backbone_units": 1.5}, TypeError, "`backbone_units` must be a whole number; got 1.5"),
        ({"backbone_dropout": 1.0}, ValueError, "`backbone_dropout` must be at least 0 and less than 1; got 1.0"),
        ({"mixed_memory": "both"}, ValueError, "`mixed_memory` must be one of 'False', 'True', 'hidden', 'input'"),
        ({"forget_bias": 2.0}, ValueError, "`forget_bias` applies only to a mixed memory"),
        ({"num_layers": 0}, ValueError, "`num_layers` must be at least 1; got 0"),
        ({"dropout": 0.5}, ValueError, "`dropout` acts between layers, and there is only one"),
        ({"dropout_placement": "first"}, ValueError, "`dropout_placement` must be one of"),
        ({"wiring": NCP}, ValueError, "`hidden_size` must be the number of neurons of the wiring, 12, or None; got 5"),
        ({"wiring": 12}, TypeError, "`wiring` must be a Wiring of liquidtime.wirings; got int"),
        ({"variant": "cf_s", "head_activation": "tanh"}, TypeError, "`head_activation` is not an argument of CfSCell"),
        ({"variant": "cfc", "amplitude": "free"}, TypeError, "`amplitude` is not an argument of CfCCell"),
        ({"variant": "cf_s_paper", "amplitude": "x"}, ValueError, "`amplitude` must be one of 'free', 'state'"),
    ],
)
def test_options(options, error, text):
    refused(error, text, lt.CfC, D, H, **options)


def test_sizes():
    refused(ValueError, "`input_size` must be at least 1; got 0", lt.CfC, 0, H)
    refused(TypeError, "`hidden_size` must be a whole number; got None", lt.CfC, D)
    refused(TypeError, "got a wiring. Pass it as wiring=...", lt.CfC, D, NCP)
    refused(TypeError, "got a wiring. Pass it as wiring=...", lt.LTC, D, NCP)
    refused(ValueError, "`solver` must be one of 'semi_implicit'", lt.LTC, D, H, solver="implicit")
    refused(ValueError, "`unfolds` must be at least 1; got 0", lt.LTC, D, H, unfolds=0)
    refused(TypeError, "`unfold` is not an argument of LTC; did you mean `unfolds`?", lt.LTC, D, H, unfold=3)


def test_a_wiring_with_other_inputs():
    graph = NCP.build(20)
    refused(ValueError, "`wiring` was made for 20 inputs; got input_size 3", lt.LTC, D, wiring=graph)
    refused(ValueError, "`wiring` was made for 20 inputs; got input_size 3", lt.CfC, D, wiring=graph)
    refused(ValueError, "`backbone_units` has no effect with a wiring", lt.CfC, D, wiring=NCP, backbone_units=64)


def test_step_of_both_directions(x):
    both = lt.CfC(D, H, bidirectional=True)
    refused(ValueError, "`step` needs a layer that only runs forward", both.step, x[:, 0])


def test_mixed_memory_by_hand():
    cell = lt.cells.CfCCell(D, H)
    refused(ValueError, "`input_size` must be given", lt.cells.MixedMemory, cell, "input")
    refused(ValueError, "as many inputs as hidden units", lt.cells.MixedMemory, cell, "input", input_size=D)
    refused(ValueError, "`structure` must be one of 'hidden', 'input'", lt.cells.MixedMemory, cell, "output")


def test_a_good_call_costs_one_reduction(rnn, x):
    dt = torch.rand(B, T)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], acc_events=True) as profile:
        lt._checks.check_dt(dt)
    counts = {event.key: event.count for event in profile.key_averages()}
    assert counts["aten::aminmax"] == 1
    assert not any(key in counts for key in ("aten::any", "aten::min", "aten::max", "aten::sum", "aten::nonzero"))
