"""What must hold for every cell, comparison cells too; the subjects are found in the table of networks."""

import copy

import pytest
import torch
from torch import nn

from liquidtime import cells
from subjects import STRAIGHT_THROUGH, SUBJECTS, D

pytestmark = pytest.mark.parametrize("name", SUBJECTS)
B = 4


def make(name, dtype=torch.float64):
    torch.manual_seed(1)
    return SUBJECTS[name](D).to(dtype)


def sample(cell, B=B, dtype=torch.float64):
    x = torch.randn(B, cell.input_size, dtype=dtype)
    state = tuple(torch.randn(B, size, dtype=dtype) for size in cell.state_sizes)
    return x, state, torch.rand(B, dtype=dtype)


def close(a, b, tolerance=1e-12):
    torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


def test_sizes_are_as_stated(name):
    cell = make(name)
    x, state, dt = sample(cell)
    y, after = cell(x, state, dt)
    assert y.shape == (B, cell.output_size)
    assert [part.shape for part in after] == [(B, size) for size in cell.state_sizes]
    assert [part.shape for part in cell.initial_state(x)] == [(B, size) for size in cell.state_sizes]


def test_a_row_is_what_it_is_alone(name):
    cell = make(name)
    for rows in (B, cell.hidden_size):
        x, state, dt = sample(cell, rows)
        y, after = cell(x, state, dt)
        for i in range(rows):
            one = slice(i, i + 1)
            y_alone, alone = cell(x[one], tuple(part[one] for part in state), dt[one])
            close(y[one], y_alone)
            for part, part_alone in zip(after, alone, strict=True):
                close(part[one], part_alone)


def test_time_matters_where_the_cell_says_so(name):
    cell = make(name)
    x, state, dt = sample(cell)
    y, after = cell(x, state, dt)
    y_later, later = cell(x, state, dt + 1.0)
    same = torch.equal(y, y_later) and all(map(torch.equal, after, later))
    uses_dt = cell.cell.uses_dt if isinstance(cell, cells.MixedMemory) else cell.uses_dt
    assert same is not uses_dt


def test_scan_is_the_loop(name):
    cell = make(name)
    x, dt = torch.randn(B, 6, cell.input_size, dtype=torch.float64), torch.rand(B, 6, dtype=torch.float64)
    y, after = cell.scan(x, cell.initial_state(x), dt)
    state = cell.initial_state(x)
    for k in range(6):
        y_k, state = cell(x[:, k], state, dt[:, k])
        close(y[:, k], y_k)
    for part, part_loop in zip(after, state, strict=True):
        close(part, part_loop)


def test_gradients(name, monkeypatch):
    cell = make(name)
    if name in STRAIGHT_THROUGH:
        monkeypatch.setattr(STRAIGHT_THROUGH[name], lambda p: (p >= 0.5).to(p.dtype))
    x, state, dt = sample(cell, 2)
    parameters = dict(cell.named_parameters())

    def run(x, dt, *values):
        n = len(state)
        named = dict(zip(parameters, values[n:], strict=True))
        y, after = torch.func.functional_call(cell, named, (x, values[:n], dt))
        return (y, *after)

    inputs = [v.detach().requires_grad_() for v in (x, dt, *state, *parameters.values())]
    assert torch.autograd.gradcheck(run, inputs, eps=1e-6, atol=1e-6, fast_mode=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_keeps_its_type(name, dtype):
    cell = make(name, dtype)
    y, after = cell(*sample(cell, dtype=dtype))
    assert y.dtype == dtype
    assert all(part.dtype == dtype for part in after)


def test_bf16_autocast_keeps_a_float32_state_near_the_float32_run(name):
    cell = make(name, torch.float32)
    inputs = sample(cell, dtype=torch.float32)
    y, after = cell(*inputs)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y_low, low = cell(*inputs)
    for part, part_low in zip((y, *after), (y_low, *low), strict=True):
        assert part_low.dtype == torch.float32
        torch.testing.assert_close(part_low, part, rtol=0.05, atol=0.05)


def test_state_dict_and_deepcopy(name):
    cell, inputs = make(name), None
    inputs = sample(cell)
    torch.manual_seed(99)
    other = SUBJECTS[name](D).double()
    other.load_state_dict(cell.state_dict())
    twin = copy.deepcopy(cell)
    y, _ = cell(*inputs)
    assert torch.equal(other(*inputs)[0], y)
    assert torch.equal(twin(*inputs)[0], y)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.add_(0.1)
    assert torch.equal(cell(*inputs)[0], y)


def test_every_number_is_a_parameter_or_a_buffer(name):
    cell = make(name)
    moved = {id(v) for v in cell.parameters()} | {id(v) for v in cell.buffers()}
    for module in cell.modules():
        for value in vars(module).values():
            assert not isinstance(value, torch.Tensor) or id(value) in moved
    assert all(parameter.requires_grad for parameter in cell.parameters())


def test_functional_call_and_vmap_over_models(name):
    models = [SUBJECTS[name](D).double() for _ in range(3)]
    parameters, buffers = torch.func.stack_module_state(models)
    x, state, dt = sample(models[0])

    def run(parameters, buffers, x):
        return torch.func.functional_call(models[0], (parameters, buffers), (x, state, dt))[0]

    together = torch.func.vmap(run, in_dims=(0, 0, None))(parameters, buffers, x)
    for model, y in zip(models, together, strict=True):
        close(model(x, state, dt)[0], y)


def test_vmap_over_samples(name):
    cell = make(name)
    x, state, dt = sample(cell)

    def one(x, state, dt):
        return cell(x[None], tuple(part[None] for part in state), dt[None])[0][0]

    close(torch.func.vmap(one)(x, state, dt), cell(x, state, dt)[0])


def test_meta_device(name):
    with torch.device("meta"):
        cell = SUBJECTS[name](D)
    x = torch.empty(B, cell.input_size, device="meta")
    y, _ = cell(x, cell.initial_state(x), torch.empty(B, device="meta"))
    assert y.is_meta
    assert y.shape == (B, cell.output_size)


def test_same_seed_same_bits(name):
    first, second = make(name), make(name)
    for (key, a), b in zip(first.state_dict().items(), second.state_dict().values(), strict=True):
        assert torch.equal(a, b), key
    inputs = sample(first)
    assert torch.equal(first(*inputs)[0], second(*inputs)[0])


def test_empty_batch(name):
    cell = make(name)
    y, after = cell(*sample(cell, 0))
    assert y.shape == (0, cell.output_size)
    assert [part.shape for part in after] == [(0, size) for size in cell.state_sizes]


def test_is_a_module_with_a_readable_repr(name):
    cell = make(name)
    assert isinstance(cell, nn.Module)
    assert type(cell).__name__ in repr(cell)
