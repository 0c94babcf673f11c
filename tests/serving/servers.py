"""Servers that tests start themselves: the service, Redis and PostgreSQL, each on a free port and in its own folder."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path

import pytest

POSTGRESQL = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)
needs_redis = pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")
needs_postgresql = pytest.mark.skipif(
    POSTGRESQL is None or (os.geteuid() == 0 and shutil.which("setpriv") is None),
    reason="needs PostgreSQL's programs under /usr/lib/postgresql, and setpriv where run as root",
)


def _heed_ctrl_c():
    """A job in a shell's background ignores Ctrl-C, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Service:
    """A service in a process of its own; `with Service(folder, state) as service: service.post(…)`."""

    def __init__(self, model, state, *options, port=0, env=None):
        words = [sys.executable, "-m", "liquidtime", "serve", str(model), "--state", str(state), "--port", str(port)]
        self._folder = Path(tempfile.mkdtemp(prefix="service-"))
        with open(self._folder / "out", "w") as out, open(self._folder / "err", "w") as err:
            environment = {**os.environ, **(env or {})}
            command = [*words, *map(str, options)]
            self.process = subprocess.Popen(command, stdout=out, stderr=err, env=environment, preexec_fn=_heed_ctrl_c)
        try:
            wait_until(lambda: " on http://" in self.said()[0] or self.process.poll() is not None)
        except BaseException:
            self.stop(signal.SIGKILL)
            raise
        out, err = self.said()
        assert " on http://" in out, err
        self.port = urllib.parse.urlsplit(re.search(r" on (http://\S+)", out)[1]).port

    def said(self):
        """Return what the process has written to standard output and standard error."""
        return [(self._folder / name).read_text() for name in ("out", "err")]

    def __enter__(self):
        wait_until(lambda: self.request("GET", "/v2/health/live")[0] == 200)
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, asked=signal.SIGTERM):
        """End the process and return its exit code with what it printed."""
        if self.process.poll() is None:
            self.process.send_signal(asked)
        self.process.wait(300)
        if self._folder.exists():
            self._last = self.said()
            shutil.rmtree(self._folder)
        return self.process.returncode, *self._last

    def request(self, method, path, body=None, headers=None):
        """Return the status and the body of an answer; a body that is no text is sent as JSON."""
        return request(self.port, method, path, body, headers)

    def post(self, path, body):
        return self.request("POST", path, body)

    def send(self, id, samples, **more):
        """Send samples, pairs of a time and values, of one series."""
        told = [{"time": t, "values": values} for t, values in samples]
        return self.post(f"/series/{urllib.parse.quote(id, safe='')}/samples", {"samples": told, **more})


def request(port, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    try:
        if body is not None and not isinstance(body, str | bytes):
            body = json.dumps(body)
        kind = {"content-type": "application/json"} if body is not None else {}
        connection.request(method, path, body, {**kind, **(headers or {})})
        answer = connection.getresponse()
        content = answer.read()
        if content and answer.headers.get_content_type() == "application/json":
            return answer.status, json.loads(content)
        return answer.status, content.decode()
    finally:
        connection.close()


def wait_until(ready, seconds=300.0):
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError, RuntimeError):
            if ready():
                return
        assert time.monotonic() < deadline, "the server has not become ready"
        time.sleep(0.02)


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@contextlib.contextmanager
def redis_server():
    """Start Redis with an append-only file, and yield its address."""
    with tempfile.TemporaryDirectory(prefix="redis-") as folder, redis_at(folder, free_port()) as address:
        yield address


@contextlib.contextmanager
def redis_at(folder, port):
    words = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    process = subprocess.Popen([*words, "--appendonly", "yes"], stdout=subprocess.DEVNULL)
    try:
        import redis

        client = redis.Redis(port=port)

        def answers():
            with contextlib.suppress(redis.RedisError):
                return client.ping()

        wait_until(answers)
        client.close()
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait(300)


@contextlib.contextmanager
def postgresql_server():
    """Start PostgreSQL, as another user where this one is root, and yield its address."""
    with tempfile.TemporaryDirectory(prefix="postgresql-") as folder:
        os.chmod(folder, 0o755)
        with postgresql_at(Path(folder) / "data", free_port()) as address:
            yield address


@contextlib.contextmanager
def postgresql_at(data, port):
    new, words = not data.exists(), []
    data.mkdir(exist_ok=True)
    if os.geteuid() == 0:
        os.chown(data, 65534, 65534)
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    home = {**os.environ, "HOME": str(data), "LC_ALL": "C.UTF-8"}
    make = [*words, str(POSTGRESQL / "initdb"), "-D", str(data), "-U", "tester", "-A", "trust", "--no-sync"]
    if new:
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL, env=home, cwd="/")
    run = [*words, str(POSTGRESQL / "postgres"), "-D", str(data), "-p", str(port), "-k", "", "-h", "127.0.0.1"]
    process = subprocess.Popen([*run, "-c", "shared_buffers=16MB"], stderr=subprocess.DEVNULL, env=home, cwd="/")
    address = f"postgresql://tester@127.0.0.1:{port}/postgres"
    try:
        import psycopg

        def answers():
            with contextlib.suppress(psycopg.Error):
                psycopg.connect(address).close()
                return True

        wait_until(answers)
        yield address
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(300)
