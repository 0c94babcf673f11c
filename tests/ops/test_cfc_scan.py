from __future__ import annotations

import threading

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from liquidtime.ops.cfc_scan import Form
from liquidtime.ops.native import library
from ops.scans import assert_same, by_kernel, by_loop, compare, draw, gradients

needs_kernel = pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")
pytestmark = needs_kernel

KINDS = [("gated", 4, False), ("gated", 3, False), ("no_gate", 4, False), ("no_gate", 3, False)]
KINDS += [("cf_s", 1, False), ("cf_s_paper", 1, False), ("cf_s_paper", 1, True)]
ACTIVATIONS = ["relu", "silu", "gelu", "tanh", "lecun_tanh"]


@pytest.mark.parametrize("memory", ["none", "hidden", "input"])
@pytest.mark.parametrize(("kind", "heads", "state_amplitude"), KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_form_equals_the_definition(kind, heads, state_amplitude, memory, dtype):
    for layers, lengths in ((0, None), (1, [4, 0, 3]), (2, None)):
        form = Form(kind, heads, layers, state_amplitude=state_amplitude, memory=memory)
        compare(draw(form, dtype=dtype, lengths=lengths))


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("masked", [(), (True, True), (False, True)])
@pytest.mark.parametrize("kind", ["gated", "cf_s_paper"])
def test_every_activation_with_and_without_dropout(activation, masked, kind):
    heads = 4 if kind == "gated" else 1
    form = Form(kind, heads, 2, activation, head_activation="lecun_tanh", masked=masked)
    for dtype in (torch.float32, torch.float64):
        compare(draw(form, dtype=dtype, lengths=[4, 0, 3]))


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    memory=st.sampled_from(["none", "hidden", "input"]),
    layers=st.integers(0, 3),
    B=st.integers(1, 15),
    T=st.integers(0, 6),
    D=st.integers(1, 20),
    H=st.integers(1, 40),
    U=st.integers(1, 70),
    ragged=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    seed=st.integers(0, 1000),
)
def test_odd_shapes_equal_the_definition(kind, memory, layers, B, T, D, H, U, ragged, dtype, seed):
    name, heads, state_amplitude = kind
    form = Form(name, heads, layers, state_amplitude=state_amplitude, memory=memory)
    lengths = torch.randint(0, T + 1, (B,), generator=torch.Generator().manual_seed(seed)).tolist() if ragged else None
    compare(draw(form, B, T, D, H, U, dtype, lengths, seed))


@pytest.mark.parametrize(("B", "H"), [(8, 8), (1, 1), (65, 16), (130, 3)])
def test_as_many_rows_as_units_and_more_rows_than_a_group(B, H):
    for dtype in (torch.float32, torch.float64):
        compare(draw(Form(), B, 3, 2, H, 9, dtype))
        compare(draw(Form(), B, 3, 2, H, 9, dtype, lengths=[k % 4 for k in range(B)]))


def test_every_instruction_set_of_this_machine(target):
    assert library.target() == target
    for dtype in (torch.float32, torch.float64):
        compare(draw(Form(layers=2), 13, 3, 3, 19, 21, dtype, lengths=[k % 4 for k in range(13)]))
        compare(draw(Form("cf_s_paper", 1, 1, memory="hidden"), 7, 3, 3, 19, 21, dtype))


def test_two_threads_equal_one():
    case = draw(Form(), 24, 20, 8, 32, 32, torch.float32, lengths=[k % 21 for k in range(24)])
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            y, state = case.run(by_kernel)
            results.append(([y, *state], gradients(case, y, state)))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(results[0][0][0], results[1][0][0])
    assert_same(results[0][1], results[1][1], 1e-5)


def test_a_row_of_a_batch_is_bit_for_bit_the_row_alone():
    case = draw(Form(layers=2), 13, 5, 3, 37, 41, torch.float32)
    y, _ = case.run(by_kernel)
    for row in range(13):
        x, h, dt = (t[row : row + 1] for t in (case.x, case.state[0], case.dt))
        alone, _ = by_kernel(x, (h,), dt, None, case.weights, case.form)
        assert torch.equal(alone[0], y[row])


