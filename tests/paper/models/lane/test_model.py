"""Every network has the paper's weights, shares one frozen head, and is taken along a whole run."""

import dataclasses

import pytest
import torch

from liquidtime.paper.experiments.lane_keeping import LANE_KEEPING, ROWS, SETTINGS
from liquidtime.paper.experiments.published import LANE_WEIGHTS
from liquidtime.paper.fitting import Trial, count_weights
from liquidtime.paper.models.lane.convolution import Head, scaled, standardised
from liquidtime.paper.models.lane.corruption import CORRUPTIONS, corrupted
from liquidtime.paper.models.lane.features import Drive, drives, features_of, windows
from liquidtime.paper.models.lane.head import _LAST, FrameBatches, shared_head
from liquidtime.paper.models.lane.joint import Pieces
from liquidtime.paper.models.lane.model import CLEAN, judged
from liquidtime.paper.models.lane.networks import LANE_MODELS, wiring
from liquidtime.paper.models.lane.smoothness import variation
from paper.small_runs import shrink_head, written


@pytest.fixture
def split(tmp_path_factory):
    return LANE_KEEPING.load(written(tmp_path_factory.getbasetemp() / "data"), window=4)


@pytest.fixture
def run(split, tmp_path, monkeypatch):
    shrink_head(monkeypatch)
    return Trial(
        task=LANE_KEEPING.task,
        split=split,
        honest=True,
        seed=0,
        folder=tmp_path / "run",
        progress=False,
        kept=tmp_path / "kept",
    )


@pytest.mark.parametrize("name", LANE_MODELS)
def test_weights_are_the_papers(name):
    model = LANE_MODELS[name]
    line = next(line for line in LANE_WEIGHTS if line.model in model.paper)
    head, driver = Head(), model.driver(ROWS[name].settings, 0)
    if line.recurrent is not None:
        assert count_weights(driver) == line.recurrent
    assert count_weights(head.convolutions if model.flat else head) + count_weights(driver) == line.total


def test_the_circuit_is_the_papers():
    graph = wiring(SETTINGS).build(64)
    assert (wiring(SETTINGS).units, graph.output_size) == (19, 1)
    assert int((graph.adjacency != 0).sum() + (graph.sensory != 0).sum()) == 253


def test_the_head_is_trained_once_and_kept(run):
    head = shared_head(run.split, run.kept, run.folder)
    (file,) = run.kept.iterdir()
    assert file.stat().st_size < 500_000
    assert shared_head(run.split, run.kept, run.folder / "other") is head
    _LAST.clear()
    again = shared_head(run.split, run.kept, run.folder / "other")
    assert not (run.folder / "other").exists()
    for name, value in head.state_dict().items():
        assert torch.equal(value, again.state_dict()[name])
    fresh = shared_head(run.split, None, None)
    assert all(torch.equal(value, fresh.state_dict()[name]) for name, value in head.state_dict().items())


def test_a_mirrored_image_has_the_opposite_steering(split):
    batches = FrameBatches(split.train, 5)(0, torch.Generator().manual_seed(0))
    frames = split.train.x.flatten(0, 1)
    steering = split.train.y.flatten()
    seen = []
    for batch in batches:
        for x, y in zip(batch.x, batch.y[:, 0], strict=True):
            same, turned = ((frames == other).flatten(1).all(dim=1) for other in (x, x.flip(-1)))
            assert bool(same.any()) != bool(turned.any())
            place = int((same | turned).nonzero()[0, 0])
            seen.append(place)
            assert y == (steering[place] if same.any() else -steering[place])
    assert len(seen) == len(set(seen)) == int(split.train.lengths.sum())
    turned_share = sum(bool((batch.y < 0).any()) for batch in batches)
    assert turned_share > 0


def test_features_are_the_heads_of_each_image(split):
    head = Head().eval().requires_grad_(False)
    (drive,) = drives(split.test, head, "noise")
    images = corrupted(scaled(split.test.x.flatten(0, 1)), "noise", 0)
    torch.testing.assert_close(drive.features, head(standardised(images)))
    torch.testing.assert_close(drive.flat, head.convolutions(standardised(images)))
    assert torch.equal(drive.dt, split.test.dt.flatten())
    (clean,) = drives(split.test, head)
    assert not torch.allclose(clean.features, drive.features, atol=1e-2)


def test_windows_overlap_within_a_run_and_never_across():
    runs = [
        Drive(3, torch.zeros(T, 1), torch.arange(T).float().reshape(T, 1) + 100 * n, torch.ones(T), torch.zeros(T, 1))
        for n, T in enumerate((10, 3, 6))
    ]
    found = windows(runs, 4, 2)
    assert found.x[..., 0].tolist() == [
        [0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7], [6, 7, 8, 9], [200, 201, 202, 203], [202, 203, 204, 205],
    ]  # fmt: skip
    with pytest.raises(ValueError, match="`window` must be at most the longest run's 10; got 11"):
        windows(runs, 11, 2)


