import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _poisoned_memory():
    """Memory that nobody wrote is NaN, and every test starts from the same random state."""
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
