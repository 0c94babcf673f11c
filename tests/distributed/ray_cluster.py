"""A Ray cluster of this machine for tests: two CPUs, on the loopback interface, with a token of its own."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from serving.servers import free_port, wait_until

HOST = "127.0.0.2"
"""Loopback; 127.0.0.1 Ray takes for the address of the machine in its network."""


@contextlib.contextmanager
def ray_cluster(cpus=2):
    """Start the head of a cluster and yield its address; whoever connects needs the token in the environment."""
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")  # a short path: sockets lie in it
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
    token["RAY_worker_niceness"] = "0"  # 15 else: they would starve beside other tests
    before = {name: os.environ.get(name) for name in token}
    os.environ.update(token)
    port = free_port()
    words = [
        str(Path(sys.executable).parent / "ray"), "start", "--head", "--block", f"--num-cpus={cpus}",
        f"--node-ip-address={HOST}", f"--port={free_port()}", f"--ray-client-server-port={port}",
        "--include-dashboard=false", "--object-store-memory=100000000", f"--temp-dir={folder}",
    ]  # fmt: skip
    log = Path(folder) / "said"
    try:
        with open(log, "w") as out:
            process = subprocess.Popen(words, stdout=out, stderr=out, start_new_session=True)
        try:
            wait_until(lambda: "Ray runtime started" in log.read_text() or process.poll() is not None)
            assert process.poll() is None, log.read_text()
            wait_until(lambda: socket.create_connection((HOST, port), timeout=1).close() is None)
            yield f"ray://{HOST}:{port}"
        finally:
            process.send_signal(signal.SIGTERM)  # the head ends what it has started
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(60)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
