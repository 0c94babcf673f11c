"""The synapses of a network, and the solvers that the scan supports."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

STAGES = {"semi_implicit": 1, "euler": 1, "rk4": 4, "hold": 1, "midpoint": 2}
"""How often each solver reads the synapses in an unfold, in the order of problem.h."""
SOLVERS = (*STAGES,)


class Graph(NamedTuple):
    """Synapses, sorted by the neuron they end on.

    Attributes:
        pre: (n,) where each synapse starts.
        post: (n,) where it ends, not decreasing.
        first: (H + 1,) position of the first synapse of each neuron.

    """

    pre: Tensor
    post: Tensor
    first: Tensor


def graph_of(mask: Tensor) -> Graph:
    """Return the synapses of a mask (n_pre, n_post), whose entries are 0 where there is no synapse."""
    post, pre = mask.t().nonzero(as_tuple=True)
    counts = torch.bincount(post, minlength=mask.shape[1])
    return Graph(pre.contiguous(), post.contiguous(), torch.cat([counts.new_zeros(1), counts.cumsum(0)]))
