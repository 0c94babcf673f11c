"""Many samples of many series: memory stays flat, and the end is right. The full run is benchmarks/serving_soak.py."""

import sys

import pytest

from benchmarks.serving_soak import soak

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="reads memory from /proc")]


def test_memory_stays_flat(exported):
    figures = soak(exported, samples=1500, series=100, clients=2)
    assert figures["kept"] == 100
    assert figures["growth_since_a_quarter"] < 3.0
    assert figures["largest_difference"] < 5e-6
