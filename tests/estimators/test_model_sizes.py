import pytest

from liquidtime.estimators.files.model_config import check_sizes
from liquidtime.estimators.files.model_folder import ModelFolderError
from liquidtime.networks import NETWORKS, cell_maker

D, H, U, R, PIECES, OUTPUTS = 6, 2, 64, 4, 5, 1


@pytest.mark.parametrize("network", NETWORKS)
def test_what_a_network_has_is_never_too_little(network):
    """A narrow network beside many backbone units that it may not read."""
    cell = cell_maker(network, H, U)(D)
    read_out = R * (3 * cell.output_size + PIECES + OUTPUTS)
    elements = sum(parameter.numel() for parameter in cell.parameters()) + read_out
    params = {"hidden_size": H, "backbone_units": U, "num_layers": 1, "network": network, "read_out_units": R}
    check_sizes(params, 1, D, PIECES, OUTPUTS, elements)
    with pytest.raises(ModelFolderError, match="asks for at least"):
        check_sizes({**params, "hidden_size": 10**9}, 1, D, PIECES, OUTPUTS, elements)
