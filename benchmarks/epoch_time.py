"""How long is a training epoch of each model of the paper's tables, beside CfC's and the LSTM's?

    LIQUIDTIME_DATA=folder python benchmarks/epoch_time.py [EXPERIMENT …] [--threads 1] [--seconds 100] [--out results]

Every network of an experiment, and the ODE-RNN with an adaptive solver, takes the same sequences with its own settings,
in turns. Writes `epoch_time.json`; `liquidtime paper table` shows it below the results.
"""

from __future__ import annotations

import argparse

import torch

from liquidtime.paper import epoch_time
from liquidtime.paper.experiments import EXPERIMENTS


def main() -> None:
    """Measure the experiments that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    timed = [name for name, experiment in EXPERIMENTS.items() if epoch_time.timed_rows(experiment)]
    parser.add_argument("experiments", nargs="*", help=f"of {', '.join(timed)}; all, if none is named")
    parser.add_argument("--data-dir", help="folder with the data")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5, help="rounds at most")
    parser.add_argument("--seconds", type=float, default=100.0, help="after which no further round is begun")
    parser.add_argument("--out", default="results")
    asked = parser.parse_args()
    for name in asked.experiments:
        if name not in timed:
            parser.error(f"{name} is none of {', '.join(timed)}")
    torch.set_num_threads(asked.threads)
    for name in asked.experiments or timed:
        record = epoch_time.measure(
            EXPERIMENTS[name], data_dir=asked.data_dir, repeats=asked.repeats, seconds=asked.seconds, said=print
        )
        print(epoch_time.write(asked.out, name, record))


if __name__ == "__main__":
    main()
