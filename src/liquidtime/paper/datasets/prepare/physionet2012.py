"""PhysioNet 2012 from its archives: two tables of measurements and one of outcomes."""

from __future__ import annotations

import csv
import io
import tarfile
from pathlib import Path

import polars as pl

from liquidtime.paper.datasets.download import Download
from liquidtime.paper.datasets.files import Origin

_HOST = "https://physionet.org/files/challenge-2012/1.0.0"
DOWNLOADS = (
    Download(
        f"{_HOST}/set-a.tar.gz", "set-a.tar.gz", "8cb250f179cd0952b4b9ebcf8954b63d70383131670fac1cfee13deaa13ca920"
    ),
    Download(
        f"{_HOST}/set-b.tar.gz", "set-b.tar.gz", "b1637a2a423a8e76f8f087896cfc5fdf28f88519e1f4e874fbda69b2a64dac30"
    ),
    Download(
        f"{_HOST}/Outcomes-a.txt", "Outcomes-a.txt", "2613ea60ccda29f87571a7d6b09ad130858a8ccd66325bd073365925026883c2"
    ),
    Download(
        f"{_HOST}/Outcomes-b.txt", "Outcomes-b.txt", "1305f29734da374a809483229a99f33a9230aa8d4fa74b1a2d6ad788136423d5"
    ),
)
OUTCOMES = {
    "RecordID": "record_id",
    "SAPS-I": "saps_i",
    "SOFA": "sofa",
    "Length_of_stay": "length_of_stay",
    "Survival": "survival",
    "In-hospital_death": "in_hospital_death",
}
SETS = ("a", "b")


def prepare(raw: Path, into: Path) -> None:
    """Write records-a, records-b and outcomes (Parquet) from the downloads in `raw`.

    Raises:
        ValueError: the stays and outcomes of a set do not match.

    """
    outcomes = []
    for name in SETS:
        records = _records(raw / f"set-{name}.tar.gz")
        table = pl.read_csv(raw / f"Outcomes-{name}.txt").rename(OUTCOMES)
        table = table.select(
            pl.lit(name).alias("set"), *(pl.col(column).cast(pl.Int32) for column in OUTCOMES.values())
        )
        stays, known = set(records["record_id"]), set(table["record_id"])
        if stays != known:
            raise ValueError(f"set {name} has {len(stays)} stays and outcomes of {len(known)}, not of the same stays")
        records.write_parquet(into / f"records-{name}.parquet")
        outcomes.append(table)
    pl.concat(outcomes).write_parquet(into / "outcomes.parquet")


def _records(archive: Path) -> pl.DataFrame:
    """Return the measurements of every stay in an archive, with stays in ascending order and lines in their order."""
    stays: dict[int, list[tuple[int, str, float]]] = {}
    with tarfile.open(archive) as files:
        for member in files:
            stem = Path(member.name).stem
            content = files.extractfile(member) if member.isfile() and stem.isdigit() else None
            if content is not None:
                stays[int(stem)] = _measurements(content.read().decode(), int(stem))
    rows = [(stay, *line) for stay in sorted(stays) for line in stays[stay]]
    schema = {"record_id": pl.Int32, "minutes": pl.Int16, "parameter": pl.String, "value": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").cast({"parameter": pl.Categorical})


def _measurements(text: str, stay: int) -> list[tuple[int, str, float]]:
    lines = []
    for line in csv.DictReader(io.StringIO(text)):
        if line["Parameter"] == "RecordID":
            if int(float(line["Value"])) != stay:
                raise ValueError(f"the file of stay {stay} says it is of {line['Value']}")
        elif line["Parameter"]:  # some releases have lines without a parameter
            hours, minutes = line["Time"].split(":")
            lines.append((60 * int(hours) + int(minutes), line["Parameter"], float(line["Value"])))
    return lines


ORIGIN = Origin(
    "physionet2012",
    ("records-a.parquet", "records-b.parquet", "outcomes.parquet"),
    DOWNLOADS,
    prepare,
)
