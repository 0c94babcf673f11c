"""Every cell is one graph to `torch.compile`; layers are traced further, by `torch.export`, in their own contract."""

import pytest
import torch

from subjects import SUBJECTS, TRACED_ALIKE, D


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SUBJECTS if name not in TRACED_ALIKE])
def test_compiles_without_a_break(name):
    torch.manual_seed(1)
    cell = SUBJECTS[name](D)
    x = torch.randn(4, cell.input_size)
    state, dt = tuple(torch.randn(4, size) for size in cell.state_sizes), torch.rand(4)
    torch._dynamo.reset()
    compiled = torch.compile(cell, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x, state, dt)[0], cell(x, state, dt)[0])
