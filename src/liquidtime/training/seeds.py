"""One seed for all random sources of a run; the caller's random state is restored afterwards."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class RandomState:
    """The state of torch's, numpy's and Python's own random sources at one moment.

    Args:
        torch_cpu: (n,) uint8 state of torch's CPU generator.
        torch_cuda: one (n,) uint8 state per CUDA device; empty if CUDA is not in use.
        numpy: `numpy.random.get_state(legacy=False)` with its key as a list.
        python: `random.getstate()`.
    """

    torch_cpu: Tensor
    torch_cuda: tuple[Tensor, ...]
    numpy: dict[str, Any]
    python: tuple[Any, ...]

    @staticmethod
    def now() -> RandomState:
        """Return the current state."""
        legacy: Any = np.random.get_state(legacy=False)  # noqa: NPY002  the global state is what must be saved
        inner = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in legacy["state"].items()}
        cuda = tuple(torch.cuda.get_rng_state_all()) if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call]
        return RandomState(torch.get_rng_state(), cuda, {**legacy, "state": inner}, random.getstate())

    def restore(self) -> None:
        """Make every source continue from this state."""
        torch.set_rng_state(self.torch_cpu)
        if self.torch_cuda and torch.cuda.device_count() >= len(self.torch_cuda):  # else of another machine
            torch.cuda.set_rng_state_all(list(self.torch_cuda))
        inner = {**self.numpy["state"], "key": np.asarray(self.numpy["state"]["key"], dtype=np.uint32)}
        np.random.set_state({**self.numpy, "state": inner})  # noqa: NPY002
        version, words, gauss = self.python
        random.setstate((version, tuple(words), gauss))

    def check(self) -> None:
        """Raise what `restore` would raise, without changing any state."""
        before = RandomState.now()
        try:
            self.restore()
        finally:
            before.restore()

    def to_json(self) -> dict[str, Any]:
        """Return everything that is not a tensor, for JSON."""
        return {"numpy": self.numpy, "python": list(self.python)}

    def to_tensors(self) -> dict[str, Tensor]:
        """Return the tensors."""
        return {
            "cpu": self.torch_cpu,
            **{f"cuda{index}": state for index, state in enumerate(self.torch_cuda)},
        }

    @staticmethod
    def of(values: dict[str, Any], tensors: dict[str, Tensor]) -> RandomState:
        """Return the state that `to_json` and `to_tensors` wrote."""
        cuda = tuple(tensors[f"cuda{index}"] for index in range(len(tensors) - 1))
        return RandomState(tensors["cpu"], cuda, values["numpy"], tuple(values["python"]))


def derive_seed(seed: int, *path: int) -> int:
    """Return an independent seed for a part of a run, e.g. ``derive_seed(seed, epoch)``."""
    return int(np.random.SeedSequence([seed, *path]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def seed_everything(seed: int) -> None:
    """Seed torch, numpy's and Python's global sources from one number."""
    torch.manual_seed(derive_seed(seed, 0))
    np.random.seed(derive_seed(seed, 1) % 2**32)  # noqa: NPY002  the global source is what must be seeded
    random.seed(derive_seed(seed, 2))


@contextmanager
def isolated_rng(seed: int) -> Iterator[None]:
    """Seed all random sources within the block; the caller's random state is restored when it ends."""
    before = RandomState.now()
    try:
        seed_everything(seed)
        yield
    finally:
        before.restore()
