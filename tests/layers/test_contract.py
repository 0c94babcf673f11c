"""What must hold for every cell in a layer; the subjects are found in `liquidtime.cells`."""

import copy

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from liquidtime import LTC, CfC, Recurrent, wirings
from liquidtime.layers.time import reverse, reverse_intervals
from subjects import STRAIGHT_THROUGH, SUBJECTS, TRACED_ALIKE, D

NETWORKS = {
    **{name: lambda make=make: Recurrent(make, D) for name, make in SUBJECTS.items()},
    "CfC-stack": lambda: CfC(D, 5, backbone_units=4, num_layers=2, proj_size=3),
    "CfC-both-ways": lambda: CfC(D, 5, backbone_units=4, bidirectional=True, mixed_memory="input"),
    "CfC-both-ways-stack": lambda: CfC(D, 5, "no_gate", backbone_units=4, bidirectional=True, num_layers=2),
    "LTC-both-ways": lambda: LTC(D, 4, unfolds=2, bidirectional=True, proj_size=2),
    "LTC-stack-mixed": lambda: LTC(D, wiring=wirings.AutoNCP(7, 2), unfolds=2, num_layers=2, mixed_memory=True),
}
over_networks = pytest.mark.parametrize("name", NETWORKS)
over_forward = pytest.mark.parametrize("name", [name for name in NETWORKS if "both" not in name])
F64 = torch.float64


def make(name):
    torch.manual_seed(1)
    return NETWORKS[name]().to(F64)


def parts(h):
    return (h,) if isinstance(h, torch.Tensor) else h


def take(h, index):
    taken = tuple(part[:, index] for part in parts(h))
    return taken[0] if isinstance(h, torch.Tensor) else taken


def close(a, b, tolerance=1e-11):
    for one, other in zip(parts(a), parts(b), strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


def batch(B=4, T=6):
    return torch.randn(B, T, D, dtype=F64), torch.rand(B, T, dtype=F64) * 2


@over_networks
def test_a_row_is_what_it_is_alone_also_where_all_axes_are_equal(name):
    network = make(name)
    for B, T in ((4, 6), (network.hidden_size, network.hidden_size)):
        x, dt = batch(B, T)
        y, h = network(x, dt=dt)
        for i in range(B):
            y_alone, h_alone = network(x[i : i + 1], dt=dt[i : i + 1])
            close(y[i : i + 1], y_alone)
            close(take(h, slice(i, i + 1)), h_alone)


@over_networks
def test_padding_changes_nothing_gradients_included(name):
    network = make(name)
    x, dt = batch()
    lengths = [6, 3, 0, 1]
    x_bad, dt_bad = x.clone(), dt.clone()
    for i, length in enumerate(lengths):
        x_bad[i, length:] = float("nan")
        dt_bad[i, length:] = 7.0
    y, h = network(x_bad, dt=dt_bad, lengths=torch.tensor(lengths))
    (y.square().sum() + sum(part.sum() for part in parts(h))).backward()
    padded = {key: parameter.grad.clone() for key, parameter in network.named_parameters()}
    network.zero_grad()
    total = 0.0
    for i, length in enumerate(lengths):
        y_alone, h_alone = network(x[i : i + 1, :length], dt=dt[i : i + 1, :length])
        close(y[i : i + 1, :length], y_alone)
        assert not y[i, length:].any()
        close(take(h, slice(i, i + 1)), h_alone)
        total = total + y_alone.square().sum() + sum(part.sum() for part in parts(h_alone))
    total.backward()
    for key, parameter in network.named_parameters():
        close(padded[key], parameter.grad, 1e-9)


@over_forward
def test_cut_in_two_with_the_state_carried(name):
    network = make(name)
    x, dt = batch()
    y, h = network(x, dt=dt)
    y_first, middle = network(x[:, :2], dt=dt[:, :2])
    y_last, h_cut = network(x[:, 2:], middle, dt=dt[:, 2:])
    close(y, torch.cat([y_first, y_last], dim=1))
    close(h, h_cut)


@over_forward
def test_step_is_the_whole(name):
    network = make(name)
    x, dt = batch()
    y, h = network(x, dt=dt)
    state = None
    for k in range(x.shape[1]):
        y_k, state = network.step(x[:, k], state, dt[:, k])
        close(y[:, k], y_k)
    close(h, state)


@over_networks
def test_one_series_without_a_batch(name):
    network = make(name)
    x, dt = batch()
    y, h = network(x, dt=dt)
    y_one, h_one = network(x[2], dt=dt[2])
    close(y[2], y_one)
    close(take(h, 2), h_one)
    again, _ = network(x[2], h_one, dt=dt[2].unsqueeze(-1))
    expected, _ = network(x[2:3], take(h, slice(2, 3)), dt=dt[2:3])
    close(again, expected[0])
    if not network.bidirectional:
        y_step, h_step = network.step(x[2, 0], None, dt[2, 0])
        close(y_step, y[2, 0])
        assert [part.dim() for part in parts(h_step)] == [2] * len(parts(h_step))


@over_networks
def test_time_first(name):
    network = make(name)
    x, dt = batch()
    y, h = network(x, dt=dt, lengths=[6, 2, 5, 1])
    turned = copy.deepcopy(network)
    turned.batch_first = False
    for given in (dt.T, dt.T.unsqueeze(-1)):
        y_turned, h_turned = turned(x.transpose(0, 1), dt=given, lengths=[6, 2, 5, 1])
        close(y, y_turned.transpose(0, 1))
        close(h, h_turned)


@over_networks
@pytest.mark.parametrize("in_order", [True, False])
def test_packed(name, in_order):
    network = make(name)
    x, dt = batch()
    lengths = [6, 4, 2, 1] if in_order else [2, 6, 1, 4]
    y, h = network(x, dt=dt, lengths=lengths)
    packed_x = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=in_order)
    packed_dt = pack_padded_sequence(dt, lengths, batch_first=True, enforce_sorted=in_order)
    for given in (packed_dt, dt):
        packed_y, packed_h = network(packed_x, dt=given)
        back, counts = pad_packed_sequence(packed_y, batch_first=True)
        assert counts.tolist() == lengths
        close(y, back)
        close(h, packed_h)


