"""The simulator, its camera, the teacher and the loop they drive in."""

import warnings

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="driving needs gymnasium: pip install 'liquidtime[paper]'")
pytest.importorskip("PIL", reason="the camera needs Pillow: pip install 'liquidtime[paper]'")

from liquidtime.paper.datasets.car_racing import (
    SECONDS,
    TEST_TRACKS,
    TRAINING_TRACKS,
    Camera,
    Car,
    Shutter,
    car_racing,
    drive,
    recordings,
    windows,
)
from liquidtime.paper.datasets.car_racing.camera import NEAREST, SIZE, WINDOW_PIXELS, ZOOM
from liquidtime.paper.datasets.car_racing.drive import LONGEST
from liquidtime.paper.datasets.car_racing.track import HALF_WIDTH, Track


@pytest.fixture(scope="module")
def camera():
    return Camera(Car(1_003))


def shutter(seed=0, dropped=0.0):
    return Shutter(np.random.default_rng(seed), dropped)


def test_a_place_on_a_track():
    """A square of 10 m, driven against the clock from its lower left corner along the x axis."""
    points = np.array([[x, 0] for x in range(10)] + [[10, y] for y in range(10)], dtype=np.float64)
    points = np.concatenate([points, [10, 10] - points])
    track = Track(0, points, np.zeros(len(points)))
    assert track.length == pytest.approx(40)
    place = track.place((4.5, -2.0), -np.pi / 2 - 0.1)  # to the right of the line, and turned further to the right
    assert (place.index, place.along, place.lateral) == (4, pytest.approx(4.5), pytest.approx(2.0))
    assert place.heading == pytest.approx(0.1)
    assert track.place((4.5, 1.0), -np.pi / 2, near=3).lateral == pytest.approx(-1.0)
    point, angle = track.point(12.0)
    np.testing.assert_allclose(point, [10, 2])
    assert angle == pytest.approx(0)
    end, begin = track.place((0.0, 1.0), np.pi), track.place((2.0, 0.0), -np.pi / 2)
    assert track.progress(end, begin) == pytest.approx(3.0)
    assert track.progress(begin, end) == pytest.approx(-3.0)


def test_a_car_is_put_where_it_was_asked_to_and_holds_its_speed(camera):
    car = camera.car
    car.put(200.0, 2.0, 0.2)
    assert car.place.along == pytest.approx(200.0, abs=0.5)
    assert car.place.lateral == pytest.approx(2.0, abs=0.1)
    assert car.place.heading == pytest.approx(0.2, abs=0.05)
    assert car.velocity == pytest.approx(car.speed)
    (log,) = drive([camera], None, [shutter()], metres=120.0)
    assert car.velocity == pytest.approx(car.speed, rel=0.02)
    assert log.metres == pytest.approx(120.0, rel=0.1)
    assert log.seconds * car.speed >= 120.0


def test_the_teacher_stays_on_the_road_and_comes_back_from_wrong_places(camera):
    camera.car.put(0.0)
    (lap,) = drive([camera], None, [shutter()], metres=camera.car.track.length)
    assert lap.interventions == 0
    assert max(map(abs, lap.lateral)) < 2.0
    for lateral, heading in ((4.0, -0.3), (-4.0, 0.3), (3.0, 0.2)):
        camera.car.put(100.0, lateral, heading)
        (log,) = drive([camera], None, [shutter(1)], metres=80.0)
        assert log.interventions == 0
        assert abs(log.lateral[-1]) < 1.0


def test_commands_to_the_right_go_to_the_right(camera):
    camera.car.put(10.0)
    (log,) = drive([camera], lambda frames, dt: np.array([0.3]), [shutter()], frames=3)
    assert log.lateral[-1] > 0.05


def test_a_car_off_the_road_is_put_back_to_the_centre_and_that_is_counted(camera):
    car, after = camera.car, []
    car.put(0.0)
    true_put = car.put

    def put(*where):
        after.append((abs(car.place.lateral), car.place.along))
        true_put(*where)
        after.append((abs(car.place.lateral), car.place.along))

    car.put = put
    try:
        (log,) = drive([camera], lambda frames, dt: np.array([1.0]), [shutter()], metres=150.0)
    finally:
        del car.put
    assert log.interventions == len(log.restarts) == len(after) // 2 >= 2
    for (off, left), (back, put_at) in zip(after[::2], after[1::2], strict=True):
        assert off > HALF_WIDTH
        assert back < 0.1
        assert put_at == pytest.approx(left, abs=1.0)
    assert sum(abs(lateral) > HALF_WIDTH for lateral in log.lateral) == log.interventions


