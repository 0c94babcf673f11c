"""The order of convergence, read off measured errors."""

import numpy as np


def order(steps, errors):
    """Return the slope of log(error) over log(step): least squares over all pairs."""
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]
