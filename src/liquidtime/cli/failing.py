"""How a command ends when it cannot continue: with one line on standard error and an exit code.

0  success
1  failure: training diverged, a file could not be written, a package is missing, or liquidtime has a bug
2  wrong options or bad input: files, columns, values, a damaged model folder
130, 143  interrupted by Ctrl-C or SIGTERM; the message says how to resume
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn, ParamSpec

import typer

from liquidtime.cli.terminal import printable

P = ParamSpec("P")
FAILED, BAD_INPUT = 1, 2
HOW_TO_RESUME = "Resume with the same command and --resume."
OPTIONS = {"resume=True": "--resume", "restart=True": "--force", "`folder`": "--out",
    "`groups`": "--group", "`order`": "--order", "`test_after`": "--test-after", "`test_share`": "--test-share",
    "`folds`": "--folds", "`test`": "--test", "`sample_weight`": "--weight", "`threshold`": "--threshold",
    "`intervals`": "--intervals", "`device`": "--device", "refit=False": "--no-refit",
    "gather=False": "--no-gather", "replace=True": "--force", "`out`": "--out",
    "`validation_fraction`": "--validation-share", "`cluster`": "--cluster", "`storage`": "--storage",
}  # fmt: skip
"""The options that correspond to the arguments named in messages of the library."""


def command(body: Callable[P, None]) -> Callable[P, None]:
    """Turn a function into a command that ends with one line and an exit code; `debug` shows tracebacks."""

    @functools.wraps(body)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        debug = bool(kwargs.get("debug"))
        with _terminable(), warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = _say_warning
            try:
                body(*args, **kwargs)
            except typer.Exit:
                raise
            except _Terminated:
                _line(f"interrupted. {HOW_TO_RESUME}" if body.__name__ == "train" else "interrupted")
                raise typer.Exit(143) from None
            except SystemExit as stop:
                if str(stop) != str(stop.code):  # the message of an interrupted run says how far it got
                    _line(_in_options(str(stop).replace("Resume it with resume=True.", HOW_TO_RESUME)))
                raise typer.Exit(stop.code if isinstance(stop.code, int) else FAILED) from None
            except KeyboardInterrupt:
                _line(f"interrupted. {HOW_TO_RESUME}" if body.__name__ == "train" else "interrupted")
                raise typer.Exit(130) from None
            except Exception as error:
                if debug:
                    raise
                _line(_words(error))
                raise typer.Exit(_code(error)) from None

    return run


class _Terminated(BaseException):
    """SIGTERM was received."""


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl-C does, so that unfinished files are removed.

    Ranks keep the system's way: they may be waiting for each other, where no exception reaches them.
    """
    if threading.current_thread() is not threading.main_thread() or "RANK" in os.environ:
        yield
        return

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before if before is not None else signal.SIG_DFL)


def fail(error: Exception) -> NoReturn:
    """End a command from outside its body, with one line and an exit code, as `command` does."""
    _line(_words(error))
    raise typer.Exit(_code(error)) from None


def _code(error: Exception) -> int:
    bad: tuple[type[Exception], ...] = (
        ValueError,
        TypeError,
        FileNotFoundError,
        FileExistsError,
        IsADirectoryError,
        NotADirectoryError,
    )
    if "liquidtime.training" in sys.modules:  # otherwise none of its errors was raised, and torch need not be imported
        from liquidtime.training import FolderInUse, SaveFailed

        if isinstance(error, SaveFailed):
            return FAILED
        bad = (*bad, FolderInUse)
    names = isinstance(error, OSError) and error.errno in (errno.ENAMETOOLONG, errno.ELOOP)
    return BAD_INPUT if names or isinstance(error, bad) else FAILED


_NAMED = re.compile(
    r"(?<!did you mean )`(separator|decimal|encoding|time_format|missing|sheet|query|static_table|static_id|static|"
    r"categorical|time_unit|id|time|channel|value|values|labels|target|auxiliary|strict|network|n_estimators|"
    r"hidden_size|bin_width|epochs|batch_size|learning_rate|horizon|targets|known|seed)`"
)
"""Arguments with an option of the same name. After "did you mean", such a name is that of a column."""


def _in_options(text: str) -> str:
    text = _NAMED.sub(lambda match: "--" + match[1].replace("_", "-"), text)
    for argument, option in OPTIONS.items():
        text = text.replace(argument, option)
    return text


def _words(error: Exception) -> str:
    own = isinstance(error, OSError) and error.filename is None  # a message of ours, without a number before it
    text = _in_options(" ".join(str((own and error.strerror) or error).split()))  # type: ignore[attr-defined]
    known = (ValueError, TypeError, OSError, ArithmeticError, ImportError, RuntimeError)
    if isinstance(error, known) and text:
        return f"error: {text}"
    return f"error: {type(error).__name__}: {text} (run the command again with --debug to see where)"


def _line(text: str) -> None:
    print(printable(text), file=sys.stderr, flush=True)


def _say_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    if issubclass(category, UserWarning):
        _line(f"warning: {_in_options(' '.join(str(message).split()))}")
