"""The processes that serve: one, or several that share a socket."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from typing import Any

from liquidtime.serving.settings import METRICS_FOLDER, Settings

_SECONDS_TO_END, _SECONDS_TO_ANSWER = 20, 30
_WAITING, _AT_ONCE = 2048, 1000


class Application:
    """Creates the application in the process that serves it; can be sent to another process.

    Args:
        settings: settings of the service.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def __call__(self) -> Any:
        """Return the ASGI application."""
        from liquidtime.serving.app import application

        if parent := multiprocessing.parent_process():
            threading.Thread(target=_end_after, args=(parent,), daemon=True).start()
        return application(service_of(self._settings))


def _end_after(parent: Any) -> None:
    """End this worker when the process that started it is gone, so that it does not occupy the port."""
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def service_of(settings: Settings) -> Any:
    """Return the service with these settings.

    Raises:
        ValueError: the model or the state cannot be used.
        StoreFailed: the state cannot be reached.

    """
    from liquidtime.serving.metrics import Metrics
    from liquidtime.serving.model import ServedModel
    from liquidtime.serving.service import Service
    from liquidtime.serving.stores import open_store

    model = ServedModel(settings.folder, settings.name)
    return Service(model, open_store(settings.state, model.identity), settings, Metrics())


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        ValueError: the address cannot be used; the message says why.

    """
    made: socket.socket | None = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(_WAITING)
    except OSError as error:
        if made is not None:
            made.close()
        raise ValueError(
            f"cannot listen on {host} port {port}: {error.strerror or error}. Choose another --port."
        ) from error
    made.set_inheritable(True)
    return made


def run(settings: Settings, listening: socket.socket, workers: int, ready: Callable[[], None]) -> None:
    """Serve until the process is told to end; requests in progress are answered first.

    Args:
        settings: settings of the service.
        listening: socket from `listen`.
        workers: number of processes.
        ready: function that is called once requests are answered or queued.
    """
    import uvicorn
    from uvicorn.config import STARTUP_FAILURE
    from uvicorn.supervisors import Multiprocess

    from liquidtime.serving.connections import BoundedHttp

    config = uvicorn.Config(
        Application(settings),
        factory=True,
        workers=workers,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http=BoundedHttp,
        ws="none",
        limit_concurrency=_AT_ONCE,
        timeout_graceful_shutdown=_SECONDS_TO_END,
        timeout_worker_healthcheck=_SECONDS_TO_ANSWER,
    )
    ready()
    if workers == 1:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # called after all requests have been answered
        uvicorn.Server(config).run(sockets=[listening])
        return
    with _shared_metrics():
        supervisor = Multiprocess(config, sockets=[listening])
        supervisor.run()
        if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
            raise RuntimeError("a worker process could not start; its messages are above")


@contextlib.contextmanager
def _shared_metrics() -> Iterator[None]:
    """Provide a folder in which worker processes combine their counts."""
    with tempfile.TemporaryDirectory(prefix="liquidtime-metrics-") as folder:
        os.environ[METRICS_FOLDER] = folder
        try:
            yield
        finally:
            del os.environ[METRICS_FOLDER]
