"""A driving network from its first weight to its result, in small."""

import dataclasses
import functools
import json

import numpy as np
import pytest
import torch

pytest.importorskip("gymnasium", reason="driving needs gymnasium: pip install 'liquidtime[paper]'")
pytest.importorskip("PIL", reason="the camera needs Pillow: pip install 'liquidtime[paper]'")

from liquidtime.paper.datasets import Sequences
from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.experiments.driving import NOISY
from liquidtime.paper.experiments.published import LANE_WEIGHTS
from liquidtime.paper.models.driving import model as driving_model
from liquidtime.paper.models.driving.attention import INPUT, tiles_file
from liquidtime.paper.models.driving.batches import Windows
from liquidtime.paper.models.driving.judging import CONDITIONS, summary
from liquidtime.paper.models.driving.network import Pilot
from liquidtime.paper.pages import draw
from liquidtime.paper.pages.driving_figures import lap
from liquidtime.paper.runner import run

DRIVING = EXPERIMENTS["driving"]


@pytest.fixture
def small(monkeypatch):
    """One training and one test track, few frames, one round of the network's own driving."""
    monkeypatch.setattr(driving_model, "ROUNDS", 1)
    monkeypatch.setattr(driving_model, "OWN", 1)
    load = functools.partial(DRIVING.load, tracks=(1_000,), test_tracks=(2_000,), pieces=2, window=4)
    rows = {
        name: dataclasses.replace(
            row,
            model=dataclasses.replace(row.model, metres=12.0),
            settings=dataclasses.replace(row.settings, epochs=1, batch_size=2),
        )
        for name, row in DRIVING.rows.items()
    }
    monkeypatch.setitem(EXPERIMENTS, "driving", dataclasses.replace(DRIVING, load=load, rows=rows))


def test_every_network_of_the_paper_with_and_without_noise():
    plain = {name for name, row in DRIVING.rows.items() if not row.label}
    assert plain == {"cnn", "lstm", "ncp", "cf_s", "no_gate", "cfc", "mm_rnn"}
    assert {f"{name}_noise" for name in plain} == {n for n, row in DRIVING.rows.items() if row.label == NOISY}
    assert {row.model.name for row in DRIVING.rows.values()} == set(DRIVING.rows)  # under which files are kept
    paper = {line.model: line.total for line in LANE_WEIGHTS}
    for name in plain:
        row = DRIVING.rows[name]
        weights = sum(p.numel() for p in row.model.network(row.settings, 0).parameters())
        assert weights == pytest.approx(paper[row.model.paper[0]], rel=0.01)
    assert len({row.settings.epochs for row in DRIVING.rows.values()}) == 1
    assert len({row.settings.batch_size for row in DRIVING.rows.values()}) == 1


@pytest.mark.parametrize("row", ["cfc", "ncp"])
def test_the_unit_of_time_of_the_settings_is_that_of_the_network(row):
    row = DRIVING.rows[row]
    plain, scaled = (
        row.model.network(dataclasses.replace(row.settings, time_scale=scale), 0).eval() for scale in (None, 15.0)
    )
    x, dt = torch.rand(1, 3, 3, 72, 128), torch.tensor([[0.1, 0.3, 0.02]])
    part = Sequences(x, dt, torch.tensor([3]), torch.zeros(1, 3, 1), torch.tensor([0]))
    with torch.no_grad():
        whole = scaled(part)
        torch.testing.assert_close(whole, plain(dataclasses.replace(part, dt=15.0 * dt)))
        assert not torch.allclose(whole, plain(part), atol=1e-4)
        state = None
        for k in range(3):
            command, state = scaled.step(x[:, k], state, dt[:, k])
            torch.testing.assert_close(command, whole[:, k, 0], atol=1e-5, rtol=1e-4)


def test_a_whole_run(small, tmp_path, monkeypatch):
    learned, joined = [], driving_model.joined
    monkeypatch.setattr(driving_model, "joined", lambda data, own: learned.append(own) or joined(data, own))
    (path,) = run("driving", "cfc", [0], out=tmp_path, jobs=1, progress=False)
    record = json.loads(path.read_text())
    figures = record["figures"]
    assert record["epochs"] == 2  # one of the teacher's drives, one of its own too
    assert record["sizes"] == {"train": 2, "test": 2}
    assert record["best_epoch"] is None
    assert [own.ids.unique().tolist() for own in learned] == [[1_000]]  # its own drives are on training tracks
    assert set(figures["closed_loop"]) == set(CONDITIONS)
    for figure in figures["closed_loop"].values():
        assert figure["tracks"]["seed"] == [2_000]
        assert figure["low"] <= figure["per_kilometre"] <= figure["high"]
    assert len({figure["lateral"] for figure in figures["closed_loop"].values()}) == len(CONDITIONS)
    assert figures["teacher"]["interventions"] == 0
    assert figures["closed_loop"]["dropped"]["interval"] > figures["closed_loop"]["clean"]["interval"]
    assert set(figures["attention_kept"]) == {"noise", "winter", "winter_noise"}
    assert all(-1 <= likeness < 0.999 for likeness in figures["attention_kept"].values())
    kept = tmp_path / "kept"
    assert tiles_file(kept, "cfc").exists()
    assert tiles_file(kept, INPUT).exists()
    assert not list((tmp_path / "runs" / "driving").iterdir())
    assert draw("driving", tmp_path).stat().st_size > 10_000
    from PIL import Image

    with Image.open(lap(tmp_path, tmp_path / "lap.gif", metres=20.0)) as animation:
        assert animation.n_frames >= 2
        assert animation.size == (556, 288)


