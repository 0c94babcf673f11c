"""The fit finds the exponent of a power law, whatever is paid once."""

import pytest

from benchmarks.side_by_side.exponents import fitted

SIZES = (16, 32, 64, 128, 256, 512)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0, -1.0])
def test_power_law(exponent):
    law = fitted({size: 3e-4 * size**exponent for size in SIZES})
    assert law.exponent == pytest.approx(exponent, abs=1e-9)
    assert law.factor == pytest.approx(3e-4)
    assert law.at(1000) == pytest.approx(3e-4 * 1000**exponent)


def test_the_small_sizes_do_not_count():
    """What is paid once flattens the small half, which the fit leaves out; over all sizes the slope would be 0.5."""
    law = fitted({size: max(1e-2, 1e-4 * size) for size in SIZES})
    assert law.sizes == (128, 256, 512)
    assert law.exponent == pytest.approx(1.0)


def test_noise_of_a_tenth_moves_little():
    noise = (1.1, 0.9, 1.05, 1.1, 0.95, 1.0)
    law = fitted({size: factor * size**2 for size, factor in zip(SIZES, noise, strict=True)})
    assert law.exponent == pytest.approx(2.0, abs=0.1)


def test_one_size_has_no_slope():
    assert fitted({64: 1.0}) is None
    assert fitted({64: 1.0, 128: 4.0}).exponent == pytest.approx(2.0)
