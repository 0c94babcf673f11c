"""Many processes and machines: pieces of work in processes of their own, and what starts them."""

from liquidtime.distributed.processes import WorkerDied, check_jobs, in_processes
from liquidtime.distributed.torchrun import ranks
from liquidtime.distributed.worker import in_worker, one_thread

__all__ = ["WorkerDied", "check_jobs", "in_processes", "in_worker", "one_thread", "ranks"]
