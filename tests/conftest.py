import sys
from pathlib import Path

import pytest
import torch

from liquidtime.ops import backend, set_backend
from real_data import missing

torch.set_num_threads(1)

# Folders whose tests run whole programs, experiments or benchmarks: all of them are slow.
SLOW_FOLDERS = {"bench", "benchmarks", "cli", "docs", "evaluation", "paper", "tools"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark slow folders; refuse a mark `data` that does not name the files which its test needs."""
    root = Path(__file__).parent
    for item in items:
        if root in item.path.parents and item.path.relative_to(root).parts[0] in SLOW_FOLDERS:
            item.add_marker(pytest.mark.slow)
        if any(not mark.args for mark in item.iter_markers("data")):
            raise pytest.UsageError(f"{item.nodeid}: `pytest.mark.data` must name the files that the test needs")


def pytest_runtest_setup(item):
    """Skip a test whose real data is not on this machine."""
    if reason := missing(item.iter_markers("data")):
        pytest.skip(reason)


@pytest.fixture(autouse=True)
def _poisoned_memory():
    """Memory that nobody wrote is NaN, and every test starts from the same random state."""
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    before = backend()
    yield
    torch.use_deterministic_algorithms(False)
    set_backend(before)  # threads that each choose one may leave another behind
    if "torch._dynamo" in sys.modules:  # how often a function was compiled before must not matter to the next test
        sys.modules["torch._dynamo"].reset()
