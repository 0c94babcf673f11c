import pytest
import torch

from liquidtime.paper.models.lane.convolution import standardised
from liquidtime.paper.models.lane.corruption import CORRUPTIONS, corrupted


@pytest.fixture
def images():
    return 0.25 + 0.5 * torch.rand(4, 3, 72, 128, generator=torch.Generator().manual_seed(1))


def test_noise_has_the_papers_variance_on_pixels_in_0_to_1(images):
    added = corrupted(images, "noise") - images
    assert float(added.var()) == pytest.approx(0.35, rel=0.02)
    assert float(added.mean()) == pytest.approx(0, abs=0.01)


def test_mild_noise_has_it_on_standardised_images(images):
    contrast = torch.tensor([0.2, 0.5, 1.0, 0.05]).reshape(4, 1, 1, 1)
    faint = 0.5 + contrast * (images - 0.5)
    added = corrupted(faint, "mild_noise") - faint
    scale = faint.std(dim=(1, 2, 3), correction=0)
    torch.testing.assert_close(added.var(dim=(1, 2, 3)) / scale.square(), torch.full((4,), 0.35), rtol=0.05, atol=0)


def test_brightness_is_cut_where_pixels_end(images):
    up, down = corrupted(images, "brighter"), corrupted(images, "darker")
    torch.testing.assert_close(up, (images + 0.3).clamp(max=1))
    torch.testing.assert_close(down, (images - 0.3).clamp(min=0))
    assert float(up.max()) == 1
    assert float(down.min()) == 0
    assert not torch.allclose(standardised(up), standardised(images), atol=0.1)


def test_blur_keeps_an_even_image_and_spreads_a_point():
    even = torch.full((1, 3, 20, 30), 0.4)
    torch.testing.assert_close(corrupted(even, "blur"), even)
    point = torch.zeros(1, 3, 20, 30)
    point[0, 1, 10, 15] = 1
    found = corrupted(point, "blur")
    assert float(found[0, 0].abs().max()) == 0
    assert float(found[0, 1].sum()) == pytest.approx(1, rel=1e-5)
    expected = torch.exp(torch.tensor(-0.5 * (2 / 1.5) ** 2))
    torch.testing.assert_close(found[0, 1, 12, 15] / found[0, 1, 10, 15], expected)
    torch.testing.assert_close(found[0, 1, 10, 13], found[0, 1, 12, 15])


def test_every_network_is_shown_the_same(images):
    assert torch.equal(corrupted(images, None), images)
    for name in CORRUPTIONS:
        assert torch.equal(corrupted(images, name), corrupted(images, name))
    assert not torch.equal(corrupted(images, "noise", first=64), corrupted(images, "noise"))
