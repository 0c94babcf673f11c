"""What the table of docs/coming-from-ncps.md says of the peer is so."""

import ncps.torch
import ncps.wirings
import pytest
import torch

from liquidtime.compat.ncps import torch as ours
from liquidtime.compat.ncps import wirings


def test_own_times_raise_in_the_peer():
    x, dt = torch.randn(5, 6, 3), torch.rand(5, 6)
    for timespans in (dt, dt.unsqueeze(-1)):
        with pytest.raises(RuntimeError, match="must match the size"):
            ncps.torch.CfC(3, 8)(x, None, timespans)


def test_outputs_of_a_wired_network_without_layers():
    x = torch.randn(2, 4, 3)
    for network in (ncps.torch.CfC(3, ncps.wirings.FullyConnected(8, 4)), ours.CfC(3, wirings.FullyConnected(8, 4))):
        assert (network(x)[0].shape[-1], network.output_size) == (8, 4)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        ncps.torch.CfC(3, ncps.wirings.FullyConnected(8, 4), proj_size=2)(x)


def test_what_is_put_right():
    ncp = ncps.wirings.NCP(6, 5, 2, 3, 2, 4, 3)
    with pytest.raises(TypeError):
        ncps.wirings.NCP.from_config(ncp.get_config())
    ncp.build(3)
    assert len(ncp.get_graph(include_sensory_neurons=False)) == 13 + 3
    assert ncps.torch.LTCCell(ncp).sensory_synapse_count != ncp.sensory_synapse_count
    network = ours.LTC(3, wirings.NCP(6, 5, 2, 3, 2, 4, 3))
    assert (network.synapse_count, network.sensory_synapse_count) == (
        network._wiring.synapse_count,
        network._wiring.sensory_synapse_count,
    )


def test_double_precision():
    x = torch.randn(2, 4, 3, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="dtype"):
        ncps.torch.CfC(3, 8, mixed_memory=True).double()(x)
    assert ours.CfC(3, 8, mixed_memory=True).double()(x)[0].dtype is torch.float64
