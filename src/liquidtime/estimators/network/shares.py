"""A rank's own rows of a batch, as long as those of the whole batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from torch.nn.functional import pad

from liquidtime.training.ranks import Ranks, Share

if TYPE_CHECKING:
    from liquidtime.estimators.network.inputs import Prepared, SeriesBatch

Rows = npt.NDArray[np.int64]


def own_rows(prepared: Prepared, rows: Rows, ranks: Ranks) -> SeriesBatch:
    """Return the rows of a batch that a rank has; all of them where it is alone.

    They are padded to the longest row of the whole batch, so that masks have the same shape on every rank.

    Args:
        prepared: the series.
        rows: (B,) of the whole batch.
        ranks: who shares it.
    """
    if ranks.world == 1:
        return prepared.at(rows)
    batch = prepared.at(rows[ranks.rows(len(rows))[0]])
    more = max(1, int(prepared.lengths[rows].max())) - batch.dt.shape[1]
    return batch._replace(
        x=pad(batch.x, (0, 0, 0, more)),
        dt=pad(batch.dt, (0, more)),
        intervals=pad(batch.intervals, (0, more)),
        history=pad(batch.history, (0, 0, 0, more)) if batch.history.dim() == 3 else batch.history,
        share=Share(ranks, len(rows)),
    )
