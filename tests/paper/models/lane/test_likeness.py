import numpy as np
import torch

from liquidtime.paper.models.lane.likeness import likeness


def test_likeness():
    a = torch.rand(3, 5, 6)
    b = a.clone()
    b[1] = 1 - a[1]
    b[2] = 0.3
    torch.testing.assert_close(likeness(a, b), torch.tensor([1.0, -1.0, 0.0]))
    other = torch.rand(3, 5, 6)
    expected = [np.corrcoef(x.flatten(), y.flatten())[0, 1] for x, y in zip(a.numpy(), other.numpy(), strict=True)]
    np.testing.assert_allclose(likeness(a, other).numpy(), expected, atol=1e-5)