@over_networks
def test_forms_of_dt(name):
    network = make(name)
    x, _ = batch()
    common = torch.rand(6, dtype=F64)
    y, _ = network(x, dt=common.expand(4, 6))
    close(y, network(x, dt=common)[0])
    close(y, network(x, dt=common.expand(4, 6).unsqueeze(-1))[0])
    ones, _ = network(x, dt=torch.ones(4, 6))
    for given in (None, 1, 1.0, torch.tensor(1.0)):
        close(ones, network(x, dt=given)[0])


def test_one_interval_for_each_step_where_there_are_as_many_series():
    network, x = make("cfc"), torch.randn(5, 5, D, dtype=F64)
    common = torch.rand(5, dtype=F64)
    y, _ = network(x, dt=common)
    for row in range(5):
        close(y[row : row + 1], network(x[row : row + 1], dt=common)[0])


@over_networks
def test_no_samples_one_sample_and_no_series(name):
    network = make(name)
    x, dt = batch()
    y, h = network(x[:, :0], dt=dt[:, :0])
    assert y.shape == (4, 0, network.output_size)
    start = network.cells[0].initial_state(x)
    for part, first in zip(parts(h), start, strict=True):
        close(part, first.expand_as(part))
    y, _ = network(x[:, :1], dt=dt[:, :1])
    assert y.shape == (4, 1, network.output_size)
    y, h = network(x[:0], dt=dt[:0])
    assert y.shape == (0, 6, network.output_size)
    assert all(part.shape[1] == 0 for part in parts(h))


@over_networks
def test_state_dict_and_deepcopy(name):
    network = make(name)
    x, dt = batch()
    y, _ = network(x, dt=dt)
    other = NETWORKS[name]().to(F64)
    other.load_state_dict(network.state_dict())
    assert torch.equal(other(x, dt=dt)[0], y)
    assert torch.equal(copy.deepcopy(network)(x, dt=dt)[0], y)


@over_networks
def test_vmap_and_functional_call(name):
    networks = [NETWORKS[name]().to(F64) for _ in range(2)]
    parameters, buffers = torch.func.stack_module_state(networks)
    x, dt = batch()

    def run(parameters, buffers, dt):
        return torch.func.functional_call(networks[0], (parameters, buffers), (x, None, dt))[0]

    together = torch.func.vmap(run, in_dims=(0, 0, None))(parameters, buffers, dt)
    mapped_time = torch.func.vmap(lambda dt: networks[0](x, None, dt)[0])(dt.expand(2, 4, 6))
    for network, y in zip(networks, together, strict=True):
        close(network(x, dt=dt)[0], y)
    close(mapped_time[1], together[0])


@over_networks
def test_gradients(name, monkeypatch):
    if name in STRAIGHT_THROUGH:
        monkeypatch.setattr(STRAIGHT_THROUGH[name], lambda p: p)
    network = make(name)
    x, dt = batch(2, 3)
    y = network(x, dt=dt)[0]
    weight = torch.randn_like(y)
    keys = list(dict(network.named_parameters()))

    def loss(x, dt, *values):
        out = torch.func.functional_call(network, dict(zip(keys, values, strict=True)), (x, None, dt, [3, 2]))[0]
        return (out * weight).sum()

    inputs = [v.detach().requires_grad_() for v in (x, dt, *network.parameters())]
    assert torch.autograd.gradcheck(loss, inputs, eps=1e-6, atol=1e-6, fast_mode=True)