@pytest.mark.parametrize("name", ["cfc", "ncp", "lstm"])
def test_the_state_is_carried_along_the_run(name, split):
    model = LANE_MODELS[name]
    driver = model.driver(ROWS[name].settings, 0).eval()
    features = features_of(split, Head().eval().requires_grad_(False))
    commands = model.commands(driver, features)
    assert set(commands) == {CLEAN, *CORRUPTIONS}
    run, state, steps = features.corrupted["blur"][0], None, []
    with torch.no_grad():
        for x, dt in zip(run.features, run.dt, strict=True):
            y, state = driver.network.step(x.unsqueeze(0), state, dt.reshape(1))
            steps.append(y[0, 0])
    torch.testing.assert_close(commands["blur"][0], torch.stack(steps), atol=1e-5, rtol=1e-4)


def test_centred_features_have_the_mean_of_the_training_part_alone(split, run):
    row = ROWS["cfc_centred"]
    head = shared_head(split, run.kept, run.folder)
    features = features_of(split, head)
    driver = row.model.driver(row.settings, 0, features.train)
    mean = torch.cat([drive.features for drive in features.train]).mean(0)
    assert torch.equal(driver.centre, mean)
    plain = LANE_MODELS["cfc"].driver(dataclasses.replace(row.settings, centred=None), 0)
    assert plain.centre is None
    batch = windows(features.test, 4, 4)
    moved = dataclasses.replace(batch, x=batch.x + mean)
    torch.testing.assert_close(driver(moved), plain(batch))
    assert count_weights(driver) == count_weights(plain)
    with pytest.raises(ValueError, match="`known` must be given"):
        row.model.driver(row.settings, 0)


def test_figures_by_hand():
    dt, y = torch.tensor([0.0, 0.5, 1.5]), torch.tensor([[0.0], [1.0], [0.0]])
    runs = [Drive(7, torch.zeros(3, 1), torch.zeros(3, 1), dt, y)]
    found = judged({CLEAN: [torch.tensor([0.0, 0.5, 0.5])], "blur": [torch.tensor([1.0, 1.0, 3.0])]}, runs)
    assert found["mse_under"] == {"blur": pytest.approx(10 / 3)}
    assert found["variation"] == pytest.approx(0.25)
    assert found["variation_under"] == {"blur": pytest.approx(1.0)}
    assert found["variation_human"] == pytest.approx(1.0)
    with pytest.raises(ValueError, match="`y` must have at least 2 commands"):
        variation(torch.zeros(1), torch.zeros(1))


def test_pieces_are_windows_of_the_part(split):
    def starts(every):
        batches = Pieces(split.train, 2, 3, every)(0, torch.Generator().manual_seed(0))
        found = list(batches)
        assert len(found) == len(batches)
        return [piece for batch in found for piece in batch.x]

    pieces = starts(1)
    expected = [part for window, n in zip(split.train.x, split.train.lengths, strict=True) for part in cut(window, n)]
    assert len(pieces) == len(expected)
    assert {piece.sum().item() for piece in pieces} == {piece.sum().item() for piece in expected}
    assert len(starts(3)) == -(-len(expected) // 3)
    with pytest.raises(ValueError, match="a sequence of at least 9 images"):
        Pieces(split.train, 9, 3, 1)(0, torch.Generator())


def cut(window, length):
    return [window[low : low + 2] for low in range(0, int(length) - 1, 2)]


def test_frozen_and_joint(run):
    """Frozen, the head stays; along with the head, a copy of it changes; both are the same again with the same seed."""
    settings = dataclasses.replace(SETTINGS, epochs=2)
    head = shared_head(run.split, run.kept, run.folder)
    before = {name: value.clone() for name, value in head.state_dict().items()}
    frozen = ROWS["cfc"].model.fit(run, settings)
    joint_run = dataclasses.replace(run, folder=run.folder.with_name("joint"))
    joint = ROWS["cfc_joint"].model.fit(joint_run, settings)
    assert all(torch.equal(value, before[name]) for name, value in head.state_dict().items())
    assert frozen.prediction.shape == joint.prediction.shape == (2, 4)
    assert abs(frozen.prediction - joint.prediction).max() > 1e-6
    assert (frozen.figures["frozen"], joint.figures["frozen"]) == (
        "convolutions and dense layer of the head",
        "nothing",
    )
    assert set(joint.figures["attention_kept"]) == {"noise", "mild_noise"}
    assert "attention_kept" not in frozen.figures
    assert (run.kept / "attention-cfc.png").exists()
    again = ROWS["cfc"].model.fit(dataclasses.replace(run, folder=run.folder.with_name("again")), settings)
    assert (again.prediction == frozen.prediction).all()
    assert again.figures == frozen.figures
    assert frozen.weights == 230_828
