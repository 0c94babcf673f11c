"""Two processes that share a batch have the gradients of one that has it whole."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
import torch
import torch.distributed

import liquidtime as lt
from liquidtime.ops import live_backend
from processes import Child

pytestmark = pytest.mark.skipif(
    not (torch.distributed.is_available() and torch.distributed.is_gloo_available()), reason="PyTorch has no gloo"
)

WORKER = """
import sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, {folder!r})
from test_distributed import LAYERS, batch, build, loss_of
from liquidtime.ops import live_backend

rank, port, out = int(sys.argv[1]), sys.argv[2], sys.argv[3]
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{{port}}", rank=rank, world_size=2)
found = {{"backend": live_backend()}}
for name in LAYERS:
    model = DistributedDataParallel(build(name))
    x, dt, lengths, target = (part[rank::2] for part in batch())
    for _ in range(2):  # the second round goes through the buckets that the first has laid out
        model.zero_grad()
        loss_of(model, x, dt, lengths, target).backward()
    found[name] = {{key: p.grad.tolist() for key, p in model.module.named_parameters()}}
dist.barrier()
dist.destroy_process_group()
if rank == 0:
    import json

    with open(out, "w") as file:
        json.dump(found, file)
"""

LAYERS = {
    "cfc": lambda: lt.CfC(3, 8, backbone_units=9, num_layers=2, mixed_memory=True),
    "wired": lambda: lt.CfC(3, wiring=lt.wirings.AutoNCP(12, 3)),
    "liquid": lambda: lt.LTC(3, wiring=lt.wirings.AutoNCP(12, 3)),
}


def build(name: str) -> torch.nn.Module:
    torch.manual_seed(0)
    return LAYERS[name]().double()


def batch() -> tuple[torch.Tensor, ...]:
    g = torch.Generator().manual_seed(1)
    x, dt = torch.randn(6, 5, 3, generator=g, dtype=torch.float64), torch.rand(6, 5, generator=g, dtype=torch.float64)
    return x, dt, torch.tensor([5, 5, 3, 1, 4, 2]), torch.randn(6, generator=g, dtype=torch.float64)


def loss_of(model: torch.nn.Module, x, dt, lengths, target) -> torch.Tensor:
    y, _ = model(x, dt=dt, lengths=lengths)
    return (y.sum(dim=(1, 2)) - target).square().mean()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.slow
def test_two_processes_have_the_gradients_of_one(tmp_path):
    import json

    out, port = tmp_path / "gradients.json", str(free_port())
    code = WORKER.format(folder=str(Path(__file__).parent))
    workers = [Child(["-c", code, str(rank), port, str(out)], {"GLOO_SOCKET_IFNAME": "lo"}) for rank in range(2)]
    errors = [worker.communicate(timeout=240)[1] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], errors
    found = json.loads(out.read_text())
    assert found["backend"] == live_backend()
    for name in LAYERS:
        model = build(name)
        loss_of(model, *batch()).backward()
        for key, p in model.named_parameters():
            torch.testing.assert_close(
                torch.tensor(found[name][key], dtype=torch.float64), p.grad, rtol=1e-10, atol=1e-12
            )
