"""Products with bf16 operands: the definition, the kernel's products alone, and the whole scan against the definition.

Two ways of summing differ in the last bit of a float32, and where such a number is made an operand it may round to the
other neighbour, 2⁻⁸ away. That is rare (a few operands in 10⁵), so of several draws most equal the definition to the
tolerance of float32, in values and every gradient, and a draw that does not stays within what bf16 itself loses.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from liquidtime.ops.cfc_scan import Form
from liquidtime.ops.native import library
from liquidtime.ops.products import linear_bf16, rounded
from ops.scans import Case, assert_same, by_kernel, by_loop, draw, gradients, gradients_of, row_by_row, weighing

needs_kernel = pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")
F32 = torch.float32
NEIGHBOUR = 2.0**-5  # some operands at their other neighbour, 2⁻⁸ away, seen in results
KINDS = [("gated", 4, False), ("gated", 3, False), ("no_gate", 4, False), ("no_gate", 3, False)]
KINDS += [("cf_s", 1, False), ("cf_s_paper", 1, False), ("cf_s_paper", 1, True)]


def nearest(values: np.ndarray) -> np.ndarray:
    """The nearest bf16 by its definition: of the two neighbours the nearer, of two as near the even one."""
    bits = values.astype(np.float32).view(np.uint32)
    low = bits & np.uint32(0xFFFF0000)
    high = low + np.uint32(0x10000)
    below, above = (part.view(np.float32).astype(np.float64) for part in (low, high))
    to_low, to_high = np.abs(values - below), np.abs(above - values)
    even = (low >> 16) % 2 == 0
    return np.where((to_low < to_high) | ((to_low == to_high) & even), below, above)


def test_rounding_is_to_the_nearest_and_of_two_to_the_even():
    g = torch.Generator().manual_seed(0)
    x = torch.randn(2000, generator=g) * torch.exp(8 * torch.randn(2000, generator=g))
    ties = torch.tensor([1 + 2.0**-8, 1 + 3 * 2.0**-8, -1 - 2.0**-8, 2 + 2.0**-7])
    x = torch.cat([x, ties, torch.tensor([0.0, -0.0])])
    np.testing.assert_array_equal(rounded(x).numpy(), nearest(x.double().numpy()))
    assert rounded(ties).tolist() == [1, 1 + 2.0**-6, -1, 2]


def test_the_definition_of_a_product_and_its_gradients():
    g = torch.Generator().manual_seed(0)
    x, W, b, dy = (torch.randn(*shape, generator=g) for shape in ((5, 7), (3, 7), (3,), (5, 3)))
    leaves = [t.requires_grad_() for t in (x, W, b)]
    y = linear_bf16(*leaves)
    r = {name: nearest(t.detach().double().numpy()) for name, t in (("x", x), ("W", W), ("dy", dy))}
    expected = [r["x"] @ r["W"].T + b.detach().double().numpy(), r["dy"] @ r["W"], r["dy"].T @ r["x"], r["dy"].sum(0)]
    found = [y, *torch.autograd.grad(y, leaves, dy)]
    assert_same([t.double() for t in found], [torch.tensor(e) for e in expected], 1e-6)
    assert all(t.dtype is F32 for t in found)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # of PyTorch's own forward mode
def test_the_definition_can_be_differentiated_twice_mapped_and_differentiated_forward():
    g = torch.Generator().manual_seed(0)
    x, W, v = (torch.randn(*shape, generator=g) for shape in ((4, 3), (2, 3), (4, 3)))
    mapped = torch.func.vmap(lambda row: linear_bf16(row, W))(x)
    torch.testing.assert_close(mapped, linear_bf16(x, W))
    _, tangent = torch.func.jvp(lambda x: linear_bf16(x, W), (x,), (v,))
    torch.testing.assert_close(tangent, v @ rounded(W).T)
    W.requires_grad_()
    (first,) = torch.autograd.grad(linear_bf16(x.requires_grad_(), W).square().sum(), x, create_graph=True)
    assert torch.autograd.grad(first.sum(), W)[0].abs().sum() > 0


def alone(name: str, sizes: tuple[int, int, int], left: torch.Tensor, right: torch.Tensor, shape: tuple[int, int]):
    out = torch.full(shape, torch.nan)
    assert getattr(library.load(), name)(*sizes, left.data_ptr(), right.data_ptr(), out.data_ptr()) == 0
    return out


def exact_numbers(*shape: int, seed: int) -> torch.Tensor:
    """Numbers m/32, 32 < |m| < 64, moved by less than half of bf16's last place: every sum of up to 1000 is exact."""
    g = torch.Generator().manual_seed(seed)
    m = torch.randint(33, 64, shape, generator=g) * (2 * torch.randint(0, 2, shape, generator=g) - 1)
    return m / 32 + (torch.rand(*shape, generator=g) - 0.5) * 0.9 / 128


