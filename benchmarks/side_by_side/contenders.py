"""Who is measured: by name, what each needs to be installed, and why one is left out."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
from collections.abc import Callable, Iterable

from benchmarks.side_by_side import jax_cfc, networks
from benchmarks.side_by_side.networks import CELLS, Network
from benchmarks.side_by_side.shape import Shape, cfc_flops, gru_flops, lstm_flops
from liquidtime._checks import check_choice
from liquidtime.ops.native import library

MATRIX_PRODUCT = "torch.mm"
LOOP = " step by step"
"""What is put behind a cell's name where a plain loop calls it once a sample."""


@dataclasses.dataclass(frozen=True)
class Contender:
    """One network and the way it is computed.

    Args:
        make: the network at a size.
        package: what must be installed beside this package, if anything.
        backend: of the scans of this package, "native" or "reference"; "auto" leaves the choice.
        flops: the operations of its matrix products in a training step, where they are most of its work.
        obstacle: says why this machine or this package cannot run it, where they cannot.
        training: makes its training step, of one that is no network of PyTorch and has no other measurement.

    """

    make: Callable[[Shape], Network]
    package: str | None = None
    backend: str = "auto"
    flops: Callable[[Shape], int] | None = None
    obstacle: Callable[[], str | None] | None = None
    training: Callable[[Shape], Callable[[], object]] | None = None


def no_bf16() -> str | None:
    """Return why bf16 products are not measured: without an instruction they are the same products and rounding."""
    return "not on this CPU" if library.bf16_unit() == "emulated" else None


CONTENDERS: dict[str, Contender] = {
    "native": Contender(networks.our_cfc, backend="native", flops=cfc_flops),
    "native frozen": Contender(networks.our_frozen_cfc, backend="native"),
    "native frozen, strided": Contender(functools.partial(networks.our_frozen_cfc, strided=True), backend="native"),
    "native bf16": Contender(networks.our_bf16_cfc, backend="native", flops=cfc_flops, obstacle=no_bf16),
    "reference": Contender(networks.our_cfc, backend="reference", flops=cfc_flops),
    "ncps.CfC": Contender(networks.ncps_cfc, package="ncps", flops=cfc_flops),
    "JAX": Contender(jax_cfc.no_network, package="jax", flops=cfc_flops, training=jax_cfc.training_step),
    "native LTC": Contender(networks.our_ltc, backend="native"),
    "reference LTC": Contender(networks.our_ltc, backend="reference"),
    "ncps.LTC": Contender(networks.ncps_ltc, package="ncps"),
    "nn.LSTM": Contender(networks.torch_lstm, flops=lstm_flops),
    "nn.GRU": Contender(networks.torch_gru, flops=gru_flops),
    "nn.RNN": Contender(networks.torch_rnn),
    "ODE-RNN": Contender(networks.Solved, package="torchdiffeq"),
    "Transformer": Contender(networks.Attending),
    "CfC": Contender(networks.our_cfc),
    **{name: Contender(functools.partial(networks.our_cell, name)) for name in CELLS},
    **{
        f"{name}{LOOP}": Contender(functools.partial(networks.our_cell_step_by_step, name), backend="reference")
        for name in CELLS
    },
}


def contender(name: str) -> Contender:
    """Return the contender of a name.

    Raises:
        ValueError: there is none.

    """
    check_choice("contender", name, CONTENDERS)
    return CONTENDERS[name]


def why_missing(name: str) -> str | None:
    """Return why a contender cannot be measured here, or None where it can."""
    entry = contender(name)
    if entry.package is not None and not is_installed(entry.package):
        return f"{entry.package} is not installed"
    if entry.backend == "native" and not library.is_built():
        return "the native kernels are not built"
    return None if entry.obstacle is None else entry.obstacle()


def is_installed(package: str) -> bool:
    """Return whether a package can be imported."""
    return importlib.util.find_spec(package) is not None


def split(names: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Return the names that can be measured here, and the others, each with the reason."""
    reasons = {name: why_missing(name) for name in names}
    missing = {name: reason for name, reason in reasons.items() if reason is not None}
    return [name for name in reasons if name not in missing], missing
