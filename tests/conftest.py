import resource
import sys
from pathlib import Path

import pytest
import torch

from liquidtime.ops import backend, set_backend
from real_data import missing

torch.set_num_threads(1)
TIMES = pytest.StashKey[list]()

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


def pytest_addoption(parser):
    parser.addoption("--dearest", type=int, default=0, help="list so many tests with the most processor time")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Measure the processor time of a test, with its fixtures and the processes that it started."""
    before = processor_time()
    yield
    item.config.stash.setdefault(TIMES, []).append((round(processor_time() - before, 3), item.nodeid))


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):  # a worker of xdist, whose list goes to the process that started it
        session.config.workeroutput["dearest"] = session.config.stash.get(TIMES, [])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    node.config.stash.setdefault(TIMES, []).extend(map(tuple, getattr(node, "workeroutput", {}).get("dearest", [])))


def pytest_terminal_summary(terminalreporter, config):
    times, count = config.stash.get(TIMES, []), config.getoption("--dearest")
    if count:
        terminalreporter.section(f"processor time: {sum(taken for taken, _ in times):.0f} s for {len(times)} tests")
        for taken, name in sorted(times, reverse=True)[:count]:
            terminalreporter.write_line(f"{taken:8.2f} s  {name}")


def processor_time():
    """Seconds of this process, of those that it has waited for, and of the children of `processes`."""
    own, waited = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    forked = sys.modules["processes"].Child.seconds if "processes" in sys.modules else 0.0
    return own.ru_utime + own.ru_stime + waited.ru_utime + waited.ru_stime + forked


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
