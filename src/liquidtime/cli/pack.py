from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from liquidtime.cli.failing import command
from liquidtime.cli.options import (
    AsJson,
    Categorical,
    Channel,
    Data,
    Debug,
    Static,
    Strict,
    TimeUnit,
    Value,
    Values,
    listed,
)
from liquidtime.cli.reading_options import ReadingOptions, with_reading


@command
@with_reading
def pack(
    data: Data,
    reading: ReadingOptions,
    id: Annotated[str, typer.Option("--id", help="Column with the series ids.", show_default=False)],
    time: Annotated[str, typer.Option("--time", help="Column with the times.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="Folder to write the set to.", show_default=False)],
    channel: Channel = None,
    value: Value = None,
    values: Values = None,
    static: Static = None,
    categorical: Categorical = None,
    time_unit: TimeUnit = None,
    gather: Annotated[
        bool,
        typer.Option(
            "--gather/--no-gather",
            help="First look for series that are spread over several files, and bring them together.",
        ),
    ] = True,
    strict: Strict = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the stored set at --out.")] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Pack tables of any size into a stored set, which every other command accepts as DATA.

    Reads the tables piece by piece, so that memory stays bounded. The set is a folder of arrays with checksums. To keep
    a target that is a column of DATA, name it in --static; `train --target` then finds it in the set.
    """
    from liquidtime.cli.columns import Columns
    from liquidtime.cli.printing import Printer
    from liquidtime.data import from_long, from_wide
    from liquidtime.data.stored import check_place

    check_place(out, replace=force)
    printer = Printer(as_json)
    Columns(id, time, channel, value, tuple(listed(values)))  # refuses options that do not go together
    options = {
        "id": id, "time": time, "time_unit": time_unit, "static": tuple(listed(static)),
        "categorical": tuple(listed(categorical)), "static_table": reading.static_table, "static_id": reading.static_id,
        "strict": strict, "out": out, "gather": gather, "replace": force, "missing": reading.missing,
        "separator": reading.separator, "decimal": reading.decimal, "encoding": reading.encoding,
        "sheet": reading.sheet,
        "query": reading.query, "time_format": reading.time_format,
    }  # fmt: skip
    source = list(data)
    if channel is not None and value is not None:
        stored = from_long(source, channel=channel, value=value, **options)  # type: ignore[arg-type]
    else:
        stored = from_wide(source, values=tuple(listed(values)) or None, **options)  # type: ignore[arg-type]
    for note in stored.notes:
        printer.line(str(note))
    printer.line(f"{len(stored):,} series, {int(stored.offsets[-1]):,} samples, {stored.nbytes / 1e6:,.0f} MB in {out}")
    printer.result(
        {
            "out": str(out),
            "series": len(stored),
            "samples": int(stored.offsets[-1]),
            "channels": list(stored.channels),
            "static": list(stored.static_names),
            "bytes": stored.nbytes,
            "notes": [str(note) for note in stored.notes],
        }
    )
