import numpy as np
import pytest

from estimators.small import series
from liquidtime.baselines.classical import Guess, SummaryBoosting


def test_boosting_learns_and_the_guess_does_not():
    data, labels, level = series(200, empty=False)
    new, wanted, _ = series(100, seed=1, empty=False)
    boosting = SummaryBoosting().fit(data, labels)
    assert (boosting.predict(new) == wanted).mean() > 0.7
    assert boosting.predict_proba(new).shape == (100, 3)
    guess = Guess().fit(data, labels)
    np.testing.assert_allclose(guess.predict_proba(new)[0], np.unique(labels, return_counts=True)[1] / 200)
    assert Guess("regress").fit(data, level).predict(new) == pytest.approx(level.mean())
    assert SummaryBoosting("regress").fit(data, level).predict(new).shape == (100,)


def test_a_kind_of_target_that_there_is_not_is_refused():
    for kind in (SummaryBoosting, Guess):
        with pytest.raises(ValueError, match="one of 'classify', 'regress'; got 'clasify'; did you mean"):
            kind("clasify")