@needs_kernel
@settings(max_examples=25, deadline=None)
@given(st.integers(1, 20), st.integers(1, 600), st.integers(1, 90), st.integers(0, 99))
def test_products_alone_are_exact_where_sums_are(rows, K, units, seed):
    a, w = exact_numbers(rows, K, seed=seed), exact_numbers(units, K, seed=seed + 100)
    found = alone("lt_bf16_product", (rows, K, units), a, w, (rows, units))
    assert torch.equal(found.double(), rounded(a).double() @ rounded(w).double().T)
    samples, upper = rows, exact_numbers(rows, units, seed=seed + 200)
    found = alone("lt_bf16_outer", (samples, units, K), upper, a, (units, K + 1))
    lower = torch.cat([rounded(a), torch.ones(samples, 1)], 1).double()
    assert torch.equal(found.double(), rounded(upper).double().T @ lower)


@needs_kernel
def test_products_alone_are_float32_sums(target):
    g = torch.Generator().manual_seed(0)
    a, w = torch.randn(13, 601, generator=g), torch.randn(40, 601, generator=g)
    found = alone("lt_bf16_product", (13, 601, 40), a, w, (13, 40)).double()
    a, w = rounded(a).double(), rounded(w).double()
    assert ((found - a @ w.T).abs() <= 601 * 2.0**-24 * (a.abs() @ w.abs().T)).all()


def difference(case: Case, **options) -> float:
    """The largest difference of any result in parts of its own scale, or of that of its terms where these cancel."""
    expected, state = case.run(by_loop)
    losses = weighing(expected, state)
    theirs = [expected, *state, *gradients_of(losses.sum(), case.leaves, retain_graph=True)]
    sizes = [expected, *state, *row_by_row(losses, case.leaves)]
    y, last = case.run(by_kernel, **options)
    mine = [y, *last, *gradients(case, y, last)]
    worst = 0.0
    for a, b, size in zip(*([t.detach() for t in part] for part in (mine, theirs, sizes)), strict=True):
        assert a.isfinite().all()
        if a.numel():
            worst = max(worst, float((a - b).abs().max() / torch.maximum(b.abs().max(), size.max())))
    return worst


def hold_to_the_definition(form: Form, *sizes: int, draws: int = 3, **options) -> None:
    form = form._replace(products="bf16")
    lengths = options.pop("lengths", None)
    found = [difference(draw(form, *sizes, dtype=F32, lengths=lengths, seed=seed), **options) for seed in range(draws)]
    assert max(found) < NEIGHBOUR
    assert sum(off < 1e-5 for off in found) > draws / 2


@needs_kernel
@pytest.mark.parametrize("memory", ["none", "hidden", "input"])
@pytest.mark.parametrize(("kind", "heads", "state_amplitude"), KINDS)
def test_every_form_equals_the_definition(kind, heads, state_amplitude, memory):
    for layers, lengths in ((0, None), (1, [4, 0, 3]), (2, None)):
        form = Form(kind, heads, layers, state_amplitude=state_amplitude, memory=memory)
        hold_to_the_definition(form, lengths=lengths)


@needs_kernel
@pytest.mark.parametrize("activation", ["relu", "silu", "gelu", "tanh"])
def test_activations_and_dropout(activation):
    hold_to_the_definition(Form(layers=2, activation=activation, masked=(True, False)))
    hold_to_the_definition(Form("cf_s_paper", 1, 2, activation=activation, masked=(True, True)))


