"""One step of each recurrent model that the paper compares with, one row in plain numpy and float64."""

import numpy as np

from oracles.steps import gru, lstm, sigmoid, softplus


def faded(value, w, b, since):
    """Return value·exp(-max(0, w·since + b))."""
    return value * np.exp(-np.maximum(0.0, w * since + b))


def rk4(f, y, t, steps):
    h = t / steps
    for _ in range(steps):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def euler(f, y, t, steps):
    for _ in range(steps):
        y = y + t / steps * f(y)
    return y


def filled(x, last, since, dt, masks, mean, w, b):
    """Return (x̂, δ, last', since') of each value by its own branch: observed, or not."""
    K = len(masks)
    out, delta, new_last, new_since = (np.zeros(K) for _ in range(4))
    for c in range(K):
        delta[c] = since[c] + dt
        if x[masks[c]] == 1.0:
            out[c], new_last[c], new_since[c] = x[c], x[c], 0.0
        else:
            share = np.exp(-max(0.0, w[c] * delta[c] + b[c]))
            out[c], new_last[c], new_since[c] = share * last[c] + (1 - share) * mean[c], last[c], delta[c]
    return out, delta, new_last, new_since


def gru_d(x, h, delta, W, b, Wd, bd, U, Un):
    """GRU-D's gates on inputs that are filled in already."""
    h = h * np.exp(-np.maximum(0.0, Wd @ delta + bd))
    xz, xr, xn = np.split(W @ x + b, 3)
    hz, hr = np.split(U @ h, 2)
    z, r = sigmoid(xz + hz), sigmoid(xr + hr)
    return (1 - z) * h + z * np.tanh(xn + Un @ (r * h))


def ct_gru(x, traces, dt, W, b, U, Uq, scales):
    """One step over traces (H, M), unit by unit and scale by scale."""
    H, M = traces.shape
    traces = np.array([[traces[j, i] * np.exp(-dt / scales[i]) for i in range(M)] for j in range(H)])
    total = traces.sum(axis=1)
    xr, xs, xq = np.split(W @ x + b, 3)
    ur, us = np.split(U @ total, 2)

    def nearness(log_time):
        e = np.exp([-((log_time - np.log(tau)) ** 2) for tau in scales])
        return e / e.sum()

    read = np.array([nearness(xr[j] + ur[j]) for j in range(H)])
    write = np.array([nearness(xs[j] + us[j]) for j in range(H)])
    q = np.tanh(xq + Uq @ (read * traces).sum(axis=1))
    return (1 - write) * traces + write * q[:, None]


def phased_lstm(x, h, m, t, W, b, R, peephole, period, shift, r, leak):
    candidate, add, forget, out = np.split(W @ x + b + R @ h, 4)
    proposed = sigmoid(forget + peephole[1] * m) * m + sigmoid(add + peephole[0] * m) * np.tanh(candidate)
    shown = sigmoid(out + peephole[2] * proposed) * np.tanh(proposed)
    k = np.empty(len(h))
    for j in range(len(h)):
        phase = ((t - shift[j]) % period[j]) / period[j]
        k[j] = 2 * phase / r if phase < r / 2 else 2 - 2 * phase / r if phase < r else leak * phase
    return k * shown + (1 - k) * h, k * proposed + (1 - k) * m


def ct_lstm(x, c, level, rate, out, dt, W, b, R):
    c = level + (c - level) * np.exp(-rate * dt)
    h = out * (2 * sigmoid(2 * c) - 1)
    i, f, o, i_level, f_level, z, d = np.split(W @ x + b + R @ h, 7)
    z = 2 * sigmoid(z) - 1
    c = sigmoid(f) * c + sigmoid(i) * z
    return c, sigmoid(f_level) * level + sigmoid(i_level) * z, softplus(d), sigmoid(o)


def cornn(x, y, z, dt, W, b, R, step, frequency, damping, unfolds):
    delta = step * dt / unfolds
    for _ in range(unfolds):
        force = np.tanh(W @ x + b + R @ np.concatenate([y, z])) - frequency * y
        z = (z + delta * force) / (1 + delta * damping)
        y = y + delta * z
    return y, z


def mixed_matrix(M, beta, gamma):
    return (1 - beta) * (M + M.T) + beta * (M - M.T) - gamma * np.eye(len(M))


def lipschitz_rnn(x, h, dt, W, b, A, R, step, unfolds):
    return euler(lambda h: A @ h + np.tanh(R @ h + W @ x + b), h, step * dt, unfolds)


def ct_rnn(x, h, dt, W, b, R, tau, steps):
    """Fine Runge-Kutta steps of τ·dh/dt = -h + tanh(W x + b + R h)."""
    return rk4(lambda h: (-h + np.tanh(W @ x + b + R @ h)) / tau, h, dt, steps)


def gru_ode(x, h, dt, U, bu, Un, bn, W, b, R, c, steps):
    def slope(h):
        z, r = np.split(sigmoid(U @ h + bu), 2)
        return (1 - z) * (np.tanh(Un @ (r * h) + bn) - h)

    return gru(x, rk4(slope, h, dt, steps), W, b, R, c)


def field(h, W, b, V, c):
    return V @ np.tanh(W @ h + b) + c


def ode_rnn(x, h, dt, f, W, b, R, c, solve):
    return gru(x, solve(lambda h: field(h, *f), h, dt), W, b, R, c)


def ode_lstm(x, h, m, dt, f, W, b, R, forget_bias, solve):
    h, m = lstm(x, h, m, W, b, R, forget_bias)
    return solve(lambda h: field(h, *f), h, dt), m
