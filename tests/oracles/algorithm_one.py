"""Algorithm 1 with its two loops, over plain arrays, as the paper prints it; and its conductance-weighted form."""

import numpy as np


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def softplus(z):
    return np.log1p(np.exp(z))


def parameters(cell):
    """Return the numbers of an LTC cell as float64 arrays, synapses from inputs first, then from neurons."""
    read = {name: value.detach().double().numpy() for name, value in cell.state_dict().items()}

    def both(name):
        return np.concatenate([read[f"sensory.{name}"], read[f"recurrent.{name}"]])

    return {
        "gl": softplus(read["leak"]),
        "vl": read["rest"],
        "cm": softplus(read["capacitance"]),
        "sigma": both("gamma"),
        "mu": both("mu"),
        "A": both("E"),
        "w": softplus(both("w")),
        "adjacency": both("mask") != 0,
        "input_weight": read["input_weight"],
        "input_bias": read["input_bias"],
    }


def printed(p, inputs, activity, t, x0):
    """Return x̂ (H,) at one time from the inputs (D,), the recorded activity (H,), the time t and x0 (H,)."""
    x_pre = np.concatenate([inputs * p["input_weight"] + p["input_bias"], activity])
    H = len(x0)
    x_hat = np.zeros(H)
    for i in range(H):
        tau = p["cm"][i] / p["gl"][i]
        for j in range(len(x_pre)):
            if not p["adjacency"][j, i]:
                continue
            A, sigma, mu = p["A"][j, i], p["sigma"][j, i], p["mu"][j, i]
            f = 1 / (1 + np.exp(-sigma * (x_pre[j] - mu)))
            f_negated = 1 / (1 + np.exp(sigma * (x_pre[j] - mu)))
            x_hat[i] += (x0[i] - A) * np.exp(-t * (1 / tau + f)) * f_negated + A
    return x_hat


def weighted(p, inputs, activity, t, x0):
    """Return x̂ (H,) with conductances added up before the exponential is taken."""
    x_pre = np.concatenate([inputs * p["input_weight"] + p["input_bias"], activity])
    H = len(x0)
    x_hat = np.zeros(H)
    for i in range(H):
        opened = closed = total = current = 0.0
        for j in range(len(x_pre)):
            if not p["adjacency"][j, i]:
                continue
            s = sigmoid(p["sigma"][j, i] * (x_pre[j] - p["mu"][j, i]))
            opened += p["w"][j, i] * s
            closed += p["w"][j, i] * (1 - s)
            total += p["w"][j, i]
            current += p["w"][j, i] * s * p["A"][j, i]
        A = (p["gl"][i] * p["vl"][i] + current) / (p["gl"][i] + opened)
        phi = closed / total if total else 1.0
        x_hat[i] = (x0[i] - A) * np.exp(-t * (p["gl"][i] + opened) / p["cm"][i]) * phi + A
    return x_hat
