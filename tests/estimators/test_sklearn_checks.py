"""scikit-learn's own checks, on arrays (S, T) taken as S series of one channel."""

from functools import partial

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

import liquidtime as lt

SMALL = {
    "hidden_size": 8,
    "backbone_units": 8,
    "read_out_units": 16,
    "batch_size": 32,
    "epochs": 10,
    "learning_rate": 0.02,
    "dropout": 0.0,
    "channel_dropout": 0.0,
    "random_state": 0,
}
ESTIMATORS = [lt.CfCClassifier(**SMALL), lt.CfCRegressor(**SMALL | {"epochs": 25})]
# They ask for equality to 1e-7; where a series stands in a batch moves the last digits of float32 on some machines.
# `test_a_prediction_does_not_depend_on_the_other_series` asks for the same to the precision of float32.
IN_FLOAT32 = {"check_methods_sample_order_invariance", "check_methods_subset_invariance"}

# A series that counts twice and the same series twice come in other batches, in another order.
IN_BATCHES = {"check_sample_weight_equivalence_on_dense_data"}


def name_of(check):
    while isinstance(check, partial):
        check = check.func
    return check.__name__


def checks():
    for subject in ESTIMATORS:
        for estimator, check in estimator_checks_generator(subject, legacy=True):
            if name_of(check) not in IN_FLOAT32 | IN_BATCHES:
                yield pytest.param(estimator, check, id=f"{type(estimator).__name__}-{name_of(check)}")


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_a_prediction_does_not_depend_on_the_other_series(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    model = type(estimator)(**estimator.get_params()).fit(X, (X[:, 0] > 0).astype(int))
    predict = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    together, order = predict(X), rng.permutation(len(X))
    np.testing.assert_allclose(predict(X[order]), together[order], rtol=1e-4, atol=1e-5)
    for k in range(0, len(X), 3):
        np.testing.assert_allclose(predict(X[k : k + 1]), together[k : k + 1], rtol=1e-4, atol=1e-5)
    assert np.ptp(together) > 0.1
