"""The synapses of a liquid network, from one set of neurons to another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from liquidtime._checks import values_are_known
from liquidtime.cells.plain import note_methods
from liquidtime.ops.ltc_scan import Graph, graph_of

INIT_RANGES = {"w": (0.001, 1.0), "gamma": (3.0, 8.0), "mu": (0.3, 0.8)}


class Synapses(nn.Module):
    """Conductance-based synapses: each opens with the sigmoid of its presynaptic neuron's potential.

        s_ij = σ(γ_ij·(v_i - μ_ij));   conductance_j = Σ_i w_ij·s_ij;   current_j = Σ_i w_ij·s_ij·E_ij

    w is kept positive by softplus. The reversal potentials E are initialised with the polarity of the wiring and
    learned. Weights of synapses that the wiring does not have are stored, as in the parameter counts of the paper, and
    multiplied by 0.

    Args:
        polarity: (n_pre, n_post) +1, -1, or 0 where there is no synapse.

    """

    mask: Tensor
    listed_mask: Tensor  # the mask from which the synapses were listed
    pre: Tensor
    post: Tensor
    first: Tensor

    def __init__(self, polarity: npt.NDArray[np.int8]) -> None:
        super().__init__()
        shape = polarity.shape
        self.w = nn.Parameter(torch.empty(shape).uniform_(*INIT_RANGES["w"]))
        self.gamma = nn.Parameter(torch.empty(shape).uniform_(*INIT_RANGES["gamma"]))
        self.mu = nn.Parameter(torch.empty(shape).uniform_(*INIT_RANGES["mu"]))
        signs = torch.tensor(polarity, dtype=torch.get_default_dtype())
        self.E = nn.Parameter(signs)
        self.register_buffer("mask", signs.abs())
        post, pre = np.nonzero(polarity.T)  # sorted by post
        first = np.searchsorted(post, np.arange(shape[1] + 1))
        for name, part in (("pre", pre), ("post", post), ("first", first)):
            self.register_buffer(name, torch.tensor(part, dtype=torch.int64), persistent=False)
        self.register_buffer("listed_mask", self.mask.clone(), persistent=False)
        self.register_load_state_dict_post_hook(_list_again)  # type: ignore[no-untyped-call]

    def graph(self) -> Graph:
        """Return the synapses, sorted by the neuron they end on."""
        return Graph(self.pre, self.post, self.first)

    def is_listed(self) -> bool:
        """Return whether the synapses in `graph` are still those of the mask, whose values may have been changed."""
        if not values_are_known(self.mask) or torch.equal(self.mask, self.listed_mask):
            return True
        listed = self.mask[self.pre, self.post]
        return int(self.mask.count_nonzero()) == len(listed) == int(listed.count_nonzero())

    def listed(self, positive: Callable[[Tensor], Tensor] = F.softplus) -> list[Tensor]:
        """Return w from `conductances`, γ, μ and E of the synapses in `graph`, each (n,)."""
        values = torch.stack([self.conductances(positive), self.gamma, self.mu, self.E])  # one operation for all four
        if len(self.pre) == self.mask.numel():  # all of them, in the order of `graph`
            return [*values.transpose(1, 2).reshape(4, -1).unbind()]
        return [*values[:, self.pre, self.post].unbind()]

    def activity(self, v: Tensor) -> Tensor:
        """Return s (B, n_pre, n_post), how far each synapse is open, from v (B, n_pre)."""
        return torch.sigmoid(self.gamma * (v.unsqueeze(-1) - self.mu))

    def conductances(self, positive: Callable[[Tensor], Tensor] = F.softplus) -> Tensor:
        """Return w (n_pre, n_post), made positive by `positive`; 0 where there is no synapse."""
        return positive(self.w) * self.mask

    def forward(self, v: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        """Return the total conductance and current, each (B, n_post).

        Args:
            v: (B, n_pre) presynaptic potentials.
            w: the result of `conductances`, computed once per sample rather than once per solver step.

        """
        open_ = self.activity(v) * w
        return open_.sum(dim=1), (open_ * self.E).sum(dim=1)

    def extra_repr(self) -> str:
        """Return the sizes, which no submodule shows."""
        return f"{self.mask.shape[0]} -> {self.mask.shape[1]}"


def _list_again(synapses: nn.Module, incompatible: object) -> None:
    """Update the list of synapses, since a state dict contains its own mask."""
    assert isinstance(synapses, Synapses)
    if not synapses.mask.is_meta:
        synapses.pre, synapses.post, synapses.first = graph_of(synapses.mask)
        synapses.listed_mask = synapses.mask.clone()


note_methods(Synapses)
