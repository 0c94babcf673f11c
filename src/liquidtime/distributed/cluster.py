"""Runs pieces of work on a Ray cluster: Ray finds a machine and a CPU for each, and notices those that die."""

from __future__ import annotations

import logging
import os
import socket
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from liquidtime.distributed.pieces import Pieces
from liquidtime.distributed.processes import in_processes
from liquidtime.distributed.worker import Outcome, outcome_of

Result = TypeVar("Result")
Mapper = Callable[..., list[Any]]
"""A function that distributes pieces of work to processes, with the arguments of `in_processes`."""
PORT = 10001
"""Port at which a cluster listens to programs on other machines by default."""
_TRIES = 3
"""Number of attempts to connect to a cluster that is too busy."""
_REACH, _START, _LOOK, _SETTLED = 10, 30, 120, 5
"""Seconds until a cluster is considered unreachable: for starting a process for us on a busy cluster (three such
waits), for a machine to report its versions, and until the number of free CPUs is known."""


@contextmanager
def mapper_of(cluster: str | None, paths: Sequence[str | Path] = ()) -> Iterator[Mapper]:
    """Yield a function that distributes pieces of work to processes, on this machine or on a cluster.

    It has the arguments of `in_processes`; None as the number of processes means one, or on a cluster one per CPU.

    Args:
        cluster: argument of `joined_cluster`; None for this machine.
        paths: files and folders that the work reads and writes.
    """
    if cluster is None:
        yield lambda work, items, workers, **rest: in_processes(work, items, 1 if workers is None else workers, **rest)
        return
    with joined_cluster(cluster) as machines:
        machines.check(paths)
        yield machines.map


@contextmanager
def joined_cluster(address: str) -> Iterator[Cluster]:
    """Connect to a Ray cluster for the duration of the block.

    Args:
        address: "ray://host" or "ray://host:port"; "auto" for the cluster that this machine belongs to, or to which
            this program is connected by `ray.init`.

    Raises:
        ImportError: Ray is not installed.
        ValueError: the address is invalid, or the program is connected already.
        ConnectionError: the cluster cannot be reached.

    """
    host, port = _parsed(address)
    ray = _ray_or_refuse()
    if ray.is_initialized():
        if host:
            raise ValueError(f"this program is connected to a Ray cluster; `cluster` must be auto, got {address!r}")
        yield Cluster(ray, address)
        return
    _connect(ray, address, host, port)
    try:
        yield Cluster(ray, address)
    finally:
        ray.shutdown()


