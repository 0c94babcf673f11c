"""A service in a process of its own, and clients that send it samples: what the benchmarks of the service share."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

CHANNELS_AT_ONCE = 5


class Running:
    """A service that runs.

    Args:
        port: on which it answers.
        pid: of its process.
    """

    def __init__(self, port: int, pid: int) -> None:
        self.port, self.pid = port, pid

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer to one request."""
        with Client(self.port) as client:
            return client.ask(method, path, body)

    def resident(self) -> int:
        """Return the bytes in memory of its processes."""
        return sum(_status(pid, "VmRSS") * 1024 for pid in _family(self.pid))

    def seconds(self) -> float:
        """Return the processor time of its processes."""
        ticks = 0
        for pid in _family(self.pid):
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / 100


class Client:
    """One connection, which is kept."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer to one request; raise what is no success."""
        content = None if body is None else json.dumps(body)
        self._connection.request(method, path, content, {"content-type": "application/json"} if content else {})
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= 400:
            raise RuntimeError(f"{answer.status}: {text.decode()[:500]}")
        return json.loads(text) if text else None


@contextlib.contextmanager
def running(model: Path, state: str, *options: str) -> Iterator[Running]:
    """Start a service, and end it."""
    words = [sys.executable, "-m", "liquidtime", "serve", str(model), "--port", "0", "--state", state, *options]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(words, stdout=said)
        try:
            while not (match := re.search(r" on http://[^:]+:(\d+)", _read(said))):
                if process.poll() is not None:
                    raise RuntimeError("the service has ended; its messages are above")
                time.sleep(0.05)
            made = Running(int(match[1]), process.pid)
            while True:
                with contextlib.suppress(OSError):
                    made.ask("GET", "/v2/health/live")
                    break
                time.sleep(0.05)
            yield made
        finally:
            process.terminate()
            process.wait(120)


def drawn(names: Sequence[str], rng: random.Random) -> dict[str, float]:
    """Return made-up values of a few channels."""
    return {name: round(rng.gauss(0.0, 1.0), 3) for name in rng.sample(names, min(CHANNELS_AT_ONCE, len(names)))}


def numeric(service: Running) -> list[str]:
    """Return the names of the numeric channels."""
    return [each["name"] for each in service.ask("GET", "/model")["channels"] if each["categories"] is None]


def in_threads(count: int, work: Any) -> None:
    """Run `work(number)` in so many threads, and raise what any of them raised."""
    problems: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


def _read(file: Any) -> str:
    file.seek(0)
    text: str = file.read()
    return text


def _family(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in _family(int(child)))]


def _status(pid: int, name: str) -> int:
    match = re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(match[1]) if match else 0
