import dataclasses

import numpy as np
import pytest
import torch

from liquidtime.baselines.classical import summary_features
from liquidtime.paper.datasets import Sequences, xor
from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.models.boosting import BoostingModel
from liquidtime.paper.models.observed import observed
from paper.small_runs import small_run, written


def test_the_summary_of_a_part_by_hand():
    values = torch.tensor([[[1.0, 0.0], [4.0, 0.0], [4.0, 0.0]], [[0.0, 2.0], [3.0, 2.0], [0.0, 0.0]]])
    mask = torch.tensor([[[1, 0], [1, 0], [0, 0]], [[0, 1], [1, 0], [0, 0]]], dtype=torch.bool)
    part = Sequences(
        torch.cat([values, mask.float()], -1), torch.ones(2, 3), torch.tensor([3, 2]), torch.tensor([0, 1]),
        torch.arange(2), mask,
    )  # fmt: skip
    found = summary_features(observed(part)).reshape(2, 2, 7)
    nan = np.nan
    np.testing.assert_allclose(found[0], [[2.5, 1, 4, 1, 4, 2, 1.5], [nan, nan, nan, nan, nan, 0, nan]])
    np.testing.assert_allclose(found[1], [[3, 3, 3, 3, 3, 1, 0], [2, 2, 2, 2, 2, 1, 0]])
    once = observed(part, static=1)
    np.testing.assert_array_equal(once.static, [[1.0], [3.0]])
    assert len(once.channels) == 1
    ward = observed(part, static=1, kinds=("1", "2", "3"))
    np.testing.assert_array_equal(ward.static, [[0.0], [2.0]])
    assert ward.categories == {ward.static_names[0]: ("1", "2", "3")}
    with pytest.raises(ValueError, match="positive intervals"):
        observed(dataclasses.replace(part, dt=torch.zeros(2, 3)))
    with pytest.raises(ValueError, match="a mask of what was observed"):
        observed(xor("test", size=2))


def test_it_learns_from_all_but_the_test_part(tmp_path_factory, tmp_path):
    run = small_run(EXPERIMENTS["physionet"], written(tmp_path_factory.getbasetemp() / "data"), tmp_path)
    split, model = run.split, BoostingModel(trees=5)
    everything = model.fit(run, None).prediction
    assert everything.shape == (len(split.test), 2)
    # with the labels of the validation part turned, the model is another one; with those of the test part it is not
    held = dataclasses.replace(split.validation, y=1 - split.validation.y)
    other = dataclasses.replace(run, split=dataclasses.replace(split, validation=held))
    unseen = dataclasses.replace(split.test, y=1 - split.test.y)
    same = dataclasses.replace(run, split=dataclasses.replace(split, test=unseen))
    assert not np.array_equal(model.fit(other, None).prediction, everything)
    assert np.array_equal(model.fit(same, None).prediction, everything)
