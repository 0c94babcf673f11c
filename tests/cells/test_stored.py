"""Every cell that has its own way over a sequence refuses memory that was freed before it reads any of it."""

from __future__ import annotations

import pytest
import torch

from liquidtime.networks import NETWORKS, recurrent_layer

CELLS = [name for name, entry in NETWORKS.items() if not entry.reads_series and entry.masks != "required"]


@pytest.mark.parametrize("which", ["x", "dt", "state", "parameter"])
@pytest.mark.parametrize("name", CELLS)
def test_freed_memory_is_refused(name, which):
    cell = recurrent_layer(name, 3, 4).cells[0]
    x, dt = torch.randn(2, 5, 3), torch.rand(2, 5)
    state = tuple(part.clone() for part in cell.initial_state(x[:, 0]))
    part = {"x": x, "dt": dt, "state": state[-1], "parameter": next(cell.parameters())}[which]
    part.data.untyped_storage().resize_(0)
    with pytest.raises(ValueError, match="but its storage has only"), torch.no_grad():
        cell.scan(x, state, dt)
