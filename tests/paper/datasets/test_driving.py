import io

import numpy as np
import polars as pl
import pytest
import torch
from PIL import Image

from liquidtime.paper.datasets import driving
from real_data import REAL
from small_data import driving_run, write_all


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return write_all(tmp_path_factory.mktemp("data"))


def test_windows_put_together_are_the_runs(root):
    split = driving(root, window=4, seed=1)
    assert [sorted(set(part.ids.tolist())) for part in split.parts().values()] == [[0, 11], [5], [7]]
    assert split.train.x.dtype is torch.uint8
    for part in split.parts().values():
        for number in part.ids.unique().tolist():
            run = driving_run(root, number)
            rows = (part.ids == number).nonzero()[:, 0].tolist()
            for name in ("x", "dt", "y"):
                pieces = [getattr(part, name)[row, : int(part.lengths[row])] for row in rows]
                assert torch.equal(torch.cat(pieces), getattr(run, name)[0])
    assert split.test.lengths.tolist() == [4, 4, 1]


def test_frames_times_and_steering_are_those_of_the_file(root):
    table = pl.read_parquet(root / "driving_udacity_sim" / "frames.parquet").filter(pl.col("run") == 7)
    run = driving_run(root, 7, size=(48, 160))
    for frame, jpeg in enumerate(table["jpeg"]):
        whole = np.asarray(Image.open(io.BytesIO(jpeg)))
        np.testing.assert_array_equal(run.x[0, frame].numpy().transpose(1, 2, 0), whole[25:73])
    np.testing.assert_allclose(run.dt[0].cumsum(0) * 1000, table["time_ms"].to_numpy(), rtol=1e-5)
    np.testing.assert_array_equal(run.y[0, :, 0], table["steering"].to_numpy())
    wide = driving_run(root, 7)
    assert wide.x.shape == (1, 9, 3, 72, 128)
    assert float(wide.x.float().mean()) == pytest.approx(float(run.x.float().mean()), rel=0.05)
    halved = driving_run(root, 7, every=2)
    assert torch.equal(halved.x, wide.x[:, ::2])
    assert float(halved.dt.sum()) == pytest.approx(float(wide.dt.sum()))


def test_refusals(root, tmp_path):
    with pytest.raises(ValueError, match=r"`number` must be a run of .*; it has no frame of run 3"):
        driving_run(root, 3)
    with pytest.raises(ValueError, match="`size` must be one of"):
        driving_run(root, 7, size=(80, 160))
    write_all(tmp_path)
    path = tmp_path / "driving_udacity_sim" / "frames.parquet"
    pl.read_parquet(path).filter(pl.col("run") != 5).write_parquet(path)
    with pytest.raises(ValueError, match=r"must have run 5; it has \[0, 7, 11\]"):
        driving(tmp_path)


@pytest.mark.data("driving_udacity_sim/frames.parquet")
def test_the_real_recording():
    from liquidtime.paper.datasets.prepare.driving import CONTENT, digest, milliseconds

    columns = ["run", "frame", "time_ms", "steering", "source_name"]
    table = pl.read_parquet(REAL / "driving_udacity_sim" / "frames.parquet", columns=columns)
    lengths = table.group_by("run", maintain_order=True).len()["len"].to_list()
    assert lengths == [8046, 2459, 281, 203, 909, 1205, 203, 1202, 191, 664, 299]
    assert digest(table) == CONTENT
    at = np.array([milliseconds(name) for name in table["source_name"]])
    first = np.array([at[(table["run"] == run).to_numpy()][0] for run in table["run"].unique()])
    starts = dict(zip(table["run"].unique().to_list(), first, strict=True))
    np.testing.assert_array_equal(at - [starts[run] for run in table["run"]], table["time_ms"].to_numpy())
    run = driving_run(REAL, 8)
    assert run.x.shape == (1, 191, 3, 72, 128)
    assert 0.08 <= float(run.dt[0, 1:].min()) <= float(run.dt.max()) <= 0.2411
