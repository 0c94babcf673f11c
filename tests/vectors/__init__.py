"""Numbers from public implementations, and what loads their weights into cells; README.md names the sources."""

from pathlib import Path

import numpy as np
import torch

FOLDER = Path(__file__).parent


def load(name):
    """Return the arrays of a file as float64 tensors, integers as they are, by name."""
    with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as file:
        return {key: _tensor(file[key]) for key in file.files}


def _tensor(array):
    tensor = torch.from_numpy(np.array(array))
    return tensor.double() if tensor.is_floating_point() else tensor


def put(target, value):
    """Write numbers into a parameter or buffer, which must have their shape."""
    assert target.shape == value.shape, (target.shape, value.shape)
    with torch.no_grad():
        target.copy_(value)


def put_linear(layer, weight, bias=None):
    """Write a matrix (outputs, inputs) and a bias into a linear layer."""
    put(layer.weight, weight)
    if bias is not None:
        put(layer.bias, bias)


def blocks(values, order, dim=0):
    """Return the equal parts of a tensor along a dimension in another order."""
    parts = values.chunk(len(order), dim=dim)
    return torch.cat([parts[k] for k in order], dim=dim)


def run(cell, numbers, dt=None):
    """Return the outputs (B, T, ·) and the states after each step, by the cell's own loop and by its scan."""
    x = numbers["x"]
    dt = numbers.get("dt", torch.ones(x.shape[:2], dtype=x.dtype)) if dt is None else dt
    cell = cell.double()
    state, outputs, states = cell.initial_state(x), [], []
    with torch.no_grad():
        for k in range(x.shape[1]):
            y, state = cell(x[:, k], state, dt[:, k])
            outputs.append(y)
            states.append(state)
        scanned, last = cell.scan(x, cell.initial_state(x), dt)
    y = torch.stack(outputs, dim=1)
    torch.testing.assert_close(scanned, y, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(last, state, rtol=1e-9, atol=1e-10)
    return y, [torch.stack(part, dim=1) for part in zip(*states, strict=True)]


def close(ours, theirs, *, single):
    """Compare with numbers computed in float32 (`single`) or in float64."""
    torch.testing.assert_close(ours, theirs, rtol=0.0, atol=5e-6 if single else 1e-12)
