"""Ranks on a Ray cluster: does what torchrun's agent does on one machine, on several that Ray finds."""

from __future__ import annotations

import contextlib
import io
import signal
import socket
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from liquidtime.distributed.cluster import Cluster, died, own_settings, settle
from liquidtime.distributed.pieces import WorkerDied
from liquidtime.distributed.torchrun import RESTARTS, THREADS
from liquidtime.training.signals import StopRequest, stop_requests

_FREE = 600
"""Seconds to wait for CPUs that other work on the cluster occupies."""
_EVERY = 0.3
"""Seconds between two checks for output of ranks, and of ranks for requests."""


def launch_on(cluster: Cluster, work: Callable[..., Any], arguments: tuple[Any, ...], workers: int) -> dict[int, Any]:
    """Run a function as this many ranks on a cluster; return the results by rank.

    Like `torchrun.launch` on this machine: if a rank dies or raises an error, all are started again, up to three times;
    errors that would occur again should be returned, not raised. Either all CPUs are reserved at once or none, so that
    two such calls cannot wait for each other. Output of ranks is printed here; Ctrl-C and SIGTERM are forwarded to
    them.

    Args:
        cluster: the cluster.
        work: function in a module that the machines have; it calls `ranks` to join the others.
        arguments: the same for every rank.
        workers: number of ranks, each with one CPU and one thread.

    Raises:
        ValueError: the cluster does not have enough CPUs.
        TimeoutError: other work occupies them.
        WorkerDied: ranks died too often.

    """
    if workers > cluster.cpus():
        raise ValueError(
            f"{workers} ranks need {workers} CPUs at once, but the cluster at {cluster.address} has {cluster.cpus()}; "
            "use fewer workers or start more machines"
        )
    with _placed(cluster, workers) as places, stop_requests() as request:
        for attempt in range(RESTARTS + 1):
            returned, lost = _Attempt(cluster, places, workers, attempt).run(work, arguments, request)
            if not lost:
                return returned
            names = ", ".join(f"rank {rank} of {workers}" for rank in lost)
            if request.signal is not None:
                raise KeyboardInterrupt
            if attempt < RESTARTS:
                text = f"{names} died; restarting all ranks from the last checkpoint"
                warnings.warn(text, UserWarning, stacklevel=2)
    raise WorkerDied(f"{names} died; ranks have died {RESTARTS + 1} times in all. Is there enough memory?")


@contextlib.contextmanager
def _placed(cluster: Cluster, workers: int) -> Iterator[Any]:
    """Reserve this many CPUs."""
    from ray.util.placement_group import placement_group, remove_placement_group

    group = cluster.reached(placement_group, [{"CPU": 1}] * workers, strategy="PACK")
    try:
        if not cluster.reached(group.wait, 2):
            text = f"waiting for {workers} free CPUs of the cluster at {cluster.address}"
            warnings.warn(text, UserWarning, stacklevel=4)
            if not cluster.reached(group.wait, _FREE):
                raise TimeoutError(f"{workers} CPUs of the cluster at {cluster.address} were not free for {_FREE} s")
        yield group
    finally:
        with contextlib.suppress(ConnectionError):
            remove_placement_group(group)