@over_networks
def test_meta_device(name):
    with torch.device("meta"):
        network = NETWORKS[name]()
    x = torch.empty(4, 6, D, device="meta")
    y, _ = network(x, dt=torch.empty(4, 6, device="meta"), lengths=torch.empty(4, dtype=torch.int64, device="meta"))
    assert y.shape == (4, 6, network.output_size)


@over_networks
def test_bf16_autocast_is_near_float32(name):
    network = make(name).float()
    x, dt = batch()
    x, dt = x.float(), dt.float()
    y, _ = network(x, dt=dt)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low, h = network(x, dt=dt, lengths=[6, 6, 6, 6])
    low.float().sum().backward()
    torch.testing.assert_close(low.float(), y, rtol=0.1, atol=0.1)
    assert all(part.dtype == torch.float32 for part in parts(h))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NETWORKS if "both" not in name and name not in TRACED_ALIKE])
def test_export_of_a_step_for_any_batch(name):
    network = make(name).eval()
    _, h = network.step(torch.randn(4, D, dtype=F64))
    state = tuple(part.detach() for part in parts(h))

    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network

        def forward(self, x, h, dt):
            return self.network.step(x, h if len(h) > 1 else h[0], dt)

    B = torch.export.Dim("B", min=2, max=64)
    shapes = {"x": {0: B}, "h": tuple({1: B} for _ in state), "dt": {0: B}}
    example = (torch.randn(4, D, dtype=F64), state, torch.rand(4, dtype=F64))
    exported = torch.export.export(Step(), example, dynamic_shapes=shapes).module()
    x, dt = torch.randn(7, D, dtype=F64), torch.rand(7, dtype=F64)
    start = tuple(torch.randn(part.shape[0], 7, part.shape[2], dtype=F64) for part in state)
    close(exported(x, start, dt)[0], network.step(x, start if len(start) > 1 else start[0], dt)[0])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # raised inside torch itself
def test_compiled_by_the_default_backend():
    network = CfC(D, 5, backbone_units=4)
    x, dt = torch.randn(4, 3, D), torch.rand(4, 3)
    torch._dynamo.reset()
    plain = {"cpp.simdlen": 1, "cpp_cache_precompile_headers": False}  # headers and instruction sets take the time
    compiled = torch.compile(network, fullgraph=True, options=plain)
    torch.testing.assert_close(compiled(x, dt=dt)[0], network(x, dt=dt)[0], rtol=1e-4, atol=1e-5)


class TestReversal:
    lengths = torch.tensor([5, 3, 0, 1])

    @pytest.mark.parametrize("ragged", [True, False])
    def test_twice_is_the_identity(self, ragged):
        lengths = self.lengths if ragged else None
        x, dt = torch.randn(4, 5, 2), torch.rand(4, 5)
        assert torch.equal(reverse(reverse(x, lengths), lengths), x)
        assert torch.equal(reverse_intervals(reverse_intervals(dt, lengths), lengths), dt)

    def test_intervals_stay_between_their_samples(self):
        times = torch.tensor([[0.0, 1.0, 3.0, 6.0, 10.0]])
        dt = torch.diff(times, prepend=times[:, :1])
        back = torch.diff(-times.flip(1), prepend=-times[:, -1:])
        assert torch.equal(reverse_intervals(dt, None), back)

    def test_backward_half_is_a_forward_run_over_time_turned_round(self):
        network = make("CfC-both-ways")
        x, dt = batch()
        y, _ = network(x, dt=dt)
        alone, _ = network.cells[1].scan(x.flip(1), network.cells[1].initial_state(x), reverse_intervals(dt, None))
        close(y[..., 5:], alone.flip(1))


def test_dropout_between_layers_only_in_training():
    network = CfC(D, 5, backbone_units=4, num_layers=2, dropout=0.5)
    x = torch.randn(4, 6, D)
    assert not torch.equal(network(x)[0], network(x)[0])
    network.eval()
    assert torch.equal(network(x)[0], network(x)[0])


def test_state_layout_is_that_of_nn_lstm():
    ours = CfC(D, 5, mixed_memory=True, num_layers=2, bidirectional=True)
    theirs = torch.nn.LSTM(D, 5, num_layers=2, bidirectional=True, batch_first=True)
    x = torch.randn(4, 6, D)
    (y, (h, m)), (y_lstm, (h_lstm, c_lstm)) = ours(x), theirs(x)
    assert (y.shape, h.shape, m.shape) == (y_lstm.shape, h_lstm.shape, c_lstm.shape)
    torch.testing.assert_close(h[2], y[:, -1, :5])  # last layer forward: its last output
    torch.testing.assert_close(h[3], y[:, 0, 5:])  # last layer backward: the output at the first sample
