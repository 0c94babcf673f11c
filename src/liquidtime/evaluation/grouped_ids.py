"""Check whether ids look like groups of series, such as five pieces of the series of one engine."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

_PARTED = re.compile(r"(.*[^\s_/.:#|-])[\s_/.:#|-]+([^\s_/.:#|-]+)")
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?")
_SHARE = 0.5


def grouped_ids(ids: npt.NDArray[Any]) -> str:
    """Return the reason why ids look grouped, as text; "" if they do not.

    The part of an id before its last separator, as in `unit3_cut1`, `a-1` and `a/1`, is its beginning. Ids look grouped
    if at least half of them share their beginning with another id, and if there are several beginnings: a common
    beginning of all ids, as in `patient-1`, `patient-2`, is not a group. Dates are not split.

    Args:
        ids: (S,) ids of the series.
    """
    beginnings = []
    for id in np.asarray(ids).tolist():
        parted = _PARTED.fullmatch(id) if isinstance(id, str) and not _DATE.fullmatch(id) else None
        beginnings.append(None if parted is None else parted[1])
    counts = Counter(beginning for beginning in beginnings if beginning is not None)
    shared = {beginning: count for beginning, count in counts.items() if count > 1}
    if len(counts) < 2 or sum(shared.values()) < _SHARE * len(beginnings):
        return ""
    first = next(beginning for beginning in beginnings if beginning in shared)
    alike = [str(id) for id, beginning in zip(ids.tolist(), beginnings, strict=True) if beginning == first]
    named = ", ".join(alike[:2]) + (", …" if len(alike) > 2 else "")
    return (
        f"the ids look grouped: {sum(shared.values()):,} of {len(beginnings):,} begin like another one, such as {named}"
    )
