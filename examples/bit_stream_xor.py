"""Learn the parity of bit streams of which only the changes are sent, and when: a CfC beside an LSTM of equal size.

The events of a stream carry their time. A CfC reads it as `dt`; the LSTM is given it as a second input.
"""

import argparse
import time

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from torch import Tensor, nn

import liquidtime as lt
from liquidtime.paper.datasets import Sequences, xor

MAX_LENGTH = 10


class Parity(nn.Module):
    """A recurrent network and a linear read-out of its last state."""

    def __init__(self, network: lt.Recurrent, time_as_input: bool) -> None:
        super().__init__()
        self.network = network
        self.time_as_input = time_as_input
        self.read_out = nn.Linear(network.output_size, 1)

    def forward(self, x: Tensor, dt: Tensor, lengths: Tensor) -> Tensor:
        if self.time_as_input:
            x = torch.cat([x, dt.unsqueeze(-1)], dim=-1)
        _, h = self.network(x, dt=dt, lengths=lengths)
        last = h if isinstance(h, Tensor) else h[0]
        return self.read_out(last[-1]).squeeze(-1)


def accuracy(model: nn.Module, data: Sequences) -> float:
    with torch.no_grad():
        right = (model(data.x, data.dt, data.lengths) > 0) == data.y.bool()
    return float(right.float().mean())


def train(model: nn.Module, data: Sequences, epochs: int, progress: Progress, name: str) -> None:
    size = 128
    steps = epochs * (len(data) // size)
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=steps)
    bar = progress.add_task(name, total=steps, loss=0.0)
    for _ in range(epochs):
        order = torch.randperm(len(data))
        for rows in order.split(size)[: len(data) // size]:
            longest = int(data.lengths[rows].max())
            logit = model(data.x[rows, :longest], data.dt[rows, :longest], data.lengths[rows])
            loss = nn.functional.binary_cross_entropy_with_logits(logit, data.y[rows].float())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            progress.update(bar, advance=1, loss=float(loss.detach()))


def main() -> dict[str, float]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--size", type=int, default=12_800)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    streams = xor("train", size=given.size, max_length=MAX_LENGTH)
    test = xor("test", size=2_000, max_length=MAX_LENGTH)
    torch.manual_seed(given.seed)
    models = {
        "CfC": Parity(lt.CfC(1, 24, backbone_units=24, backbone_activation="silu"), time_as_input=False),
        "LSTM + time": Parity(lt.Recurrent(lambda d: lt.cells.LSTMCell(d, 26), 2), time_as_input=True),
    }
    table = Table(title=f"Event-based XOR, up to {MAX_LENGTH - 1} bits, seed {given.seed}")
    for column in ("network", "weights", "test accuracy", "seconds"):
        table.add_column(column, justify="left" if column == "network" else "right")
    result = {}
    columns = (TextColumn("{task.description:12}"), BarColumn(), TextColumn("loss {task.fields[loss]:.3f}"))
    with Progress(*columns, TimeRemainingColumn()) as progress:
        for name, model in models.items():
            start = time.perf_counter()
            train(model, streams, given.epochs, progress, name)
            result[name] = accuracy(model, test)
            weights = sum(parameter.numel() for parameter in model.parameters())
            table.add_row(name, f"{weights:,}", f"{result[name]:.1%}", f"{time.perf_counter() - start:.0f}")
    Console().print(table)
    return result


if __name__ == "__main__":
    main()
