"""Ranks described in the environment by torchrun, SLURM or Ray, and torchrun's own agent for one machine."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from liquidtime.distributed.processes import check_jobs
from liquidtime.training.ranks import ALONE, Ranks, joined

RESTARTS = 3
"""How often all ranks are started again after one of them died."""
THREADS = "LIQUIDTIME_RANK_THREADS"
"""Environment variable for the number of threads of a rank, if the launcher knows better than the number of cores."""
_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_PATIENCE = datetime.timedelta(minutes=30)
"""How long a rank waits for the others: rank 0 may be reading or writing a large file."""


class RankLost(ConnectionError):
    """Another rank has ended, or can no longer be reached."""


def in_ranks() -> bool:
    """Return whether the environment says that this process is one of several ranks."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def restarts() -> int:
    """Return how often torchrun has started the ranks again."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))


@contextmanager
def ranks() -> Iterator[Ranks]:
    """Join the ranks that the environment describes, and share every training inside the block among them.

        with lt.distributed.ranks():
            model.fit(data, y)              the same call on every rank, with the same data

    This works under torchrun, or with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set by another launcher. Without
    them, or with a WORLD_SIZE of 1, the process is alone and nothing changes. Each rank computes with as many threads
    as there are cores for it, or as specified by the environment variable LIQUIDTIME_RANK_THREADS.

    Raises:
        ValueError: WORLD_SIZE is set but another of the variables is not, or RANK is not below it.
        ConnectionError: the other ranks cannot be reached.

    """
    if not in_ranks():
        yield ALONE
        return
    import torch.distributed as dist
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    missing = [name for name in _VARIABLES if name not in os.environ]
    if missing:
        raise ValueError(
            f"WORLD_SIZE is {os.environ['WORLD_SIZE']}, but {', '.join(missing)} is not set; start with torchrun"
        )
    number, count = os.environ["RANK"], os.environ["WORLD_SIZE"]
    if not number.isdecimal() or int(number) >= int(count):
        raise ValueError(f"RANK must be a whole number from 0 to {int(count) - 1}, below WORLD_SIZE; got {number!r}")
    address = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    try:
        store, rank, world = next(rendezvous("env://", timeout=_PATIENCE))
        if os.environ.get("LOCAL_WORLD_SIZE") == os.environ["WORLD_SIZE"]:  # one machine: all restarted equally often
            store = PrefixStore(f"attempt-{restarts()}", store)  # addresses of dead ranks are still stored
        dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=_PATIENCE)
    except (RuntimeError, OSError, ValueError) as error:
        raise ConnectionError(f"the other ranks cannot be reached at {address}: {_first_line(error)}") from error
    before = torch.get_num_threads()
    shared = (check_jobs(-1) or 1) // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    torch.set_num_threads(max(1, int(os.environ.get(THREADS, shared))))
    try:
        with joined(_group()) as group:
            yield group
    finally:
        torch.set_num_threads(before)
        dist.destroy_process_group()


def _group() -> Ranks:
    import torch.distributed as dist

    rank, world = dist.get_rank(), dist.get_world_size()

    def reached(call: Callable[..., Any], *arguments: Any) -> None:
        try:
            call(*arguments)
        except RuntimeError as error:
            raise RankLost(f"rank {rank} of {world}: another rank has stopped ({_first_line(error)})") from error

    def add(tensor: Tensor) -> Tensor:
        reached(dist.all_reduce, tensor)
        return tensor

    def broadcast(message: bytes) -> bytes:
        size = torch.tensor([len(message)])
        reached(dist.broadcast, size, 0)
        own = bytearray(message) if rank == 0 else bytearray(int(size))
        if not own:
            return b""
        reached(dist.broadcast, torch.frombuffer(own, dtype=torch.uint8), 0)
        return bytes(own)

    return Ranks(rank, world, add, lambda: reached(dist.barrier), broadcast)


def launch(work: Callable[..., Any], arguments: tuple[Any, ...], workers: int) -> dict[int, Any]:
    """Run a function as this many ranks on this machine, with torchrun's elastic agent; return the results by rank.

    If a rank dies, by a signal or a crash, the agent starts all of them again, up to three times. A returned result is
    not computed again, so errors that would occur again should be returned, not raised.

    Args:
        work: function in a module other than `__main__`; it calls `ranks` to join the others.
        arguments: the same for every rank.
        workers: number of ranks.

    Raises:
        ChildFailedError: ranks died too often.

    """
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=workers,
        run_id=f"liquidtime-{os.getpid()}",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        rdzv_configs={"is_host": True},
        max_restarts=RESTARTS,
        monitor_interval=0.1,
        start_method="spawn",
        local_addr="localhost",
    )
    returned: dict[int, Any] = elastic_launch(config, work)(*arguments)
    return returned


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0]
