"""What a run found, in a form that goes to JSON and back."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from benchmarks.side_by_side.shape import Shape
from benchmarks.side_by_side.timing import Times

FORMAT = 1
FILE_NAME = "bench.json"
CONCLUSIONS = "conclusions"


@dataclasses.dataclass
class CaseFigures:
    """What was measured of one case.

    Args:
        name: of the case.
        shape: the sizes it was measured at.
        times: seconds, by contender and threads; empty where memory is measured.
        peak_bytes: by contender, where memory is measured.
        flops: by contender, the operations of its matrix products.
        missing: by contender, why it was left out.

    """

    name: str
    shape: Shape
    times: Times = dataclasses.field(default_factory=dict)
    peak_bytes: dict[str, int] = dataclasses.field(default_factory=dict)
    flops: dict[str, int] = dataclasses.field(default_factory=dict)
    missing: dict[str, str] = dataclasses.field(default_factory=dict)

    def best(self, name: str, threads: int) -> float | None:
        """Return the shortest time of a contender, or None where it was not measured."""
        found = self.times.get(name, {}).get(threads)
        return min(found) if found else None


@dataclasses.dataclass
class SweepFigures:
    """What was measured of one sweep: seconds by model and size; and by model, why it was left out."""

    name: str
    times: Times
    missing: dict[str, str] = dataclasses.field(default_factory=dict)

    def costs(self, model: str) -> dict[int, float]:
        """Return the shortest time at each size."""
        return {size: min(found) for size, found in self.times[model].items()}


@dataclasses.dataclass
class Report:
    """A whole run.

    Args:
        machine: see `machine_facts`.
        versions: of the packages that took part.
        commit: of the checkout, if it is one.
        threads: numbers of threads, each measured.
        repeats: rounds.
        quick: whether sizes were reduced, in which case no target applies.
        cases: what was measured side by side.
        sweeps: what was measured against a size.

    """

    machine: dict[str, Any]
    versions: dict[str, str]
    commit: str | None
    threads: list[int]
    repeats: int
    quick: bool
    cases: list[CaseFigures] = dataclasses.field(default_factory=list)
    sweeps: list[SweepFigures] = dataclasses.field(default_factory=list)

    def missing(self) -> dict[str, str]:
        """Return everybody who was left out anywhere, with the reason."""
        found: dict[str, str] = {}
        for missing in [case.missing for case in self.cases] + [sweep.missing for sweep in self.sweeps]:
            found |= missing
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON has it."""
        return {"format": FORMAT, **dataclasses.asdict(self)}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Report:
        """Return the report that `to_dict` wrote.

        Raises:
            ValueError: it was written in another format.

        """
        values = {key: value for key, value in given.items() if key != CONCLUSIONS}
        if values.pop("format", None) != FORMAT:
            raise ValueError(
                f"`given` must be a report in format {FORMAT}; got {given.get('format')!r}. Measure again."
            )
        cases = [
            CaseFigures(**case | {"shape": Shape(**case["shape"]), "times": _by_number(case["times"])})
            for case in values.pop("cases")
        ]
        sweeps = [SweepFigures(**sweep | {"times": _by_number(sweep["times"])}) for sweep in values.pop("sweeps")]
        return cls(**values, cases=cases, sweeps=sweeps)

    def save(self, folder: Path, conclusions: dict[str, Any]) -> Path:
        """Write the report and what follows from it into a folder, and return the file."""
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / FILE_NAME
        file.write_text(json.dumps(self.to_dict() | {CONCLUSIONS: conclusions}, indent=1, ensure_ascii=False) + "\n")
        return file


def _by_number(times: dict[str, dict[str, list[float]]]) -> Times:
    return {name: {int(number): found for number, found in rows.items()} for name, rows in times.items()}
