"""Configuration files: the options of a command in YAML. One is written beside every model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from liquidtime.cli.failing import fail
from liquidtime.errors import nearest

MARK = "# Written by liquidtime. Repeat the run with: liquidtime {command} --config {name}\n"
_LARGEST = 1 << 20
_LEFT_OUT = ("config", "debug", "resume", "force", "help")


def _use(context: typer.Context, file: Path | None) -> Any:
    """Use the values in a file as defaults of a command; return the context, which `write_config` needs."""
    if file is not None and not context.resilient_parsing:
        try:
            context.default_map = {**(context.default_map or {}), **read_config(file, context.command)}
        except (ValueError, OSError) as error:
            fail(error)
    return context


Config = Annotated[
    Any,
    typer.Option(
        "--config", callback=_use, is_eager=True, parser=Path, metavar="FILE",
        help="YAML file with options of this command; options on the command line take precedence.",
    ),
]  # fmt: skip


def read_config(file: Path, command: Any) -> dict[str, Any]:
    """Read values for the parameters of a command from a file; return them by the parameters' names in Python.

    Args:
        file: YAML, a mapping from options, without their dashes, to values.
        command: the command that has these options.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not YAML or not a mapping, or a key is not an option; the nearest option is named.

    """
    import yaml

    if not file.is_file():
        siblings = [item.name for item in file.parent.iterdir()] if file.parent.is_dir() else []
        raise FileNotFoundError(f"there is no file --config {str(file)!r}{nearest(file.name, siblings)}")
    if file.stat().st_size > _LARGEST:
        raise ValueError(f"--config {file} has {file.stat().st_size:,} bytes; the limit is {_LARGEST:,}")
    try:
        values = yaml.safe_load(file.read_bytes())
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"--config {file} is not YAML: {' '.join(str(error).split())[:200]}") from None
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise ValueError(f"--config {file} must be a mapping from options to values; got {type(values).__name__}")
    parameters = {name: parameter for parameter in command.params for name in _names_of(parameter)}
    known = [name for name in parameters if name not in _LEFT_OUT]
    chosen: dict[str, Any] = {}
    for key, value in values.items():
        name = str(key).lstrip("-").replace("_", "-")
        if name == "command":
            if value != command.name:
                raise ValueError(f"--config {file} is for `liquidtime {value}`, not for `liquidtime {command.name}`")
        elif name not in known:
            raise ValueError(
                f"--config {file}: {key!r} is not an option of {command.name}{nearest(name, known) or '.'}"
            )
        elif value is not None:
            parameter = parameters[name]
            chosen[str(parameter.name)] = _as_typed(parameter, value, file, key)
    return chosen


def _as_typed(parameter: Any, value: Any, file: Path, key: Any) -> Any:
    """Return a value as the command line would have given it."""
    several = bool(getattr(parameter, "multiple", False)) or parameter.nargs != 1
    items = value if isinstance(value, list) else [value]
    if any(isinstance(item, list | dict) for item in items) or (isinstance(value, list) and not several):
        raise ValueError(f"--config {file}: {key!r} must be one value{' or a list' if several else ''}; got {value!r}")
    flag = bool(getattr(parameter, "is_flag", False))
    if flag != isinstance(value, bool) and not (several and not flag):
        needed = "true or false" if flag else "a value, not true or false"
        raise ValueError(f"--config {file}: {key!r} must be {needed}; got {value!r}")
    return [str(item) for item in items] if several else value if flag else str(value)


def _names_of(parameter: Any) -> list[str]:
    """Return the names of a parameter in a file: its options without dashes, or the name of an argument."""
    if parameter.param_type_name == "option":
        return [option.lstrip("-") for option in parameter.opts if option.startswith("--")]
    return [str(parameter.name)]


def config_of(context: typer.Context) -> str:
    """Return the text of a file that repeats a command with all its values; passwords are left out."""
    import yaml

    from liquidtime.data.reading.sql import without_password

    def plain(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        if isinstance(value, str | Path):
            return without_password(str(value))
        return value

    values: dict[str, Any] = {"command": context.command.name}
    for parameter in context.command.params:
        name, value = _names_of(parameter)[:1], context.params.get(str(parameter.name))
        if name and name[0] not in _LEFT_OUT and value not in (None, [], (), False):
            values[name[0]] = plain(value)
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True, default_flow_style=None, width=1000)


def config_beside(out: Path) -> Path:
    """Return the file beside a model folder that repeats its run."""
    return out.absolute().parent / f"{out.absolute().name}.run.yaml"


def write_config(context: typer.Context, out: Path) -> Path | None:
    """Write the options of a command beside a model folder, unless a file that is not ours has that name.

    Args:
        context: context of the command.
        out: the model folder.

    Returns:
        The file, or None if a file that is not ours has that name.

    """
    from liquidtime.files.whole_files import write_file

    file = config_beside(out)
    if (file.exists() and not _is_ours(file)) or file.is_symlink():
        return None
    mark = MARK.format(command=context.command.name, name=file.name)
    write_file(file, (mark + config_of(context)).encode("utf-8", "surrogateescape"))
    return file


def _is_ours(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(64).startswith(MARK[:24].encode())
