import numpy as np
import polars as pl
import pytest
import torch

from liquidtime.paper.datasets import physionet2012
from liquidtime.paper.datasets.physionet2012 import CHANNELS, FURTHER
from real_data import REAL
from small_data import write_all


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return write_all(tmp_path_factory.mktemp("data"))


def stays(root, name="a"):
    table = pl.read_parquet(root / "physionet2012" / f"records-{name}.parquet").cast({"parameter": pl.String})
    return {key[0]: group for key, group in table.group_by("record_id")}


def by_hand(group, shift, unit, hours, unknown):
    """One stay, sample by sample, from the words of the protocol."""
    times = sorted({round(minute / 60 / hours) for minute in group["minutes"]})
    carried, rows, masks = np.zeros(41), [], []
    for time in times:
        mask = np.zeros(41)
        for c, channel in enumerate(CHANNELS):
            values = [
                value
                for minute, name, value in group.select("minutes", "parameter", "value").iter_rows()
                if name == channel and round(minute / 60 / hours) == time and value != unknown
            ]
            if values:
                carried[c], mask[c] = (np.mean(values) - shift[c]) / unit[c], 1
        rows.append(carried.copy())
        masks.append(mask)
    return np.array(times) * hours, np.concatenate([rows, masks], axis=1)


@pytest.mark.parametrize(("protocol", "hours", "unknown"), [("honest", 1 / 60, -1.0), ("published", 0.016, None)])
def test_inputs_are_those_of_the_protocol(root, protocol, hours, unknown):
    split = physionet2012(root, protocol=protocol)
    tables = stays(root)
    used = split.train.ids.tolist() if protocol == "honest" else list(tables)
    means = {}
    for number in used:
        _, plain = by_hand(tables[number], np.zeros(41), np.ones(41), hours, unknown)
        for values, mask in zip(plain[:, :41], plain[:, 41:], strict=True):
            for c in np.flatnonzero(mask):
                means.setdefault(c, []).append(values[c])
    shift = np.array([min(means.get(c, [0.0])) for c in range(41)])
    unit = np.array([max(means.get(c, [1.0])) or 1.0 for c in range(41)])
    for row in range(5):
        number, T = int(split.test.ids[row]), int(split.test.lengths[row])
        times, expected = by_hand(tables[number], shift, unit, hours, unknown)
        assert len(times) == T
        np.testing.assert_allclose(split.test.x[row, :T].numpy(), expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(split.test.dt[row, :T].numpy(), np.diff(times, prepend=times[0]), rtol=1e-6)
        np.testing.assert_array_equal(split.test.mask[row, :T].numpy(), expected[:, 41:] == 1)


def test_published_intervals_are_negative_and_late(root):
    right = physionet2012(root, protocol="published").test
    wrong = physionet2012(root, protocol="published", intervals="published").test
    for row in range(len(right)):
        T = int(right.lengths[row])
        assert wrong.dt[row, 0] == 0
        assert torch.equal(wrong.dt[row, 1:T], -right.dt[row, : T - 1])
    assert torch.equal(right.x, wrong.x)
    with pytest.raises(ValueError, match='belong to protocol="published"'):
        physionet2012(root, intervals="published")


def test_scaling_by_deviation_standardises_the_training_part(root):
    split = physionet2012(root, scaling="deviation")
    raw = split.train.x[..., :41][split.train.mask]
    assert abs(float(raw.mean())) < 1e-5
    assert float(raw.square().mean()) == pytest.approx(1, abs=0.2)
    age = split.train.x[..., 0][split.train.mask[..., 0]]
    assert float(age.mean()) == pytest.approx(0, abs=1e-5)
    assert float(age.std(correction=0)) == pytest.approx(1, abs=1e-5)


def test_further_outcomes_are_those_of_the_tables(root):
    table = pl.read_parquet(root / "physionet2012" / "outcomes.parquet")
    rows = {row["record_id"]: row for row in table.iter_rows(named=True)}
    split = physionet2012(root, test_set="b")
    for part in split.parts().values():
        assert part.further.shape == (len(part), len(FURTHER))
        for number, found in zip(part.ids.tolist(), part.further.tolist(), strict=True):
            row = rows[number]
            score = row["saps_i"] if row["saps_i"] >= 0 else np.nan
            until = row["survival"] if row["in_hospital_death"] else 1500
            days = np.log1p([row["length_of_stay"], until])
            np.testing.assert_allclose(found, [score, row["sofa"], *days], rtol=1e-6)
    assert split.train.further[:, 0].isnan().any()


def test_wider_bins_and_the_other_test_set(root):
    fine, coarse = physionet2012(root).test, physionet2012(root, hours=6.0).test
    assert int(coarse.lengths.max()) <= 9 < int(fine.lengths.max())
    assert torch.equal(coarse.dt % 6, torch.zeros_like(coarse.dt))
    split = physionet2012(root, test_set="b")
    assert set(split.test.ids.tolist()) == set(stays(root, "b"))
    assert len(split.train) + len(split.validation) == 40


def test_refusals(root):
    with pytest.raises(ValueError, match="`test_set` must be one of 'a', 'b'"):
        physionet2012(root, test_set="c")
    with pytest.raises(ValueError, match="`hours` must be more than 0; got -1"):
        physionet2012(root, hours=-1)


@pytest.mark.data("physionet2012/records-a.parquet")
def test_the_real_set_a():
    from sklearn.model_selection import train_test_split

    split = physionet2012(REAL, protocol="published")
    assert (len(split.train), len(split.test)) == (3200, 800)
    assert split.train.x.shape[2] == 82
    assert len(CHANNELS) == 41 == split.train.mask.shape[2]
    everyone = torch.cat([split.train.ids, split.test.ids])
    assert len(everyone.unique()) == 4000
    assert int(split.train.y.sum() + split.test.y.sum()) == 554
    _, test = train_test_split(np.sort(everyone.numpy()), train_size=0.8, random_state=42, shuffle=True)
    assert split.test.ids.tolist() == test.tolist()
    steps = split.train.dt / 0.016
    assert float((steps - steps.round()).abs().max()) < 2e-3
    both = torch.cat([split.train.x[..., :41][split.train.mask], split.test.x[..., :41][split.test.mask]])
    assert float(both.min()) == 0.0
    honest = physionet2012(REAL)
    assert [len(part) for part in honest.parts().values()] == [2560, 640, 800]
    assert torch.equal(honest.test.ids, split.test.ids)
    rates = [float(part.y.double().mean()) for part in (honest.train, honest.validation)]
    assert rates[0] == pytest.approx(rates[1], abs=1e-3)
