"""The two kernels. One program processes 16 rows through all their steps.

Forward, for each step: blocks of backbone units are computed one after the other, z = act(px + h·Whᵀ), and each block
is used at once for all heads, whose sums are in registers. Backward goes through time in reverse and writes the
gradients of the outputs of the heads and of the arguments of the backbone; the gradients of the weights are products
over all steps, computed afterwards.

No operand of a product is longer than a block along the axis of summation: the state and, backward, the gradients of
the heads are read block by block from memory that the program has just written, behind a barrier. Longer operands would
be held in registers, and from 128 units on there are too few of these.

The axis of the state is padded to a power of two; values past an edge are loaded as 0 and not stored.
"""

from __future__ import annotations

try:
    import triton
    import triton.language as tl
except ImportError as error:
    raise ImportError("kernels for CUDA need Triton: pip install 'liquidtime[gpu]'") from error

_WIDENED: tl.constexpr = tl.constexpr(bool(triton.knobs.runtime.interpret))
"""Triton's interpreter has no bf16 products and truncates instead of rounding, so bf16 is emulated there."""


@triton.jit
def _tanh(v):
    return 2.0 * tl.sigmoid(2.0 * v) - 1.0


@triton.jit
def _activation(v, NAME: tl.constexpr):
    if NAME == "relu":
        return tl.maximum(v, 0.0)
    elif NAME == "silu":
        return v * tl.sigmoid(v)
    elif NAME == "tanh":
        return _tanh(v)
    else:
        return 1.7159 * _tanh(0.666 * v)


@triton.jit
def _slope(v, NAME: tl.constexpr):
    """Return the derivative of an activation at v."""
    if NAME == "relu":
        return tl.where(v > 0.0, 1.0, 0.0)
    elif NAME == "silu":
        s = tl.sigmoid(v)
        return s * (1.0 + v * (1.0 - s))
    elif NAME == "tanh":
        t = _tanh(v)
        return 1.0 - t * t
    else:
        t = _tanh(0.666 * v)
        return 1.7159 * 0.666 * (1.0 - t * t)


@triton.jit
def _rounded(v):
    """Return v as the nearest bf16 number, ties to even, in float32."""
    bits = v.to(tl.float32).to(tl.int32, bitcast=True)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & -65536
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def _product(a, b, OPERANDS: tl.constexpr, PRECISION: tl.constexpr):
    if _WIDENED and OPERANDS == tl.bfloat16:
        return tl.dot(_rounded(a), _rounded(b), input_precision="ieee")
    return tl.dot(a.to(OPERANDS), b.to(OPERANDS), input_precision=PRECISION)


