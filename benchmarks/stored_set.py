"""How much memory and time does a data set larger than memory take, packed, trained on and predicted?

    LIQUIDTIME_DATA=folder python -m benchmarks.stored_set SCRATCH [--copies 57] [--out FILE.json]

PhysioNet 2012 set a, about 1.75 million long rows, is written again and again under new ids as Parquet shards: 57
copies are 100 million rows. They are packed to a stored set, one epoch is trained and all series are predicted. The
same is done with 1 and 4 copies, on disk and in memory. Each stage is a process of its own, with one thread; memory is
the peak of its resident set, times are of its processor. A stage that was done is not done again: its figures lie in
SCRATCH, which takes 10 GB and is left to the caller to delete.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

READ: dict[str, Any] = {
    "id": "record_id", "time": "minutes", "channel": "parameter", "value": "value", "time_unit": "min",
}  # fmt: skip


def shards(scratch: Path, copies: int) -> dict[str, Any]:
    """Write the shards: one copy each, the last rows of a copy in the shard of the next, so that series are spread."""
    import polars as pl

    source = Path(os.environ["LIQUIDTIME_DATA"]) / "physionet2012" / "records-a.parquet"
    rows, folder = pl.read_parquet(source), scratch / f"shards-{copies}"
    folder.mkdir(exist_ok=True)
    span, last, total = int(rows["record_id"].max()) + 1, None, 0  # type: ignore[arg-type]
    for copy in range(copies):
        mine = rows.with_columns(record_id=(pl.col("record_id") + copy * span).cast(pl.Int64))
        cut = mine.height - 1000 if copy + 1 < copies else mine.height
        whole = mine[:cut] if last is None else pl.concat([last, mine[:cut]])
        whole.write_parquet(folder / f"shard-{copy:03}.parquet")
        last, total = mine[cut:], total + whole.height
    return {"rows": total, "bytes": sum(file.stat().st_size for file in folder.iterdir())}


def pack(scratch: Path, copies: int) -> dict[str, Any]:
    """Pack the shards."""
    from liquidtime.data import from_long

    folder = scratch / f"set-{copies}"
    stored = from_long(scratch / f"shards-{copies}", **READ, out=folder, replace=True)
    size = sum(file.stat().st_size for file in folder.iterdir())
    return {"series": len(stored), "samples": int(stored.offsets[-1]), "bytes": size}


def targets(ids: Any) -> Any:
    """Return made-up classes: a fixed function of the id, so that every copy has its own."""
    return (ids * 2654435761 % 2**32 > 0.86 * 2**32).astype(int)


def train_and_predict(data: Any, started: float) -> dict[str, Any]:
    import hashlib

    from liquidtime.estimators import CfCClassifier

    opened = time.process_time()
    model = CfCClassifier(epochs=1, random_state=0).fit(data, targets(data.ids))
    fitted, peak = time.process_time(), peak_megabytes()
    chances = model.predict_proba(data)
    return {
        "read_s": round(opened - started, 1),
        "fit_s": round(fitted - opened, 1),
        "fit_peak_mb": peak,
        "predict_s": round(time.process_time() - fitted, 1),
        "sha256": hashlib.sha256(chances.tobytes()).hexdigest()[:16],
    }


def on_disk(scratch: Path, copies: int) -> dict[str, Any]:
    """Train and predict from the stored set, its checksums compared first."""
    started = time.process_time()
    import liquidtime as lt

    return train_and_predict(lt.open_set(scratch / f"set-{copies}"), started)


def in_memory(scratch: Path, copies: int) -> dict[str, Any]:
    """Train and predict from the shards read into memory."""
    started = time.process_time()
    from liquidtime.data import from_long

    return train_and_predict(from_long(scratch / f"shards-{copies}", **READ), started)


STAGES: dict[str, Callable[[Path, int], dict[str, Any]]] = {
    "shards": shards,
    "pack": pack,
    "on_disk": on_disk,
    "in_memory": in_memory,
}


def peak_megabytes() -> int:
    """Return the peak of this process's resident set, file mappings included."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024


def run(stage: str, scratch: Path, copies: int) -> None:
    import torch

    torch.set_num_threads(1)
    started = time.monotonic()
    figures = STAGES[stage](scratch, copies)
    figures |= {
        "cpu_s": round(time.process_time(), 1),
        "wall_s": round(time.monotonic() - started, 1),
        "peak_mb": peak_megabytes(),
        "load": [round(load, 1) for load in os.getloadavg()],
    }
    done = scratch / f"{stage}-{copies}.json"
    done.with_suffix(".tmp").write_text(json.dumps(figures, indent=1))
    done.with_suffix(".tmp").rename(done)


def measure(scratch: Path, copies: int, also: tuple[int, ...] = (1, 4)) -> dict[str, Any]:
    """Do every stage that is not done, each in a process of its own, and return all figures."""
    plan = [(stage, k) for k in also for stage in STAGES] + [(stage, copies) for stage in ("shards", "pack", "on_disk")]
    figures = {}
    for stage, k in plan:
        done = scratch / f"{stage}-{k}.json"
        if not done.exists():
            environment = os.environ | {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
            command = [sys.executable, "-m", "benchmarks.stored_set", str(scratch), "--copies", str(k)]
            command += ["--stage", stage]
            subprocess.run(command, check=True, env=environment)
        figures[f"{stage} {k}x"] = json.loads(done.read_text())
        print(f"{stage} {k}x", figures[f"{stage} {k}x"], flush=True)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scratch", type=Path)
    parser.add_argument("--copies", type=int, default=57)
    parser.add_argument("--stage", choices=STAGES, help="do this stage alone, in this process")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    options.scratch.mkdir(exist_ok=True)
    if options.stage:
        run(options.stage, options.scratch.absolute(), options.copies)
        return
    figures = measure(options.scratch.absolute(), options.copies)
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
