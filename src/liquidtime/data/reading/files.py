"""Read tables from files, a folder, a pattern, a spreadsheet or a database."""

from __future__ import annotations

import glob
import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liquidtime.data.container import Note, SeriesSet
from liquidtime.data.reading.options import Reading
from liquidtime.data.reading.separators import refuse_repeated
from liquidtime.data.reading.sql import file_of_database, is_database, read_query
from liquidtime.data.reading.text_files import read_text
from liquidtime.errors import nearest

if TYPE_CHECKING:
    import polars

_TEXT = {".csv": ",", ".tsv": "\t", ".txt": ","}
_SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls")
ENDINGS = (*_TEXT, ".parquet", ".arrow", ".ipc", ".feather", *_SHEETS)
FILE = "file"
"""Name that `id` may have if several files are read and none has such a column: the ids are the file names."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table that was read, with the formats that were detected.

    Args:
        frame: its columns.
        formats: detected formats, as in `SeriesSet.reading`; empty if the file format defines everything.
        notes: detected formats that are unusual, and repairs.
        added: columns that were added while reading and are not channels.
        stored: the series, if they come from a stored set; the frame then has one row per series.
    """

    frame: polars.DataFrame
    formats: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    added: tuple[str, ...] = ()
    stored: SeriesSet | None = None


def is_source(value: Any) -> bool:
    """Return whether an object is the path of a file, a pattern or a URL, or a list of them."""
    several = isinstance(value, list | tuple) and len(value) > 0
    return isinstance(value, str | os.PathLike) or (
        several and all(isinstance(item, str | os.PathLike) for item in value)
    )


def read_frame(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], **options: Any) -> polars.DataFrame:
    """Read a table, by the ending of its name.

    Types of text columns are derived from all rows, not only the first ones. Dates stay texts: they are parsed when it
    is known which column has the times.

    Args:
        source: a file ending in .csv, .tsv, .txt (also .gz), .parquet, .arrow, .ipc, .feather or .xlsx; a folder of
            such files or a pattern such as "ward-*.csv", which are concatenated; a list of these; or a database
            (`sqlite:///file`, `duckdb:///file`, …) with `query`.
        **options: options of `Reading`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the ending is unknown, or the file does not have the format of its ending.

    """
    return read_table(source, Reading.of(options)).frame


def read_table(source: Any, reading: Reading | None = None) -> Table:
    """Read a table as `read_frame` does, and return it with the formats that were detected."""
    reading = reading or Reading()
    sources = [source] if isinstance(source, str | os.PathLike) else list(source)
    if len(sources) == 1 and is_database(str(sources[0])):
        return Table(read_query(str(sources[0]), reading.query))
    if reading.query is not None:
        raise ValueError(f"`query` is for a database, such as 'sqlite:///file.db'; got {str(sources[0])!r}")
    files = [file for item in sources for file in files_of(item)]
    tables = [read_file(file, reading) for file in files]
    return tables[0] if len(tables) == 1 else _stacked(files, tables)


def files_of(source: str | os.PathLike[str]) -> list[Path]:
    """Return the files of a path, a folder or a pattern, sorted by name."""
    path = Path(source)
    if path.is_dir():
        files = [file for file in sorted(path.iterdir()) if file.is_file() and ending_of(file) in ENDINGS]
        if not files:
            raise FileNotFoundError(f"the folder {str(path)!r} has no file that ends in {', '.join(ENDINGS[:4])}, …")
        return files
    if not path.exists() and glob.has_magic(str(path)):
        files = [Path(name) for name in sorted(glob.glob(str(path), recursive=True)) if Path(name).is_file()]
        if not files:
            raise FileNotFoundError(f"no file matches {str(path)!r}")
        return files
    if not path.is_file():
        siblings = [item.name for item in path.parent.iterdir()] if path.parent.is_dir() else []
        raise FileNotFoundError(f"there is no file {str(path)!r}{nearest(path.name, siblings)}")
    return [path]


def sources_of(source: Any) -> list[Path]:
    """Return the files, folders and patterns that are named as a source; a database is its file, and a server none."""
    named = [source] if isinstance(source, str | os.PathLike) else list(source)
    files = [file_of_database(str(item)) if is_database(str(item)) else Path(item) for item in named]
    return [file for file in files if file is not None]


