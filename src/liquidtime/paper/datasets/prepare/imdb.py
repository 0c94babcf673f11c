"""IMDB reviews from the archive of the Large Movie Review Dataset."""

from __future__ import annotations

import tarfile
from pathlib import Path

import polars as pl

from liquidtime.paper.datasets.download import Download
from liquidtime.paper.datasets.files import Origin

ARCHIVE = Download(
    "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
    "aclImdb_v1.tar.gz",
    "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
)
LABELS = {"pos": 1, "neg": 0}
PARTS = ("train", "test")


def prepare(raw: Path, into: Path) -> None:
    """Write train and test (Parquet: id, label, rating, text), sorted by id, positive before negative."""
    rows: dict[str, list[tuple[int, int, int, str]]] = {part: [] for part in PARTS}
    with tarfile.open(raw / ARCHIVE.name) as files:
        for member in files:
            path = Path(member.name)
            if not member.isfile() or path.suffix != ".txt" or path.parent.name not in LABELS:
                continue
            content = files.extractfile(member)
            if content is not None:
                number, rating = path.stem.split("_")
                label = LABELS[path.parent.name]
                rows[path.parent.parent.name].append((int(number), label, int(rating), content.read().decode()))
    schema = {"id": pl.Int32, "label": pl.Int8, "rating": pl.Int8, "text": pl.String}
    for part, found in rows.items():
        table = pl.DataFrame(found, schema=schema, orient="row").sort("id", "label", descending=[False, True])
        table.write_parquet(into / f"{part}.parquet")


ORIGIN = Origin("imdb", ("train.parquet", "test.parquet"), (ARCHIVE,), prepare)
