"""Training by several ranks: those that --workers and --cluster start, or those of torchrun or SLURM."""

from __future__ import annotations

import dataclasses
import signal
from pathlib import Path
from typing import Any

import typer

from liquidtime.cli.failing import HOW_TO_RESUME, command
from liquidtime.cli.job import Job, run
from liquidtime.cli.printing import Printer


def run_in_ranks(job: Job, as_json: bool) -> dict[str, Any] | None:
    """Run the job as one of the ranks that the environment describes, or alone; return the result on rank 0.

    Ranks that are restarted after one died resume the run.

    Args:
        job: arguments of the job.
        as_json: whether the result is printed as JSON, and progress on standard error.
    """
    from liquidtime.distributed import ranks
    from liquidtime.distributed.torchrun import restarts
    from liquidtime.training.ranks import RanksDisagree
    from liquidtime.training.signals import TrainingInterrupted

    if restarts():
        job = dataclasses.replace(job, resume=True, force=False)
    with ranks() as own:
        try:
            result = run(job, Printer(as_json, silent=own.rank > 0))
        except (TrainingInterrupted, RanksDisagree) as stop:
            if own.rank == 0:
                raise
            raise typer.Exit(getattr(stop, "code", 1)) from None  # rank 0 prints the message
        own.barrier()
        return result if own.rank == 0 else None


def run_by_workers(job: Job, as_json: bool, workers: int, debug: bool) -> dict[str, Any]:
    """Run the job by ranks on this machine, which torchrun's agent starts, and restarts when one dies.

    Args:
        job: arguments of the job.
        as_json: see `run_in_ranks`.
        workers: number of ranks.
        debug: whether a rank shows the traceback of an error.
    """
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    from liquidtime.distributed.torchrun import RESTARTS, launch

    try:
        returned = launch(one_rank, (_plain(job), as_json, debug), workers)
    except SignalException as stopped:
        number = signal.Signals(stopped.sigval)
        print_line(f"interrupted by {number.name}. {HOW_TO_RESUME}")
        raise typer.Exit(128 + number) from None
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        raise RuntimeError(
            f"rank {rank} of {workers} died {RESTARTS + 1} times, most recently with "
            f"{failure.signal_name() or failure.exitcode}; "
            f"perhaps memory ran out. {HOW_TO_RESUME}"
        ) from None
    return _result_of(returned)


def run_on_cluster(job: Job, as_json: bool, workers: int, cluster: str, debug: bool) -> dict[str, Any]:
    """Run the job by ranks on a Ray cluster, which are restarted if one of them dies.

    Args:
        job: arguments of the job.
        as_json: see `run_in_ranks`.
        workers: number of ranks.
        cluster: address of the cluster.
        debug: whether a rank shows the traceback of an error.
    """
    from liquidtime.distributed import WorkerDied, joined_cluster
    from liquidtime.distributed.cluster_ranks import launch_on

    with joined_cluster(cluster) as machines:
        machines.check([job.out.absolute().parent, *(path for path in map(Path, job.data) if path.exists())])
        try:
            return _result_of(launch_on(machines, one_rank, (_plain(job), as_json, debug), workers))
        except WorkerDied as error:
            raise RuntimeError(f"{error} {HOW_TO_RESUME}") from None


def _plain(job: Job) -> Job:
    """Return the job without anything that cannot be sent to other processes."""
    return dataclasses.replace(job, reading=dataclasses.replace(job.reading, context=None))


def _result_of(returned: dict[int, Any]) -> dict[str, Any]:
    """Return the result of rank 0, or end with the exit code of the ranks."""
    code = next((code for code, _ in returned.values() if code), 0)
    if code:
        raise typer.Exit(returned[0][0] or code)
    result: dict[str, Any] = returned[0][1]
    return result


def one_rank(job: Job, as_json: bool, debug: bool) -> tuple[int, dict[str, Any] | None]:
    """Return the exit code and the result of a rank; errors are not raised, as they would only fail again."""
    results: list[dict[str, Any] | None] = [None]

    @command
    def train(debug: bool) -> None:
        results[0] = run_in_ranks(job, as_json)

    try:
        train(debug=debug)
    except typer.Exit as stop:
        return stop.exit_code, None
    return 0, results[0]


def print_line(text: str) -> None:
    """Print one line on standard error."""
    import sys

    print(text, file=sys.stderr, flush=True)


def check_workers(workers: int | None, n_jobs: int | None, cluster: str | None) -> None:
    """Refuse combinations of options that cannot work.

    Args:
        workers: value of --workers.
        n_jobs: value of --n-jobs.
        cluster: value of --cluster.
    """
    from liquidtime.distributed.torchrun import in_ranks

    option = "--workers" if cluster is None else "--cluster"
    if workers is None and cluster is None:
        return
    if in_ranks():
        raise ValueError(f"{option} starts ranks, but torchrun has already started this one; leave out {option}")
    if n_jobs is not None:
        raise ValueError(
            f"{option} splits the training of each network, and --n-jobs trains several networks at once; give only "
            "one of them"
        )