@needs_kernel
def test_every_instruction_set_of_this_machine(target):
    hold_to_the_definition(Form(layers=2), 5, 2, 3, 19, 21)
    hold_to_the_definition(Form("cf_s_paper", 1, 1, memory="hidden"), 7, 2, 3, 17, 9, lengths=[k % 3 for k in range(7)])


@needs_kernel
@settings(max_examples=20, deadline=None)
@given(st.data())
def test_odd_shapes(data):
    B, T, D, H, U = (data.draw(st.integers(low, most)) for low, most in ((1, 9), (0, 3), (1, 9), (1, 20), (1, 20)))
    kind, heads, amplitude = data.draw(st.sampled_from(KINDS))
    memory, layers = data.draw(st.sampled_from(["none", "hidden", "input"])), data.draw(st.integers(0, 2))
    form = Form(kind, heads, layers, state_amplitude=amplitude, memory=memory, products="bf16")
    lengths = data.draw(st.none() | st.lists(st.integers(0, T), min_size=B, max_size=B))
    assert difference(draw(form, B, T, D, H, U, F32, lengths, data.draw(st.integers(0, 99)))) < NEIGHBOUR


@needs_kernel
@pytest.mark.parametrize("options", [{"traced": True}, {"recompute": True}])
def test_every_way_gives_the_same(options):
    case = draw(Form(memory="hidden", products="bf16"), 4, 9, dtype=F32, lengths=[9, 0, 4, 7])
    y, state = case.run(by_kernel)
    other, other_state = case.run(by_kernel, **options)
    assert_same([other, *other_state], [y, *state], 0.0)
    assert_same(gradients(case, other, other_state), gradients(case, y, state), 1e-6)


@needs_kernel
def test_a_row_of_a_batch_is_bit_for_bit_the_row_alone():
    case = draw(Form(layers=2, products="bf16"), 13, 5, 3, 37, 41, F32)
    y, _ = case.run(by_kernel)
    for row in range(13):
        x, h, dt = (t[row : row + 1] for t in (case.x, case.state[0], case.dt))
        assert torch.equal(by_kernel(x, (h,), dt, None, case.weights, case.form)[0][0], y[row])


@needs_kernel
def test_not_a_number_and_infinity_stay_in_their_row():
    case = draw(Form(products="bf16"), 9, 3, dtype=F32)
    case.x = case.x.detach()
    case.x[3, 1] = torch.tensor([0x7F800001], dtype=torch.int32).view(F32)  # NaN in the bits that rounding drops
    case.x[5, 1] = torch.inf
    y, _ = case.run(by_kernel)
    bad = y.isnan().flatten(2).any(2)
    assert bad[3, 1:].all()
    expected, _ = case.run(by_loop)
    assert torch.equal(bad, expected.isnan().flatten(2).any(2))


@needs_kernel
def test_the_operators_are_registered_as_they_should_be():
    form = Form("cf_s_paper", 1, 2, memory="hidden", products="bf16")
    case = draw(form, 2, 3, 2, 3, 4, F32, lengths=[3, 1])
    given = (case.x, *case.state, case.dt, case.lengths, case.weights, None, form.encode(), 1.0, True, True)
    torch.library.opcheck(torch.ops.liquidtime.cfc_scan.default, given)
    x, h0, m0, dt, *weights = (t.detach() for t in (*given[:4], *case.weights))
    y, hn, mn, saved = torch.ops.liquidtime.cfc_scan(x, h0, m0, dt, *given[4:5], weights, *given[6:])
    incoming = (torch.ones_like(y), torch.ones_like(hn), torch.ones_like(mn))
    rest = (x, h0, m0, dt, case.lengths, weights, None, y, saved, form.encode(), 1.0, True, True)
    torch.library.opcheck(torch.ops.liquidtime.cfc_scan_backward.default, (*incoming, *rest))


@needs_kernel
def test_an_instruction_that_is_wrong_is_not_used_and_named(monkeypatch):
    library.bf16_unit.cache_clear()
    try:
        monkeypatch.setattr(library.load(), "lt_bf16_unit", lambda: 2)
        with pytest.warns(RuntimeWarning, match="bf16 instruction of this processor gave wrong sums"):
            assert library.bf16_unit() == "emulated"
    finally:
        monkeypatch.undo()
        library.bf16_unit.cache_clear()
    assert library.bf16_unit() in ("emulated", "avx512_bf16")
