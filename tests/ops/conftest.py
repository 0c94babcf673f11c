import pytest

from liquidtime.ops.native import library


@pytest.fixture(params=["baseline", "avx2", "avx512"])
def target(request):
    """The instruction set that the kernels run with during the test; skipped where the machine has it not."""
    before = library.target()
    try:
        library.select_target(request.param)
    except ValueError:
        pytest.skip(f"this machine has no {request.param}")
    yield request.param
    library.select_target(before)
