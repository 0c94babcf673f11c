"""Files of measurements and labels, read by the ending of their name."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from liquidtime.errors import nearest

if TYPE_CHECKING:
    import polars

ENDINGS = (".csv", ".tsv", ".parquet", ".arrow", ".ipc", ".feather")


def read_frame(path: str | os.PathLike[str]) -> polars.DataFrame:
    """Read a table from CSV, TSV, Parquet or Arrow (IPC, Feather), by the ending of its name.

    Types of CSV columns are taken from all rows, not the first few; ISO 8601 dates and times are parsed.

    Args:
        path: a file ending in .csv (or .csv.gz), .tsv, .parquet, .arrow, .ipc or .feather.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: an unknown ending, or a file that is not what its ending says.

    """
    import polars

    file = Path(path)
    if not file.is_file():
        siblings = [item.name for item in file.parent.iterdir()] if file.parent.is_dir() else []
        raise FileNotFoundError(f"there is no file {str(file)!r}{nearest(file.name, siblings)}")
    ending = next((suffix for suffix in reversed(file.suffixes) if suffix.lower() != ".gz"), "").lower()
    if ending not in ENDINGS:
        raise ValueError(f"`path` must end in one of {', '.join(ENDINGS)}; got {file.name!r}")

    def csv() -> polars.DataFrame:
        separator = "\t" if ending == ".tsv" else ","
        _refuse_repeated_names(file, separator)
        return polars.read_csv(file, separator=separator, infer_schema_length=None, try_parse_dates=True, glob=False)

    readers: dict[str, Callable[[], polars.DataFrame]] = {
        ".csv": csv,
        ".tsv": csv,
        ".parquet": lambda: polars.read_parquet(file, glob=False),
    }
    try:
        return readers.get(ending, lambda: polars.read_ipc(file))()
    except polars.exceptions.NoDataError:
        raise ValueError(f"{file.name!r} is empty; it needs a line of column names and rows") from None
    except (polars.exceptions.PolarsError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{file.name!r} cannot be read as {ending[1:]}: {str(error).splitlines()[0]}") from None


def _refuse_repeated_names(file: Path, separator: str) -> None:
    """Refuse a table in which two columns have one name: which of them is meant cannot be known."""
    import polars

    first = polars.read_csv(file, separator=separator, has_header=False, n_rows=1, infer_schema=False, glob=False)
    names = first.row(0) if len(first) else ()
    repeated = [name for name, count in Counter(names).items() if name is not None and count > 1]
    if repeated:
        raise ValueError(f"{file.name!r} has several columns called {repeated[0]!r}; every name must be there once")