def test_what_is_missing_for_a_picture_is_named(tmp_path):
    for name in ("driving", "driving-lap"):
        with pytest.raises(ValueError, match=r"is missing\. Run: liquidtime paper run driving --model cfc"):
            draw(name, tmp_path)


def test_another_seed_has_other_weights_and_keeps_no_pictures(small, tmp_path):
    row = EXPERIMENTS["driving"].rows["cnn_noise"]
    first, second = (row.model.network(row.settings, seed).state_dict() for seed in (0, 1))
    assert any(not torch.equal(first[name], second[name]) for name in first)
    (path,) = run("driving", "cnn_noise", [1], out=tmp_path, jobs=1, progress=False)
    assert json.loads(path.read_text())["train_settings"]["noise"] is True
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("name", ["lstm", "ncp", "mm_rnn", "cnn"])
def test_frame_by_frame_is_the_whole_sequence(name):
    """What was trained on windows is what drives, with true intervals."""
    row = DRIVING.rows[name]
    network = row.model.network(row.settings, 0).eval()
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 256, (2, 4, 3, 72, 128), dtype=np.uint8)
    dt = rng.uniform(0.02, 0.12, (2, 4))
    pilot = Pilot(network)
    steps = np.stack([pilot(frames[:, t], dt[:, t]) for t in range(4)], axis=1)
    part = Sequences(
        torch.from_numpy(frames),
        torch.from_numpy(dt).float(),
        torch.full((2,), 4),
        torch.zeros(2, 4, 1),
        torch.arange(2),
    )
    with torch.no_grad():
        whole = network(part)[..., 0].clamp(-1, 1)
    np.testing.assert_allclose(steps, whole.numpy(), atol=1e-5)
    other = Pilot(network)
    slower = np.stack([other(frames[:, t], 3 * dt[:, t]) for t in range(4)], axis=1)
    assert np.allclose(steps, slower) == (name in ("lstm", "cnn"))


def test_mirrored_windows_have_the_opposite_steering_and_noise_is_in_half_of_the_batches():
    x = torch.zeros(40, 2, 3, 4, 8, dtype=torch.uint8)
    x[..., 0] = 255  # bright on the left
    part = Sequences(x, torch.ones(40, 2), torch.full((40,), 2), torch.ones(40, 2, 1), torch.arange(40))
    sides = []
    for batch in Windows(part, 4, noise=False)(0, torch.Generator().manual_seed(0)):
        left, right = batch.x[..., 0].mean(dim=(1, 2, 3)), batch.x[..., -1].mean(dim=(1, 2, 3))
        assert torch.equal(torch.sign(left - right), batch.y[:, 0, 0])
        sides += batch.y[:, 0, 0].tolist()
    assert {1.0, -1.0} == set(sides)
    dark = [batch.x[..., 1:-1] for batch in Windows(part, 4, noise=True)(0, torch.Generator().manual_seed(0))]
    noisy = [pixels for pixels in dark if pixels.any()]
    assert 1 < len(noisy) < len(dark)
    assert float(torch.cat(noisy).std()) == pytest.approx(0.35**0.5, rel=0.1)
    assert not torch.equal(*noisy[:2])


def test_figures_of_drives():
    from liquidtime.paper.datasets.car_racing import Log

    one = Log(1, metres=500.0, interventions=2, lateral=[1.0, -1.0], commands=[0.0, 0.5, 0.0], intervals=[0, 0.5, 0.5])
    two = Log(2, metres=1500.0, interventions=0, lateral=[3.0], commands=[0.0, 0.0], intervals=[0, 0.25])
    figures = summary([one, two])
    assert figures["per_kilometre"] == 1.0
    assert figures["between"] == 1000.0
    assert figures["lateral"] == 2.0
    assert figures["interval"] == pytest.approx(1.25 / 3)
    assert (figures["low"], figures["high"]) == (0.0, 4.0)
    assert figures["tracks"]["interventions"] == [2, 0]
