from pathlib import Path

import pytest
import torch

torch.set_num_threads(1)

# Folders whose tests run whole programs, experiments or benchmarks: all of them are slow.
SLOW_FOLDERS = {"bench", "benchmarks", "cli", "docs", "evaluation", "paper", "tools"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    root = Path(__file__).parent
    for item in items:
        if root in item.path.parents and item.path.relative_to(root).parts[0] in SLOW_FOLDERS:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _poisoned_memory():
    """Memory that nobody wrote is NaN, and every test starts from the same random state."""
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
