import sys

import pytest
import torch

from benchmarks import gpu


def test_the_roofline_is_arithmetic():
    shape = gpu.Shape(B=32, T=10, D=4, H=8, U=16)
    bound = gpu.roofline(shape, tflops=1.0, bandwidth=1.0)
    products = 32 * 10 * (16 * 12 + 4 * 8 * 16)  # multiplications and additions of a forward run
    assert bound.arithmetic == pytest.approx(3 * 2 * products / 1e12 * 1e3)
    weights = (16 * 8 + 4 * 8 * 16) * 4  # bytes, read by two programs of 16 rows at each of 10 steps, there and back
    assert bound.weights == pytest.approx(2 * 2 * 10 * weights / 1e9 * 1e3)
    assert bound.least == max(bound.arithmetic, bound.weights)
    assert gpu.roofline(shape, 2.0, 4.0).weights == bound.weights / 4


def test_what_is_compared_computes_gradients():
    steps = gpu.steps_of(gpu.Shape(2, 3, 2, 4, 4), "cpu")
    assert {"plain loop", "nn.LSTM", "torch.compile of the loop"} <= set(steps)
    steps["plain loop"]()
    steps["nn.LSTM"]()


def test_without_a_gpu_it_says_so_in_one_line(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["gpu", "--out", str(tmp_path / "gpu.json")])
    gpu.main()
    assert capsys.readouterr().out.count("\n") == 1
    assert not list(tmp_path.iterdir())
