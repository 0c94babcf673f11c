"""The scalar LTC equation's solution before any simplification, in plain numpy.

x(t) = e^{-∫₀ᵗ [w + f(I)] ds} x0 + ∫₀ᵗ e^{-∫ₛᵗ [w + f(I)] dv} A (w + f(I(s))) ds
"""

import numpy as np


def double_integral(signal, t, x0, A, w_tau, f, steps=4000):
    """Return x(t) at one time by the trapezoidal rule on both integrals; the error falls as steps**-2."""
    s = np.linspace(0.0, t, steps + 1)
    rate = w_tau + f(signal(s))
    h = t / steps
    inner = np.concatenate([[0.0], np.cumsum(0.5 * h * (rate[1:] + rate[:-1]))])  # ∫₀ˢ
    integrand = np.exp(-(inner[-1] - inner)) * A * rate
    return np.exp(-inner[-1]) * x0 + 0.5 * h * np.sum(integrand[1:] + integrand[:-1])