@triton.jit
def forward(
    px, h0, dt, lengths, wh, heads, bias, y, hn, pre, out,
    B, T, H: tl.constexpr, U: tl.constexpr, HP: tl.constexpr, BM: tl.constexpr, BU: tl.constexpr, BK: tl.constexpr,
    GATED: tl.constexpr, HEADS: tl.constexpr, ACT: tl.constexpr, HEAD_ACT: tl.constexpr, SAVE: tl.constexpr,
    OPERANDS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Run forward: px (B, T, U) is x·Wxᵀ + b; wh (H, U) and heads (U, heads·H) are transposed."""
    rows = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    units = tl.arange(0, HP)
    row_here, unit_here = rows < B, units < H
    here = row_here[:, None] & unit_here[None, :]
    ends = tl.minimum(tl.maximum(tl.load(lengths + rows, mask=row_here, other=0), 0), T)
    h = tl.load(h0 + rows[:, None] * H + units[None, :], mask=here, other=0.0)
    tl.store(hn + rows[:, None] * H + units[None, :], h, mask=here)  # every step reads it from here
    b1 = tl.load(bias + units, mask=unit_here, other=0.0)[None, :]
    b2 = tl.load(bias + H + units, mask=unit_here, other=0.0)[None, :]
    ba = tl.load(bias + 2 * H + units, mask=unit_here, other=0.0)[None, :]
    bc = tl.zeros((1, HP), tl.float32)
    if HEADS == 4:
        bc = tl.load(bias + 3 * H + units, mask=unit_here, other=0.0)[None, :]
    for k in range(tl.max(ends, 0)):
        tl.debug_barrier()  # until the state is written
        inside = k < ends
        step = rows * T + k
        g1 = tl.zeros((BM, HP), tl.float32)
        g2 = tl.zeros((BM, HP), tl.float32)
        a = tl.zeros((BM, HP), tl.float32)
        c = tl.zeros((BM, HP), tl.float32)
        for first in range(0, U, BU):
            block = first + tl.arange(0, BU)
            block_here = block < U
            seen = inside[:, None] & block_here[None, :]
            v = tl.load(px + step[:, None] * U + block[None, :], mask=seen, other=0.0)
            for start in range(0, H, BK):
                some = start + tl.arange(0, BK)
                some_here = some < H
                read = row_here[:, None] & some_here[None, :]
                part = tl.load(hn + rows[:, None] * H + some[None, :], mask=read, other=0.0)
                w = tl.load(
                    wh + some[:, None] * U + block[None, :], mask=some_here[:, None] & block_here[None, :], other=0.0
                )
                v += _product(part, w, OPERANDS, PRECISION)
            if SAVE:
                tl.store(pre + step[:, None] * U + block[None, :], v, mask=seen)
            z = tl.where(block_here[None, :], _activation(v, ACT), 0.0)
            place = heads + block[:, None] * (HEADS * H) + units[None, :]
            used = block_here[:, None] & unit_here[None, :]
            g1 += _product(z, tl.load(place, mask=used, other=0.0), OPERANDS, PRECISION)
            g2 += _product(z, tl.load(place + H, mask=used, other=0.0), OPERANDS, PRECISION)
            a += _product(z, tl.load(place + 2 * H, mask=used, other=0.0), OPERANDS, PRECISION)
            if HEADS == 4:
                c += _product(z, tl.load(place + 3 * H, mask=used, other=0.0), OPERANDS, PRECISION)
        g1 += b1
        g2 += b2
        a += ba
        c += bc
        kept = inside[:, None] & here
        if SAVE:
            to = out + step[:, None] * (HEADS * H) + units[None, :]
            tl.store(to, g1, mask=kept)
            tl.store(to + H, g2, mask=kept)
            tl.store(to + 2 * H, a, mask=kept)
            if HEADS == 4:
                tl.store(to + 3 * H, c, mask=kept)
        gap = tl.load(dt + step, mask=inside, other=0.0)[:, None]
        s = tl.sigmoid(a * gap + c) if HEADS == 4 else tl.sigmoid(-a * gap)
        g1 = _activation(g1, HEAD_ACT)
        g2 = _activation(g2, HEAD_ACT)
        after = g1 * (1.0 - s) + g2 * s if GATED else g1 + g2 * s
        tl.store(y + step[:, None] * H + units[None, :], after, mask=kept)
        tl.debug_barrier()  # until the state has been read
        tl.store(hn + rows[:, None] * H + units[None, :], after, mask=kept)


@triton.jit
def backward(
    dy, dhn, dt, lengths, wh, heads, pre, out, dh0, ddt, dpre, dout,
    B, T, H: tl.constexpr, U: tl.constexpr, HP: tl.constexpr, BM: tl.constexpr, BU: tl.constexpr, BK: tl.constexpr,
    GATED: tl.constexpr, HEADS: tl.constexpr, ACT: tl.constexpr, HEAD_ACT: tl.constexpr, NEED_DDT: tl.constexpr,
    OPERANDS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Run backward: wh (U, H) and heads (heads·H, U) are not transposed; dpre and dout come out."""
    rows = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    units = tl.arange(0, HP)
    row_here, unit_here = rows < B, units < H
    here = row_here[:, None] & unit_here[None, :]
    ends = tl.minimum(tl.maximum(tl.load(lengths + rows, mask=row_here, other=0), 0), T)
    dh = tl.load(dhn + rows[:, None] * H + units[None, :], mask=here, other=0.0)
    last = tl.max(ends, 0)
    for back in range(last):
        k = last - 1 - back
        inside = k < ends
        step = rows * T + k
        kept = inside[:, None] & here
        come = dh + tl.load(dy + step[:, None] * H + units[None, :], mask=kept, other=0.0)
        place = out + step[:, None] * (HEADS * H) + units[None, :]
        v1 = tl.load(place, mask=kept, other=0.0)
        v2 = tl.load(place + H, mask=kept, other=0.0)
        a = tl.load(place + 2 * H, mask=kept, other=0.0)
        gap = tl.load(dt + step, mask=inside, other=0.0)[:, None]
        if HEADS == 4:
            s = tl.sigmoid(a * gap + tl.load(place + 3 * H, mask=kept, other=0.0))
        else:
            s = tl.sigmoid(-a * gap)
        g1 = _activation(v1, HEAD_ACT)
        g2 = _activation(v2, HEAD_ACT)
        come = tl.where(kept, come, 0.0)
        d1 = (come * (1.0 - s) if GATED else come) * _slope(v1, HEAD_ACT)
        d2 = come * s * _slope(v2, HEAD_ACT)
        dc = come * (g2 - g1 if GATED else g2) * s * (1.0 - s)
        if HEADS == 3:
            dc = -dc
        da = dc * gap
        if NEED_DDT:
            tl.store(ddt + step, tl.sum(dc * a, 1), mask=inside)
        to = dout + step[:, None] * (HEADS * H) + units[None, :]
        tl.store(to, d1, mask=kept)
        tl.store(to + H, d2, mask=kept)
        tl.store(to + 2 * H, da, mask=kept)
        if HEADS == 4:
            tl.store(to + 3 * H, dc, mask=kept)
        tl.debug_barrier()  # until the gradients of the heads are written
        before = tl.zeros((BM, HP), tl.float32)
        for first in range(0, U, BU):
            block = first + tl.arange(0, BU)
            block_here = block < U
            seen = inside[:, None] & block_here[None, :]
            dz = tl.zeros((BM, BU), tl.float32)
            for start in range(0, H, BK):
                some = start + tl.arange(0, BK)
                some_here = some < H
                read = inside[:, None] & some_here[None, :]
                used = some_here[:, None] & block_here[None, :]
                d = dout + step[:, None] * (HEADS * H) + some[None, :]
                w = heads + some[:, None] * U + block[None, :]
                for head in range(HEADS):
                    one = tl.load(d + head * H, mask=read, other=0.0)
                    other = tl.load(w + head * H * U, mask=used, other=0.0)
                    dz += _product(one, other, OPERANDS, PRECISION)
            v = tl.load(pre + step[:, None] * U + block[None, :], mask=seen, other=0.0)
            back_here = tl.where(seen, dz * _slope(v, ACT), 0.0)
            tl.store(dpre + step[:, None] * U + block[None, :], back_here, mask=seen)
            wb = tl.load(
                wh + block[:, None] * H + units[None, :], mask=block_here[:, None] & unit_here[None, :], other=0.0
            )
            before += _product(back_here, wb, OPERANDS, PRECISION)
        dh = tl.where(kept, before, dh)
    tl.store(dh0 + rows[:, None] * H + units[None, :], dh, mask=here)
