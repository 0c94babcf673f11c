"""Whether ids look as if several series belonged to one thing, such as five cuts of one engine."""

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
    """Return in words why ids look grouped; "" if they do not.

    Ids such as `unit3_cut1`, `a-1` and `a/1` have a beginning and, after the last separator, an end. They look grouped
    where half of all ids share their beginning with another and there are several beginnings: one for all, as in
    `patient-1`, `patient-2`, is no group. Dates are not taken apart.

    Args:
        ids: (S,).
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
