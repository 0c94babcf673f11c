"""The kernels' own threads: they sleep while they wait, survive a fork, and keep to the cores of their process."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading

import pytest
import torch

import liquidtime as lt
from liquidtime.ops.native import library

pytestmark = pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="a question to Linux")


def gradients(threads: int, layer, x, dt) -> list[torch.Tensor]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        y, _ = layer(x, dt=dt)
        return [y.detach(), *torch.autograd.grad(y.square().sum(), list(layer.parameters()))]
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("make", [lambda: lt.CfC(8, 32), lambda: lt.LTC(8, 16)], ids=["cfc", "ltc"])
def test_several_callers_at_once_get_what_one_gets(make):
    layer, x, dt = make(), torch.randn(64, 20, 8), torch.rand(64, 20)
    expected = [gradients(threads, layer, x, dt) for threads in (2, 3)]
    found: list[list[list[torch.Tensor]]] = []

    def call():
        found.append([gradients(threads, layer, x, dt) for threads in (2, 3)])

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(found) == 4
    for results in found:
        for mine, theirs in zip(results, expected, strict=True):
            for a, b in zip(mine, theirs, strict=True):
                torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("ragged", [False, True])
def test_a_number_of_threads_that_changes_before_the_backward_run_changes_nothing(ragged):
    layer, x, dt = lt.CfC(8, 32), torch.randn(96, 20, 8), torch.rand(96, 20)
    lengths = torch.arange(96) % 21 if ragged else None
    before, results = torch.get_num_threads(), []
    try:
        for forward, backward in ((1, 1), (2, 1), (1, 3), (7, 2)):
            torch.set_num_threads(forward)
            y, _ = layer(x, dt=dt, lengths=lengths)
            torch.set_num_threads(backward)
            results.append([y.detach(), *torch.autograd.grad(y.square().sum(), list(layer.parameters()))])
    finally:
        torch.set_num_threads(before)
    for result in results[1:]:
        for mine, first in zip(result, results[0], strict=True):
            torch.testing.assert_close(mine, first, rtol=1e-4, atol=1e-4)  # another order of sums, no other sample


FORK = """
import os, sys, torch
torch.set_num_threads(2)
import liquidtime as lt
rnn, x, dt = lt.CfC(8, 32), torch.randn(64, 20, 8), torch.rand(64, 20)
with torch.no_grad():
    before = rnn(x, dt=dt)[0].numpy().tobytes()  # PyTorch's own operations would wait for threads that are gone
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            for _ in range(3):
                assert rnn(x, dt=dt)[0].numpy().tobytes() == before
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert rnn(x, dt=dt)[0].numpy().tobytes() == before
print("good")
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_threads_of_its_own():
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == ["good"], done.stderr


QUOTA, PERIOD = "cpu/d/cpu.cfs_quota_us", "cpu/d/cpu.cfs_period_us"
GROUPS = {
    "none": ("0::/a/b\n", {}, 0.0),
    "unified": ("0::/a/b\n", {"a/b/cpu.max": "150000 100000"}, 1.5),
    "of one above": ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "50000 100000"}, 0.5),
    "the least": ("0::/a/b\n", {"a/b/cpu.max": "400000 100000", "cpu.max": "200000 100000"}, 2.0),
    "root": ("0::/\n", {"cpu.max": "300000 100000"}, 3.0),
    "old": ("4:cpu,cpuacct:/d\n1:name=systemd:/d\n", {QUOTA: "250000", PERIOD: "100000"}, 2.5),
    "old, none": ("4:cpu,cpuacct:/d\n", {QUOTA: "-1", PERIOD: "100000"}, 0.0),
    "another controller": ("4:cpuset:/d\n", {QUOTA: "1", PERIOD: "100000"}, 0.0),
    "nonsense": ("::\n\nfour\n0::\n", {"cpu.max": "many 0"}, 0.0),
}


@pytest.mark.parametrize("name", GROUPS)
def test_quotas_of_control_groups_are_read(name, tmp_path):
    groups, files, expected = GROUPS[name]
    for place, text in files.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(text + "\n")
    quota = library.load().lt_quota
    quota.restype = ctypes.c_double
    assert quota(str(tmp_path).encode(), groups.encode()) == expected


@LINUX
@pytest.mark.slow
def test_affinity_bounds_the_cores():
    code = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); "
    code += "from liquidtime.ops.native import library; print(library.cores())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == [
        "1"
    ]
    assert 1 <= library.cores() <= len(os.sched_getaffinity(0))


BUSY = """
import statistics, subprocess, sys, time
import torch
torch.set_num_threads(2)
import liquidtime as lt
torch.manual_seed(0)
rnn, x, dt = lt.CfC(8, 32, backbone_units=32), torch.randn(32, 32, 8), torch.rand(32, 32)

def medians(count, *threads):
    times = {n: [] for n in threads}
    for _ in range(count):
        for n in threads:
            torch.set_num_threads(n)
            start = time.perf_counter()
            rnn(x, dt=dt)[0].sum().backward()
            times[n].append(time.perf_counter() - start)
    return [statistics.median(times[n]) for n in threads]

medians(20, 2)
(quiet,) = medians(100, 2)
loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(int(sys.argv[1]))]
try:
    time.sleep(0.5)
    busy, alone = medians(100, 2, 1)
finally:
    for loop in loops:
        loop.kill()
        loop.wait()
print(quiet, busy, alone)
"""


@LINUX
@pytest.mark.slow
def test_a_busy_machine_does_not_stop_a_small_step():
    """What else runs here may come between the two figures; a step on one thread, in turns with the other, shows it."""
    for _ in range(3):
        command = [sys.executable, "-c", BUSY, str(2 * library.cores())]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
        quiet, busy, alone = map(float, done.stdout.split())
        if busy < 5 * max(quiet, alone):
            return
    shown = f"{1000 * alone:.2f} ms on one thread, {1000 * quiet:.2f} ms without the loops"
    pytest.fail(f"{1000 * busy:.2f} ms beside busy loops, {shown}")
