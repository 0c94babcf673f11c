"""Reports without rendered pictures: nine tenths of a small `liquidtime train` are matplotlib's layout and drawing.

Every plot is still made, axes, lines and labels included; what is left out is the way from there to SVG, which
tests/evaluation/report, tests/evaluation/insight and tests/cli/test_demo.py go with real pictures.
"""

from collections.abc import Iterator
from typing import Any

import pytest


class _Blank:
    def __init__(self, figure: Any) -> None:
        pass

    def print_svg(self, file: Any, **options: Any) -> None:
        file.write('<svg viewBox="0 0 1 1"></svg>')


@pytest.fixture(scope="module", autouse=True)
def blank_pictures(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leave pictures blank in the modules of a folder whose `conftest.py` imports this."""
    if request.path.name == "test_demo.py" or {"report", "insight"} & set(request.path.parts):
        yield
        return
    from liquidtime.evaluation import drawing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "FigureCanvasSVG", _Blank)
        yield
