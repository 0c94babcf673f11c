"""All take turns, and what is counted is what was asked for."""

import torch

from benchmarks.side_by_side.timing import Timed, interleaved
from liquidtime.ops import backend


class Clock:
    """Time that passes only when a run says so."""

    def __init__(self):
        self.now, self.calls = 0.0, []

    def run(self, name, seconds, **options):
        def call():
            self.now += seconds
            self.calls.append((name, torch.get_num_threads()))

        return Timed(call, **options)

    def __call__(self):
        return self.now


def test_runs_take_turns():
    clock = Clock()
    runs = {"A": clock.run("A", 0.25), "B": clock.run("B", 2.0)}
    times = interleaved(runs, threads=[1], repeats=3, clock=clock)
    assert [name for name, _ in clock.calls] == ["A", "A", "B"] + ["A", "B"] * 3  # the slow one is called once before
    assert times == {"A": {1: [0.25] * 3}, "B": {1: [2.0] * 3}}


def test_threads_take_turns_too_and_are_restored():
    before = torch.get_num_threads()
    clock = Clock()
    interleaved({"A": clock.run("A", 1.0), "B": clock.run("B", 1.0)}, threads=[1, 2], repeats=2, clock=clock)
    assert clock.calls[4:] == [("A", 1), ("B", 1), ("A", 2), ("B", 2)] * 2
    assert torch.get_num_threads() == before


def test_quick_calls_are_made_in_a_row():
    clock = Clock()
    times = interleaved({"A": clock.run("A", 0.25)}, repeats=2, least=1.0, clock=clock)
    assert len(clock.calls) == 2 + 2 * 4
    assert times["A"][1] == [0.25, 0.25]


def test_a_slow_run_sits_out_after_two_rounds():
    clock = Clock()
    runs = {"slow": clock.run("slow", 6.0), "quick": clock.run("quick", 0.5)}
    times = interleaved(runs, repeats=5, budget=10.0, clock=clock)
    assert len(times["slow"][1]) == 2
    assert len(times["quick"][1]) == 5


def test_each_run_has_its_own_conditions():
    seen = []

    def call():
        seen.append((backend(), torch.is_grad_enabled()))

    runs = {"a": Timed(call, "reference", grad=False), "b": Timed(call)}
    interleaved(runs, repeats=1, least=0.0)
    assert seen[-2:] == [("reference", False), ("auto", True)]
    assert torch.is_grad_enabled()