def ending_of(file: Path) -> str:
    """Return the ending that defines the format of a file, apart from .gz."""
    return next((suffix for suffix in reversed(file.suffixes) if suffix.lower() != ".gz"), "").lower()


def read_file(file: Path, reading: Reading) -> Table:
    """Read one file, by its ending."""
    import polars

    ending = ending_of(file)
    if ending not in ENDINGS:
        raise ValueError(f"`path` must end in one of {', '.join(ENDINGS)}; got {file.name!r}")
    if ending in _TEXT:
        text = read_text(file.read_bytes(), file.name, _TEXT[ending], reading)
        return Table(text.frame, text.formats, text.notes)
    for name in ("separator", "encoding"):
        if getattr(reading, name) is not None:
            raise ValueError(f"`{name}` is for text files, and {file.name!r} is not one. Leave it out.")
    try:
        if ending in _SHEETS:
            return Table(_read_sheet(file, reading.sheet))
        return Table(polars.read_parquet(file, glob=False) if ending == ".parquet" else polars.read_ipc(file))
    except (polars.exceptions.PolarsError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{file.name!r} cannot be read as {ending[1:]}: {str(error).splitlines()[0]}") from None


def _read_sheet(file: Path, sheet: str | None) -> polars.DataFrame:
    import polars

    if importlib.util.find_spec("fastexcel") is None:
        raise ImportError("spreadsheets need the package fastexcel: pip install 'liquidtime[excel]'")
    import fastexcel

    try:
        book = fastexcel.read_excel(file)
        names = book.sheet_names
        if sheet is not None and sheet not in names:
            raise ValueError(f"`sheet` must be one of {', '.join(names)}; got {sheet!r}{nearest(sheet, names)}")
        first = book.load_sheet(sheet or names[0], header_row=None, n_rows=1, dtypes="string").to_polars()
        refuse_repeated([str(name) for name in (first.row(0) if len(first) else ()) if name is not None], file.name)
        return polars.read_excel(file, sheet_name=sheet or names[0], infer_schema_length=None)
    except fastexcel.FastExcelError as error:
        raise ValueError(f"{file.name!r} cannot be read as a spreadsheet: {str(error).splitlines()[0]}") from None


def _stacked(files: Sequence[Path], tables: Sequence[Table]) -> Table:
    """Concatenate tables; refuse those whose columns differ from the first."""
    import polars

    first = tables[0].frame.columns
    for file, table in zip(files[1:], tables[1:], strict=True):
        compare_columns(files[0].name, first, file.name, table.frame.columns)
    frames = [table.frame.select(first) for table in tables]
    added = () if FILE in first else (FILE,)
    if added:
        names = [polars.lit(stem_of(file)).alias(FILE) for file in files]
        frames = [frame.with_columns(name) for frame, name in zip(frames, names, strict=True)]
    return Table(
        polars.concat(_same_types(frames), how="vertical_relaxed"),
        tables[0].formats,
        tuple(note for table in tables for note in table.notes),
        added,
    )


def compare_columns(first: str, columns: Sequence[str], other: str, others: Sequence[str]) -> None:
    """Refuse a file that lacks a column of the first file, or has another one; the message names it."""
    lacking = [name for name in columns if name not in others]
    further = [name for name in others if name not in columns]
    if lacking or further:
        words = [f"lacks {lacking[0]!r}"] if lacking else []
        words += [f"has {further[0]!r} besides"] if further else []
        raise ValueError(f"files must have the columns of {first!r}; {other!r} {' and '.join(words)}")


def stem_of(file: Path) -> str:
    """Return the name of a file without its endings."""
    return file.name.removesuffix(".gz").removesuffix(Path(file.name.removesuffix(".gz")).suffix)


def _same_types(frames: Sequence[polars.DataFrame]) -> list[polars.DataFrame]:
    """Return frames in which a column is text if it is text in any of them."""
    import polars

    texts = {name for frame in frames for name in frame.columns if frame[name].dtype == polars.String}
    empty = {
        name for name in texts if all(f[name].null_count() == len(f) for f in frames if f[name].dtype == polars.String)
    }
    result = []
    for frame in frames:
        mixed = [name for name in texts - empty if frame[name].dtype != polars.String]
        nothing = [name for name in empty if frame[name].dtype == polars.String]
        result.append(frame.with_columns(polars.col(mixed).cast(polars.String), polars.col(nothing).cast(polars.Null)))
    return result
