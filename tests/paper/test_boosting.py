import numpy as np
import pytest
import torch

from liquidtime.datasets import Sequences, xor
from liquidtime.paper.boosting import summaries


def test_summaries_by_hand():
    values = torch.tensor([[[1.0, 0.0], [4.0, 0.0], [4.0, 0.0]], [[0.0, 2.0], [3.0, 2.0], [0.0, 0.0]]])
    mask = torch.tensor([[[1, 0], [1, 0], [0, 0]], [[0, 1], [1, 0], [0, 0]]], dtype=torch.bool)
    part = Sequences(
        torch.cat([values, mask.float()], -1), torch.zeros(2, 3), torch.tensor([3, 2]), torch.tensor([0, 1]),
        torch.arange(2), mask,
    )  # fmt: skip
    found = summaries(part).reshape(2, 7, 2)
    nan = np.nan
    np.testing.assert_allclose(found[0], [[2.5, nan], [1, nan], [4, nan], [1, nan], [4, nan], [2, 0], [1.5, nan]])
    np.testing.assert_allclose(found[1], [[3, 2], [3, 2], [3, 2], [3, 2], [3, 2], [1, 1], [0, 0]])
    with pytest.raises(ValueError, match="a mask of what was observed"):
        summaries(xor("test", size=2))
