"""One step of the networks with a fixed memory in numpy, from the equations' matrices and scipy's exponential."""

import numpy as np
from scipy import linalg

from oracles.steps import sigmoid


def lagt(N):
    """Return (A, B) of θ dc/dt = A c + B f, the translated Laguerre measure."""
    return -np.tril(np.ones((N, N))), np.ones(N)


def legs(N):
    """Return (A, B) of t dc/dt = A c + B f, the scaled Legendre measure."""
    A = np.zeros((N, N))
    for n in range(N):
        for k in range(n):
            A[n, k] = -np.sqrt(2 * n + 1) * np.sqrt(2 * k + 1)
        A[n, n] = -(n + 1)
    return A, np.sqrt(2 * np.arange(N) + 1.0)


def delay(N):
    """Return (A, B) of θ dc/dt = A c + B u, the delay of the Legendre memory unit."""
    A = np.zeros((N, N))
    for n in range(N):
        for k in range(N):
            A[n, k] = (2 * n + 1) * (-1.0 if n < k else (-1.0) ** (n - k + 1))
    return A, np.array([(2 * n + 1) * (-1.0) ** n for n in range(N)])


def held(A, B, c, f, s):
    """Solve dc/ds = A c + B f over s with f held, by one exponential of the two together."""
    N = len(B)
    both = np.zeros((N + 1, N + 1))
    both[:N, :N], both[:N, N] = A, B
    return (linalg.expm(s * both) @ np.append(c, f))[:N]


def hippo(x, h, c, p, memory):
    """Return (h', c'); p has W, b of [gate; candidate] on [x; h; c], w and v of the signal; memory(c, f) -> c'."""
    gate, candidate = np.split(p["W"] @ np.concatenate([x, h, c]) + p["b"], 2)
    g = sigmoid(gate)
    h = (1 - g) * h + g * np.tanh(candidate)
    return h, memory(c, p["w"] @ h + p["v"])


def lmu(x, h, c, p, memory):
    u = p["e"] @ np.concatenate([x, h, c])
    c = memory(c, u)
    return np.tanh(p["Wx"] @ x + p["Wh"] @ h + p["Wc"] @ c), c


def relu_gru(x, h, p):
    H = len(h)
    W, b, R = p["W"], p["b"], p["R"]
    r = sigmoid(W[:H] @ x + b[:H] + R[:H] @ h)
    z = sigmoid(W[H : 2 * H] @ x + b[H : 2 * H] + R[H : 2 * H] @ h)
    n = np.maximum(W[2 * H :] @ x + b[2 * H :] + R[2 * H :] @ (r * h), 0.0)
    return (1 - z) * h + z * n


def skip_lstm(x, h, m, wish, p, lstm):
    """Return (h', m', wish'); lstm(x, h, m) -> (h', m')."""
    if wish >= 0.5:
        h, m = lstm(x, h, m)
        return h, m, sigmoid(p["w"] @ m + p["b"])
    grown = sigmoid(p["w"] @ m + p["b"])
    return h, m, wish + min(grown, 1 - wish)


def exp_rnn(x, h, p):
    z = p["W"] @ x + linalg.expm(np.tril(p["S"]) - np.tril(p["S"]).T) @ h
    return np.sign(z) * np.maximum(np.abs(z) + p["b"], 0.0)
