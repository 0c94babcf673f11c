"""Compares a step of a cell with the same step in plain numpy, row by row."""

import numpy as np
import torch

ROWS = 4


def n(tensor):
    """Return a tensor as a numpy array in float64."""
    return tensor.detach().double().numpy()


def linear(layer):
    """Return weight and bias of a linear layer as numpy arrays."""
    return [n(part) for part in layer.parameters()]


def shaken(cell):
    """Return the cell with every parameter moved away from its first value, so that nothing is hidden by a 0 or a 1."""
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return cell.double().eval()


def assert_agrees(cell, oracle, x=None, state=None):
    """Compare a step with the oracle's, which maps numpy (x, *state, dt) of one row to the parts of the new state.

    Returns:
        the output, the state after the step, and dt.

    """
    torch.manual_seed(3)
    x = torch.randn(ROWS, cell.input_size).double() if x is None else x
    state = tuple(torch.randn(ROWS, size).double() for size in cell.state_sizes) if state is None else state
    dt = torch.rand(ROWS).double() * 2
    y, after = cell(x, state, dt)
    for i in range(ROWS):
        expected = oracle(n(x[i]), *(n(part[i]) for part in state), float(dt[i]))
        for part, one in zip(after, expected, strict=True):
            np.testing.assert_allclose(n(part[i]), one, rtol=1e-9, atol=1e-12)
    return y, after, dt