@pytest.mark.parametrize(("dropped", "mean"), [(0.0, 3.5), (0.5, 7.0)])
def test_intervals_are_the_time_that_has_passed(dropped, mean, camera):
    camera.car.put(0.0)
    told, begin = [], []
    true_advance = camera.car.advance

    def counted(command):
        begin[-1] += 1
        return true_advance(command)

    def policy(frames, dt):
        told.append(float(dt[0]))
        begin.append(0)
        return np.zeros(1)

    camera.car.advance = counted
    try:
        (log,) = drive([camera], policy, [shutter(3, dropped)], frames=60)
    finally:
        del camera.car.advance
    assert told[0] == 0.0
    np.testing.assert_allclose(told[1:], SECONDS * np.array(begin[:-1]))
    assert log.intervals == told
    drawn = shutter(4, dropped)
    steps = [drawn.steps() for _ in range(4_000)]
    assert np.mean(steps) == pytest.approx(mean, rel=0.05)
    assert (max(steps) > LONGEST) == (dropped > 0)


def test_frames_are_gymnasiums(camera):
    """What gymnasium draws into its window, cut and scaled as ours is."""
    import pygame
    from PIL import Image

    car, (h, w) = camera.car, SIZE
    environment = car.environment
    for along, lateral, heading in ((700.0, 1.0, 0.2), (300.0, -2.0, -0.3)):
        car.put(along, lateral, heading)
        environment.t = 2.0  # before, gymnasium zooms in
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            environment._render("rgb_array")
        window = np.array(pygame.surfarray.array3d(environment.surf)).transpose(1, 0, 2)
        low = round(600 - NEAREST * ZOOM)  # the car's centre is at row 600
        side = round((1000 - w * WINDOW_PIXELS) / 2)
        cut = window[low - round(h * WINDOW_PIXELS) : low, side : 1000 - side]
        theirs = np.asarray(Image.fromarray(cut).resize((w, h), Image.Resampling.BOX)).astype(int)
        wrong = np.abs(theirs - camera.frame().transpose(1, 2, 0)).mean(axis=2)
        assert wrong.mean() < 2.0
        assert (wrong > 40).mean() < 0.02
    assert not np.array_equal(camera.frame("winter"), camera.frame("summer"))


def test_parts_share_no_track():
    assert not set(TRAINING_TRACKS) & set(TEST_TRACKS)
    with pytest.raises(ValueError, match=r"`test_tracks` must not be among the training tracks; \[7\] are"):
        car_racing(tracks=(6, 7), test_tracks=(7,))
    assert not np.array_equal(Car(TRAINING_TRACKS[0]).track.points[:50], Car(TEST_TRACKS[0]).track.points[:50])


def test_recordings(tmp_path):
    options = {"tracks": (1_000,), "test_tracks": (2_000,), "pieces": 3, "window": 5}
    split = car_racing(**options)
    assert split.validation is None
    assert split.train.x.shape[1:] == (5, 3, *SIZE)
    assert split.train.x.dtype is split.test.x.dtype
    assert split.train.ids.unique().tolist() == [1_000]
    assert split.test.ids.unique().tolist() == [2_000]
    assert float(split.train.y.abs().max()) <= 1.0
    assert float(split.train.y.abs().mean()) > 3 * float(split.test.y.abs().mean())  # wrong places need more steering
    assert not split.train.dt[:, 0].any()
    multiples = split.train.dt[:, 1:] / SECONDS
    np.testing.assert_allclose(multiples, multiples.round(), atol=1e-4)
    again, other = car_racing(**options), car_racing(seed=1, **options)
    assert again.train.x.equal(split.train.x)
    assert not other.train.y.equal(split.train.y)
    assert other.test.x.equal(split.test.x)  # the seed is of training


def test_what_is_learned_is_the_command_without_the_disturbance(monkeypatch):
    def taught(push):
        monkeypatch.setattr(recordings, "Disturbance", lambda rng: lambda car, command, taught: command + push)
        return recordings.teach(1_000, 2, 6, np.random.default_rng(0), wrong=True)

    plain, pushed = taught(0.0), taught(0.4)
    assert all(log.taught == log.commands for log in pushed)
    assert [log.taught[0] for log in pushed] == [log.taught[0] for log in plain]  # from the same places
    assert [log.poses for log in pushed] != [log.poses for log in plain]  # but driven otherwise


def test_no_window_goes_across_a_restart(camera):
    camera.car.put(0.0)
    policy = lambda frames, dt: np.array([1.0])  # noqa: E731
    (log,) = drive([camera], policy, [shutter()], frames=24, kept=True, taught=True)
    assert log.restarts
    part = windows([log], 8)
    ends = np.cumsum(part.lengths.numpy())
    assert ends[-1] == 24
    assert {restart for restart in log.restarts if restart < 24} <= set(ends.tolist())
    assert int(part.lengths.max()) <= 8
    first = int(part.lengths[0])
    np.testing.assert_array_equal(part.x[0, first - 1], log.frames[first - 1])
    np.testing.assert_allclose(part.y[0, :first, 0], log.taught[:first], rtol=1e-6)
