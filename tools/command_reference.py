"""The page of every command, made from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command


def command_reference() -> str:
    """Return the reference of `liquidtime` and all its commands in Markdown."""
    from liquidtime.cli.app import app

    lines = ["# Commands", "", "`liquidtime COMMAND --help` prints the same.", ""]
    for name, command in commands(get_command(app), "liquidtime"):
        lines += section(name, command)
    return "\n".join(lines) + "\n"


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield every command that can be typed, with its full name."""
    for word, inner in sorted(getattr(command, "commands", {}).items()):
        if inner.hidden:
            continue
        if hasattr(inner, "commands"):
            yield from commands(inner, f"{name} {word}")
        else:
            yield f"{name} {word}", inner


def section(name: str, command: Any) -> list[str]:
    """Return the lines of one command: what it does, how it is called, its arguments and options."""
    arguments = [argument_name(item) for item in command.params if item.param_type_name == "argument"]
    usage = " ".join([name, *arguments, "[OPTIONS]"])
    lines = [f"## {name}", "", plain(command.help or ""), "", f"```\n{usage}\n```", ""]
    rows = []
    for parameter in command.params:
        if getattr(parameter, "hidden", False) or parameter.name == "help":
            continue
        if parameter.param_type_name == "argument":
            words, metavar = f"`{argument_name(parameter)}`", ""
        else:
            words = ", ".join(f"`{word}`" for word in (*parameter.opts, *parameter.secondary_opts))
            metavar = "" if getattr(parameter, "is_flag", False) else kind(parameter)
        default = parameter.default
        shown = (
            f" Default: `{default}`." if isinstance(default, str | int | float) and default not in (False, "") else ""
        )
        needed = " **Required.**" if parameter.required else ""
        rows.append(f"| {words} | {metavar} | {cell(getattr(parameter, 'help', '') or '')}{shown}{needed} |")
    if rows:
        lines += ["| option or argument | value | |", "|---|---|---|", *rows, ""]
    return lines


def argument_name(parameter: Any) -> str:
    """Return how an argument is written in a usage line."""
    word = (parameter.metavar or parameter.name).upper()
    return word if parameter.required else f"[{word}]"


def kind(parameter: Any) -> str:
    """Return what an option takes, in a word."""
    if parameter.metavar:
        return cell(parameter.metavar)
    text = str(parameter.type_descriptor.annotation)
    several = "several " if "list[" in text else ""
    words = {"int": "whole number", "float": "number", "Path": "path"}
    return several + next((word for name, word in words.items() if name in text), "text")


def plain(text: str) -> str:
    """Return help as paragraphs: lines joined, marks of the terminal removed."""
    return "\n\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", text.replace("\b", "")))


def cell(text: str) -> str:
    """Return text that can stand in a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
