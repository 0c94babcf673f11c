"""Many processes and machines: pieces of work in separate processes, and the launch of ranks."""

from liquidtime.distributed.cluster import Mapper, joined_cluster, mapper_of
from liquidtime.distributed.pieces import WorkerDied
from liquidtime.distributed.processes import check_jobs, in_processes
from liquidtime.distributed.torchrun import ranks
from liquidtime.distributed.worker import in_worker, one_thread

__all__ = [
    "Mapper", "WorkerDied", "check_jobs", "in_processes", "in_worker", "joined_cluster", "mapper_of", "one_thread",
    "ranks",
]  # fmt: skip
