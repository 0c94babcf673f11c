"""One step of each cell in plain numpy and float64, written from the equations of the papers."""

import numpy as np


def sigmoid(v):
    return 1.0 / (1.0 + np.exp(-v))


def softplus(v):
    return np.log1p(np.exp(-np.abs(v))) + np.maximum(v, 0.0)


ACTIVATIONS = {
    "relu": lambda v: np.maximum(v, 0.0),
    "silu": lambda v: v * sigmoid(v),
    "gelu": lambda v: v * 0.5 * (1.0 + np.vectorize(__import__("math").erf)(v / np.sqrt(2.0))),
    "tanh": np.tanh,
    "lecun_tanh": lambda v: 1.7159 * np.tanh(0.666 * v),
}


def backbone(z, layers, activation):
    """Apply the layers [(W, b), ...] to z (n,)."""
    for W, b in layers:
        z = ACTIVATIONS[activation](W @ z + b)
    return z


def heads(x, h, p):
    """Return the heads of one row as a list of (H,) vectors."""
    b = backbone(np.concatenate([x, h]), p["backbone"], p["activation"])
    return np.split(p["W"] @ b + p["b"], len(p["b"]) // len(h))


def cfc(x, h, dt, p):
    act = ACTIVATIONS[p["head_activation"]]
    v = heads(x, h, p)
    s = sigmoid(v[2] * dt + v[3]) if len(v) == 4 else sigmoid(-v[2] * dt)
    return act(v[0]) * (1.0 - s) + act(v[1]) * s


def cfc_no_gate(x, h, dt, p):
    act = ACTIVATIONS[p["head_activation"]]
    v = heads(x, h, p)
    s = sigmoid(v[2] * dt + v[3]) if len(v) == 4 else sigmoid(-v[2] * dt)
    return act(v[0]) + act(v[1]) * s


def cf_s(x, h, dt, p):
    (u,) = heads(x, h, p)
    return -p["A"] * np.exp(-dt * (np.abs(p["w_tau"]) + np.abs(u))) * u + p["A"]


def cf_s_paper(x, h, dt, p):
    f, f_negated = sigmoid(heads(x, h, p)[0]), sigmoid(heads(-x, -h, p)[0])
    B = h - p["A"] if p["B"] is None else p["B"]
    return B * np.exp(-(softplus(p["w_tau"]) + f) * dt) * f_negated + p["A"]


def lstm(x, h, m, W, b, R, forget_bias):
    """Return (h', m') for gates in the order candidate, input, forget, output."""
    candidate, add, forget, out = np.split(W @ x + b + R @ h, 4)
    m = m * sigmoid(forget + forget_bias) + np.tanh(candidate) * sigmoid(add)
    return np.tanh(m) * sigmoid(out), m


def gru(x, h, W, b, R, c):
    (xr, xz, xn), (hr, hz, hn) = np.split(W @ x + b, 3), np.split(R @ h, 3)
    r, z = sigmoid(xr + hr), sigmoid(xz + hz)
    return (1.0 - z) * np.tanh(xn + r * (hn + c)) + z * h


def rnn(x, h, W, b, R):
    return np.tanh(W @ x + b + R @ h)


def ltc(x, v, dt, p, unfolds):
    """Semi-implicit steps, as FACTS writes them, with a loop over every synapse."""
    u = x * p["input_weight"] + p["input_bias"]
    cm, gl = softplus(p["capacitance"]), softplus(p["leak"])
    H = len(v)
    for _ in range(unfolds):
        new = np.empty(H)
        for j in range(H):
            top = cm[j] * unfolds / dt * v[j] + gl[j] * p["rest"][j]
            bottom = cm[j] * unfolds / dt + gl[j]
            for pre, s in ((u, p["sensory"]), (v, p["recurrent"])):
                for i in range(len(pre)):
                    if s["mask"][i, j]:
                        g = softplus(s["w"][i, j]) * sigmoid(s["gamma"][i, j] * (pre[i] - s["mu"][i, j]))
                        top += g * s["E"][i, j]
                        bottom += g
            new[j] = top / bottom
        v = new
    return v