def test_more_samples_than_are_added_up_at_once():
    for B, T, lengths in ((1, 150, None), (5, 40, [40, 3, 17, 0, 39]), (70, 9, [k % 10 for k in range(70)])):
        compare(draw(Form(layers=2), B, T, 3, 9, 10, torch.float64, lengths))
        compare(draw(Form("cf_s_paper", 1, 1, memory="input"), B, T, 3, 9, 10, torch.float64, lengths))


def test_what_is_far_larger_than_the_caches_equals_the_definition():
    case = draw(Form(), 64, 40, 2, 1024, 8, torch.float32)
    assert 64 * 40 * 3 * 1024 * 4 > 24 << 20
    y, state = case.run(by_kernel)
    expected, expected_state = case.run(by_loop)
    assert_same([y, *state], [expected, *expected_state], 1e-5)
    assert_same(gradients(case, y, state), gradients(case, expected, expected_state), 1e-5)


def test_memory_that_is_used_again_belongs_to_one_run_at_a_time():
    cases = [draw(Form(), 16, 64, 2, 512, 8, torch.float32, seed=seed) for seed in range(3)]
    found = [case.run(by_kernel) for case in cases]  # all alive together, then once more after one is gone
    expected = [gradients(case, *result) for case, result in zip(cases, found, strict=True)]
    for case, grads in zip(cases, expected, strict=True):
        assert_same(gradients(case, *case.run(by_kernel)), grads, 0.0)


def test_strides_of_every_argument_are_followed():
    case = draw(Form(memory="hidden"), 4, 5, 3, 6, 7, torch.float64)
    spread = [torch.stack([t, torch.full_like(t, float("nan"))], -1).detach()[..., 0] for t in case.leaves]
    assert not any(t.is_contiguous() for t in spread)
    case.x, *state, case.dt = (t.requires_grad_() for t in spread[:4])
    case.state, case.weights = tuple(state), [t.requires_grad_() for t in spread[4:]]
    compare(case)
    case.x = case.x.detach().transpose(0, 1).contiguous().transpose(0, 1).requires_grad_()
    case.dt = torch.ones((), dtype=torch.float64).expand(4, 5)
    y, _ = case.run(by_kernel)
    expected, _ = case.run(by_loop)
    assert_same([y], [expected], 1e-10)
    (grad,) = torch.autograd.grad(y.sum(), case.x)
    assert_same([grad], list(torch.autograd.grad(expected.sum(), case.x)), 1e-10)


def test_nan_in_the_padding_changes_nothing_and_padding_is_zero():
    case = draw(Form(), 3, 4, dtype=torch.float32, lengths=[4, 0, 2])
    clean, clean_state = case.run(by_kernel)
    clean_grads = gradients(case, clean, clean_state)
    inside = torch.arange(4) < case.lengths.unsqueeze(1)
    case.x = case.x.detach().masked_fill(~inside.unsqueeze(-1), float("nan")).requires_grad_()
    case.dt = case.dt.detach().masked_fill(~inside, float("nan")).requires_grad_()
    y, state = case.run(by_kernel)
    assert torch.equal(y, clean)
    assert torch.equal(state[0], clean_state[0])
    assert float(y[~inside].detach().abs().sum()) == 0.0
    assert torch.equal(state[0][1], case.state[0][1])
    for mine, expected in zip(gradients(case, y, state), clean_grads, strict=True):
        assert torch.equal(mine, expected)


def test_nan_inside_a_series_stays_in_its_row():
    case = draw(Form(), 9, 4, dtype=torch.float32)
    case.x = case.x.detach()
    case.x[3, 2] = float("nan")
    y, state = case.run(by_kernel)
    assert bool(y[3, 2:].isnan().all())
    assert bool(state[0][3].isnan().all())
    assert not bool(y[:3].isnan().any() | y[4:].isnan().any() | y[3, :2].isnan().any())


@pytest.mark.parametrize("value", [1e4, -1e4])
def test_saturated_gates_stay_finite(value):
    case = draw(Form(), dtype=torch.float32)
    with torch.no_grad():
        case.weights[3].fill_(value)
    compare(case)


