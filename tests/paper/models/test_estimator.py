import dataclasses

import numpy as np
import pytest

from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.models.estimator import EstimatorModel
from paper.small_runs import small_run, written


def test_auxiliary_targets_are_those_of_all_but_the_test_part(tmp_path_factory, tmp_path):
    experiment, root = EXPERIMENTS["physionet"], written(tmp_path_factory.getbasetemp() / "data")
    run = small_run(experiment, root, tmp_path, **experiment.rows["estimator_ten_along"].options)
    split, model = run.split, EstimatorModel(auxiliary=True)
    found = model.fit(run, None).prediction
    assert found.shape == (len(split.test), 2)
    assert not np.array_equal(EstimatorModel().fit(run, None).prediction, found)
    # with the outcomes of the validation part turned, the model is another one; with those of the test part it is not
    for part, same in (("validation", False), ("test", True)):
        given = getattr(split, part)
        turned = dataclasses.replace(split, **{part: dataclasses.replace(given, further=-given.further)})
        assert np.array_equal(model.fit(dataclasses.replace(run, split=turned), None).prediction, found) == same
    none = dataclasses.replace(split, train=dataclasses.replace(split.train, further=None))
    with pytest.raises(ValueError, match="`auxiliary` needs a data set with further outcomes"):
        model.fit(dataclasses.replace(run, split=none), None)
