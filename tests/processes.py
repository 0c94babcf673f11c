"""Processes of their own for tests, forked from a server that has imported torch once.

A Python that imports torch costs two to three seconds, a fork of the server a few hundredths. A child imports
`liquidtime` anew and has its own standard output, standard error, environment and signals. What a test says of a fresh
interpreter (what is imported, how long it takes, peak memory) needs `subprocess` instead.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver
from pathlib import Path
from typing import ClassVar, TypeAlias

Environment: TypeAlias = Mapping[str, str | None]
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["preloaded"])


def _ensure_server() -> None:
    """Start the server, if it is not there, where it finds what it is to import."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


class Child:
    """A process that runs Python; the interface is that of `subprocess.Popen`.

    Args:
        arguments: what would follow `python` on a command line: `-c` and code, `-m` and a module, or the path of a
            script; then its arguments.
        env: further environment variables; None removes one.

    Attributes:
        seconds: processor time of all children that have ended by themselves.
    """

    seconds: ClassVar[float] = 0.0

    def __init__(self, arguments: Sequence[str], env: Environment | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="child-")
        self._files = [Path(self._folder.name) / name for name in ("out", "err", "seconds")]
        words = [str(word) for word in arguments]
        target = (words, dict(env or {}), os.getcwd(), [str(file) for file in self._files], list(sys.path))
        _ensure_server()
        self._process = _CONTEXT.Process(target=_run, args=target)
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, asked: signal.Signals) -> None:
        os.kill(self.pid, asked)

    def wait_for(self, text: str, timeout: float = 120.0) -> None:
        """Wait until the child has written a text to its standard output."""
        deadline = time.monotonic() + timeout
        while not (self._files[0].exists() and text in self._files[0].read_text()):
            assert self.poll() is None, self.communicate()
            assert time.monotonic() < deadline, f"the child has not written {text!r} within {timeout:g} s"
            time.sleep(0.01)

    def communicate(self, timeout: float = 120.0) -> tuple[str, str]:
        """Wait for the end, and return standard output and standard error; a child that does not end is killed."""
        self._process.join(timeout)
        late = self._process.is_alive()
        if late:
            self._process.kill()
            self._process.join()
        out, err, seconds = (file.read_text() if file.exists() else "" for file in self._files)
        Child.seconds += float(seconds or 0)
        self._folder.cleanup()
        assert not late, f"the child did not end within {timeout:g} s: {err[-3000:]}"
        return out, err


def run(*arguments: object, env: Environment | None = None, timeout: float = 120.0) -> tuple[int, str, str]:
    """Run a child to its end; return its exit code, standard output and standard error."""
    child = Child([str(word) for word in arguments], env)
    out, err = child.communicate(timeout)
    assert child.returncode is not None
    return child.returncode, out, err


def _run(words: list[str], env: Environment, folder: str, files: Sequence[str], path: list[str]) -> None:
    """Become what `python <words>` would be."""
    import faulthandler

    for number, file in enumerate(files[:2], 1):
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdout, sys.stderr = (open(number, "w", buffering=1, closefd=False) for number in (1, 2))  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faulthandler.enable(sys.stderr)
    for name, value in env.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    os.chdir(folder)
    sys.path[:] = path
    try:
        if words[0] == "-c":
            sys.argv = ["-c", *words[2:]]
            exec(compile(words[1], "<code>", "exec"), {"__name__": "__main__"})
        elif words[0] == "-m":
            sys.argv = words[1:]
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = words
            runpy.run_path(words[0], run_name="__main__")
    finally:
        Path(files[2]).write_text(f"{sum(os.times()[:4]):.3f}")
