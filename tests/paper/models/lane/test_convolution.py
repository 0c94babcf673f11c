import pytest
import torch

from liquidtime.paper.models.lane.convolution import FLAT, Convolutions, Head, scaled, standardised


def weights(module):
    return sum(parameter.numel() for parameter in module.parameters())


def test_the_head_has_the_papers_weights_and_shapes():
    head = Head()
    images = torch.randn(2, 3, 72, 128)
    assert weights(head) == 226_644
    assert weights(head.convolutions) == 226_644 - 64 * (FLAT + 1)
    assert head.convolutions(images).shape == (2, 1920)
    features = head(images)
    assert features.shape == (2, 64)
    assert float(features.detach().abs().max()) < 1
    assert torch.equal(features, head.features(head.convolutions(images)))


def test_maps_are_what_the_next_layer_reads():
    network = Convolutions()
    with torch.no_grad():
        maps = network.maps(torch.randn(1, 3, 72, 128))
    assert [tuple(found.shape[1:]) for found in maps] == [
        (24, 34, 62), (36, 15, 29), (48, 7, 14), (64, 5, 12), (64, 3, 10),
    ]  # fmt: skip
    assert all(float(found.min()) == 0 for found in maps)
    torch.testing.assert_close(maps[3], network.layers[3](maps[2]).relu().detach())
    with pytest.raises(ValueError, match=r"`images` must have shape \(N, 3, h, w\) = \(1, 3, 72, 128\)"):
        network(torch.zeros(1, 3, 128, 72))


def test_an_image_is_standardised_by_itself():
    frames = torch.randint(0, 256, (3, 3, 72, 128), dtype=torch.uint8)
    frames[2] = 77
    images = standardised(scaled(frames))
    torch.testing.assert_close(images[:2].mean(dim=(1, 2, 3)), torch.zeros(2), atol=1e-5, rtol=0)
    torch.testing.assert_close(images[:2].std(dim=(1, 2, 3), correction=0), torch.ones(2))
    assert float(images[2].abs().max()) < 1e-3
    torch.testing.assert_close(images[1:2], standardised(scaled(frames[1:2])))
    torch.testing.assert_close(standardised(0.3 * scaled(frames[:2]) + 0.5), images[:2], atol=1e-4, rtol=0)
