from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from liquidtime.cells.cfc import CfCCell


class CfCNoGateCell(CfCCell):
    """The closed-form continuous-time cell without the second gate; heads and options are those of `CfCCell`.

    h' = g1 + s·g2
    """

    kind: ClassVar[str] = "no_gate"

    def combine(self, x: Tensor, h: Tensor, dt: Tensor) -> Tensor:
        """Return the new hidden state (B, H)."""
        g1, g2, s = self.gates(x, h, dt)
        return g1 + s * g2