@pytest.mark.parametrize("kind", KINDS)
def test_gradcheck(kind):
    name, heads, state_amplitude = kind
    case = draw(Form(name, heads, 1, state_amplitude=state_amplitude, memory="hidden"), 2, 3, 2, 3, 4, lengths=[3, 2])

    def run(*leaves):
        x, h, m, dt, *weights = leaves
        y, state = by_kernel(x, (h, m), dt, case.lengths, weights, case.form)
        return y, *state

    assert torch.autograd.gradcheck(run, case.leaves)


def test_what_needs_no_gradient_gets_none():
    case = draw(Form(), dtype=torch.float64)
    expected = gradients(case, *case.run(by_loop))
    case.x, case.dt = case.x.detach(), case.dt.detach()
    y, state = case.run(by_kernel)
    g = torch.Generator().manual_seed(1)
    loss = sum((part * torch.randn(part.shape, generator=g, dtype=part.dtype)).sum() for part in (y, *state))
    loss.backward()
    assert case.x.grad is None
    assert_same([w.grad for w in case.weights], expected[3:], 1e-10)


def test_only_the_last_state_is_used():
    case = draw(Form(), dtype=torch.float64, lengths=[4, 0, 3])
    mine = torch.autograd.grad(case.run(by_kernel)[1][0].square().sum(), case.leaves)
    expected = torch.autograd.grad(case.run(by_loop)[1][0].square().sum(), case.leaves)
    assert_same(list(mine), list(expected), 1e-10)


@pytest.mark.parametrize("way", [{}, {"traced": True}, {"recompute": True}])
def test_second_derivatives_are_refused(way):
    case = draw(Form())
    y, _ = case.run(by_kernel, **way)
    (first,) = torch.autograd.grad(y.square().sum(), case.x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"no second derivatives.*reference"):
        torch.autograd.grad(first.square().sum(), case.x)


@pytest.mark.parametrize(("memory", "ragged"), [("none", False), ("hidden", True)])
def test_the_operator_is_registered_as_it_should_be(memory, ragged):
    form = Form(memory=memory)
    case = draw(form, 2, 3, 2, 3, 4, lengths=[3, 1] if ragged else None)
    m0 = case.state[1] if memory == "hidden" else None
    arguments = (case.x, case.state[0], m0, case.dt, case.lengths, case.weights, None, form.encode(), 1.0, True, True)
    torch.library.opcheck(torch.ops.liquidtime.cfc_scan.default, arguments)


def test_the_operator_equals_the_eager_way():
    case = draw(Form(memory="hidden"), dtype=torch.float64, lengths=[4, 0, 3])
    compare(case, traced=True)


@pytest.mark.parametrize("T", [0, 1, 2, 17])
@pytest.mark.parametrize("kind", [("gated", 4, "hidden"), ("cf_s_paper", 1, "none")])
def test_recomputing_changes_nothing(T, kind):
    name, heads, memory = kind
    form = Form(name, heads, 2, memory=memory, masked=(True, False))
    for lengths in (None, [T, 0, T // 2, T]):
        compare(draw(form, 4, T, 2, 5, 6, torch.float64, lengths), recompute=True)


def test_recomputing_keeps_less():
    case = draw(Form(), 2, 400, 2, 16, 16, torch.float32)
    kept = []
    for recompute in (False, True):
        sizes: list[int] = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t, sizes=sizes: sizes.append(t.nbytes) or t, lambda t: t):
            case.run(by_kernel, recompute=recompute)
        kept.append(sum(sizes))
    given_anyway = sum(t.nbytes for t in case.leaves)
    assert kept[1] - given_anyway < 0.1 * (kept[0] - given_anyway)


def test_several_python_threads_at_once():
    cases = [draw(Form(), 9, 30, 3, 20, 24, torch.float32, seed=seed) for seed in range(4)]
    expected = [case.run(by_kernel)[0] for case in cases]
    failures: list[int] = []

    def work(index: int) -> None:
        for _ in range(20):
            y, state = cases[index].run(by_kernel)
            gradients(cases[index], y, state)
            if not torch.equal(y, expected[index]):
                failures.append(index)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