class Cluster:
    """A Ray cluster to which this process is connected.

    Args:
        ray: the package.
        address: address as passed by the caller.
    """

    def __init__(self, ray: Any, address: str) -> None:
        self.ray, self.address = ray, address

    def cpus(self) -> int:
        """Return the number of CPUs that the cluster has for work.

        Raises:
            ValueError: it has none.

        """
        count = int(self.reached(self.ray.cluster_resources).get("CPU", 0))
        if count < 1:
            raise ValueError(f"the cluster at {self.address} has no CPUs for work; start nodes with --num-cpus above 0")
        return count

    def check(self, paths: Sequence[str | Path]) -> None:
        """Refuse machines with other versions than this one, or that do not see all files of the work.

        Args:
            paths: files and folders that must exist on every machine; the current folder is added.

        Raises:
            ValueError: a machine does not fulfil this.

        """
        ray, wanted = self.ray, [os.getcwd(), *(str(Path(path).absolute()) for path in paths)]
        look = _look()
        here, _ = look(wanted)
        nodes = [node for node in self.reached(ray.nodes) if node["Alive"] and node["Resources"].get("CPU", 0) > 0]
        asked = {}
        for node in nodes:
            pinned = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            task = ray.remote(num_cpus=0, max_retries=0, scheduling_strategy=pinned)(look)
            asked[task.remote(wanted)] = f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"
        for reference, name in asked.items():
            try:
                versions, missing = self.reached(ray.get, reference, timeout=_LOOK)
            except ray.exceptions.GetTimeoutError:
                raise ConnectionError(f"the machine {name} of {self.address} has not answered for {_LOOK} s") from None
            for package, version in here.items():
                if versions[package] != version:
                    raise ValueError(
                        f"the machine {name} of {self.address} has {package} {versions[package] or 'not installed'}, "
                        f"but this one has {version}; install the same version on both"
                    )
            if missing:
                raise ValueError(
                    f"the machine {name} of {self.address} does not see {missing[0]}; paths must mean the same on all "
                    "machines, as in a shared folder"
                )

    def map(
        self,
        work: Callable[[Any, bool], Result],
        items: Sequence[Any],
        workers: int | None = None,
        *,
        names: Sequence[str],
        show: bool = False,
    ) -> list[Result]:
        """Return the results of a function for each item, like `in_processes`, computed on the cluster.

        Each piece is a task with one CPU and one thread. A task whose process or machine dies is repeated, up to three
        times. At most `workers` tasks are submitted at a time, and no CPU is reserved between tasks, so that other work
        on the cluster is not blocked.

        Args:
            work: (item, again) -> result; a function in a module that the machines have.
            items: items of the pieces.
            workers: number of pieces at once; None for one per CPU.
            names: names of the pieces, for messages.
            show: whether to show progress on standard error.

        Raises:
            ConnectionError: the connection to the cluster is lost.
            WorkerDied: workers died three times over the same piece.

        """
        ray, pieces = self.ray, Pieces(names, f"on {self.address}", show)
        if not items:
            return []
        limit, tries = self.cpus() if workers is None else workers, [0] * len(items)
        self._say_if_busy()
        task = ray.remote(num_cpus=1, max_retries=0)(_piece)
        packed = self.reached(ray.put, ray.cloudpickle.dumps(work))
        waiting, flying = deque(range(len(items))), dict[Any, int]()
        try:
            with pieces.line() as tell:
                while flying or (waiting and pieces.fault is None):
                    while waiting and len(flying) < limit and pieces.fault is None:
                        place = waiting.popleft()
                        item, again = ray.cloudpickle.dumps(items[place]), tries[place] > 0
                        flying[task.remote(packed, place, item, names[place], again, *own_settings())] = place
                    ready, _ = self.reached(ray.wait, list(flying), num_returns=1)
                    for reference in ready:
                        place = flying.pop(reference)
                        try:
                            pieces.take(self.reached(ray.get, reference))
                        except died(ray) as error:
                            pieces.died([place], tries[place], "Were the machines lost?", error)
                            tries[place] += 1
                            waiting.appendleft(place)
                    tell()
        except BaseException:
            for reference in flying:
                ray.cancel(reference, force=True)
            raise
        if pieces.fault is not None:
            raise pieces.fault
        if any(one.stopped for one in pieces.outcomes.values()):
            raise KeyboardInterrupt
        return [pieces.outcomes[place].value for place in range(len(items))]

    def _say_if_busy(self) -> None:
        """Warn if no CPU is free; it waits, since a CPU that was just used is not reported as free immediately."""
        end = time.monotonic() + _SETTLED
        while self.reached(self.ray.available_resources).get("CPU", 0) < 1:
            if time.monotonic() > end:
                text = f"all CPUs of the cluster at {self.address} are busy; waiting"
                warnings.warn(text, UserWarning, stacklevel=4)
                return
            time.sleep(0.2)

    def reached(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call Ray, and name the cluster in the error if the connection is lost."""
        try:
            return call(*arguments, **options)
        except ConnectionError as error:
            raise ConnectionError(
                f"the cluster at {self.address} was lost: {_last_line(error)}. Run the same command again to continue"
            ) from error


def died(ray: Any) -> tuple[type[Exception], ...]:
    """Return the errors by which Ray reports that a process or a machine has died."""
    errors = ray.exceptions
    return (
        errors.WorkerCrashedError, errors.RayActorError, errors.NodeDiedError, errors.LocalRayletDiedError,
        errors.OutOfMemoryError, errors.ObjectLostError,
    )  # fmt: skip


def own_settings() -> tuple[str, Mapping[str, str]]:
    """Return what a remote process takes over from this one: the current folder and our environment variables."""
    return os.getcwd(), {name: value for name, value in os.environ.items() if name.startswith("LIQUIDTIME_")}


def settle(folder: str, environment: Mapping[str, str]) -> None:
    """Take over the current folder and environment variables of the calling process."""
    os.chdir(folder)
    os.environ.update(environment)


def _piece(
    packed: bytes, place: int, item: bytes, name: str, again: bool, folder: str, environment: Mapping[str, str]
) -> Outcome:
    """Do one piece of work on a machine of the cluster; arguments are pickled, since arrays from Ray are read-only."""
    import pickle

    settle(folder, environment)
    return outcome_of(pickle.loads(packed), place, pickle.loads(item), name, again)


def _look() -> Callable[[Sequence[str]], tuple[dict[str, str], list[str]]]:
    """Return a function that machines without this package can run as well, since its code is sent."""

    def look(paths: Sequence[str]) -> tuple[dict[str, str], list[str]]:
        import importlib.metadata
        import os
        import platform

        versions = {"Python": ".".join(platform.python_version_tuple()[:2])}
        for package in ("liquidtime", "torch", "numpy"):
            try:
                versions[package] = importlib.metadata.version(package)
            except importlib.metadata.PackageNotFoundError:
                versions[package] = ""
        return versions, [path for path in paths if not os.path.exists(path)]

    return look


def _parsed(address: str) -> tuple[str, int]:
    """Return host and port of an address; "" and 0 for "auto"."""
    if address == "auto":
        return "", 0
    parts = urlsplit(address)
    try:
        host, port = parts.hostname, parts.port or PORT
    except ValueError:
        host, port = None, 0
    if parts.scheme != "ray" or not host or parts.path.strip("/") or parts.query:
        raise ValueError(
            f"`cluster` must be ray://HOST or ray://HOST:PORT, or auto on a machine of the cluster; got {address!r}"
        )
    return host, port


def _connect(ray: Any, address: str, host: str, port: int) -> None:
    """Connect, or report at which address that is not possible."""
    named = f"ray://{host}:{port}" if host else address
    try:
        if host:
            socket.create_connection((host, port), timeout=_REACH).close()  # Ray itself would try for a long time
        for turn in range(_TRIES):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ray.init(named, logging_level=logging.ERROR, log_to_driver=False)
                return
            except ConnectionAbortedError:  # the cluster did not start a process for us in time
                ray.shutdown()
                if turn + 1 == _TRIES:
                    raise
    except ImportError as error:
        raise ImportError(f"ray:// needs Ray's client ({error.name}): pip install 'liquidtime[ray]'") from error
    except Exception as error:
        hint = f"Does `ray start --head --ray-client-server-port {port}` run there?" if host else "Is Ray running here?"
        raise ConnectionError(f"the cluster at {named} cannot be reached: {_last_line(error)}. {hint}") from error


def _ray_or_refuse() -> Any:
    """Return the package, or an error that says how to install it."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Ray recommends this and warns without it
    os.environ.setdefault("RAY_CLIENT_INITIAL_CONNECTION_TIMEOUT_S", str(_START))  # 5 s by default
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError as error:
        raise ImportError("a cluster needs Ray: pip install 'liquidtime[ray]'") from error
    return ray


def _last_line(error: BaseException) -> str:
    """Return the last line of an error; the lines before show where Ray raised it."""
    return str(error).strip().split("\n")[-1].rstrip(".")