class _Attempt:
    """Ranks from their start to their end, or until one of them dies."""

    def __init__(self, cluster: Cluster, places: Any, workers: int, attempt: int) -> None:
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        self.cluster, self.workers, self.attempt, ray = cluster, workers, attempt, cluster.ray
        self.voice = ray.remote(num_cpus=0)(_Voice).remote()
        self.actors = [
            ray.remote(num_cpus=1, max_restarts=0)(_Rank)
            .options(scheduling_strategy=PlacementGroupSchedulingStrategy(places, placement_group_bundle_index=rank))
            .remote()
            for rank in range(workers)
        ]

    def run(
        self, work: Callable[..., Any], arguments: tuple[Any, ...], request: StopRequest
    ) -> tuple[dict[int, Any], list[int]]:
        """Return the results of the ranks, and the ranks that died."""
        cluster, ray = self.cluster, self.cluster.ray
        try:
            try:
                where = cluster.reached(ray.get, [actor.where.remote() for actor in self.actors])
            except died(ray):
                return {}, list(range(self.workers))
            packed = cluster.reached(ray.put, ray.cloudpickle.dumps((work, arguments)))
            waiting = {
                actor.run.remote(packed, environment, self.voice, *own_settings()): rank
                for rank, (actor, environment) in enumerate(zip(self.actors, self._environments(where), strict=True))
            }
            returned, lost, told = dict[int, Any](), list[int](), False
            while waiting:
                ready, _ = cluster.reached(ray.wait, list(waiting), num_returns=1, timeout=_EVERY)
                for reference in ready:
                    rank = waiting.pop(reference)
                    try:
                        returned[rank] = cluster.reached(ray.get, reference)
                    except (*died(ray), ray.exceptions.RayTaskError):
                        lost.append(rank)
                if request.signal is not None and not told:
                    self.voice.ask.remote(int(request.signal))
                    told = True
                self._speak()
                if lost:
                    break
            return returned, lost
        finally:
            for actor in (*self.actors, self.voice):
                with contextlib.suppress(Exception):
                    ray.kill(actor)

    def _environments(self, where: Sequence[tuple[str, str, int]]) -> list[Mapping[str, str]]:
        """Return the environment variables that torchrun would set for each rank."""
        counts, seen = Counter(node for node, _, _ in where), Counter[str]()
        environments: list[Mapping[str, str]] = []
        for rank, (node, _, _) in enumerate(where):
            environments.append(
                {
                    "RANK": str(rank), "WORLD_SIZE": str(self.workers), "LOCAL_RANK": str(seen[node]),
                    "LOCAL_WORLD_SIZE": str(counts[node]), "MASTER_ADDR": where[0][1], "MASTER_PORT": str(where[0][2]),
                    "TORCHELASTIC_RESTART_COUNT": str(self.attempt), THREADS: "1",
                }
            )  # fmt: skip
            seen[node] += 1
        return environments

    def _speak(self) -> None:
        for stream, text in self.cluster.reached(self.cluster.ray.get, self.voice.take.remote()):
            print(text, end="", file=sys.stderr if stream else sys.stdout, flush=True)


class _Rank:
    """A process on the cluster that becomes one of the ranks."""

    def where(self) -> tuple[str, str, int]:
        """Return the machine, its address, and a free port of it."""
        import ray

        util: Any = ray.util
        address: str = util.get_node_ip_address()
        with socket.socket() as probe:
            probe.bind((address, 0))
            return ray.get_runtime_context().get_node_id(), address, probe.getsockname()[1]

    def run(
        self, packed: bytes, environment: Mapping[str, str], voice: Any, folder: str, ours: Mapping[str, str]
    ) -> Any:
        """Do the work as a rank, and return the result.

        Args:
            packed: the function and its arguments.
            environment: environment variables that describe this rank.
            voice: actor that receives its output and tells it when to stop.
            folder: current folder of the calling process.
            ours: environment variables of the calling process that concern this library.
        """
        import pickle

        settle(folder, {**ours, **environment})
        threading.Thread(target=_heed, args=(voice,), daemon=True).start()
        with contextlib.redirect_stdout(_Relay(voice, 0)), contextlib.redirect_stderr(_Relay(voice, 1)):
            work, arguments = pickle.loads(packed)
            returned = work(*arguments)
        import ray

        ray.get(voice.take_none.remote())  # all output has arrived
        return returned


class _Voice:
    """The output of ranks, and requests to them."""

    def __init__(self) -> None:
        self._said: list[tuple[int, str]] = []
        self._asked = 0

    def say(self, stream: int, text: str) -> None:
        """Store a text."""
        self._said.append((stream, text))

    def take(self) -> list[tuple[int, str]]:
        """Return the texts that have arrived since the last call."""
        said, self._said = self._said, []
        return said

    def take_none(self) -> None:
        """Return when all earlier texts of the caller have arrived."""

    def ask(self, number: int) -> None:
        """Ask ranks to stop, by a signal."""
        self._asked = number

    def asked(self) -> int:
        """Return the signal; 0 for none."""
        return self._asked


class _Relay(io.TextIOBase):
    """A stream whose texts are printed by the calling process."""

    def __init__(self, voice: Any, stream: int) -> None:
        self._voice, self._stream = voice, stream

    def write(self, text: str) -> int:
        """Send a text."""
        if text:
            self._voice.say.remote(self._stream, text)
        return len(text)

    def writable(self) -> bool:
        """Return True."""
        return True


def _heed(voice: Any) -> None:
    """Raise the signal that asks ranks to stop; the main thread handles it like a signal from outside."""
    import ray

    while True:
        with contextlib.suppress(Exception):
            asked = ray.get(voice.asked.remote())
            if asked:
                signal.raise_signal(asked)
                return
        time.sleep(_EVERY)
