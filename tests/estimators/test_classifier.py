import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import liquidtime as lt
from estimators.small import TINY, series
from liquidtime.cells import CfCCell
from liquidtime.estimators.network.members import held_back


@pytest.fixture(scope="module")
def fitted():
    data, labels, _ = series()
    settings = TINY | {"epochs": 25, "n_estimators": 2, "hidden_size": 16, "read_out_units": 16, "learning_rate": 0.02}
    return lt.CfCClassifier(**settings).fit(data, labels)


def test_it_learns_whether_a_channel_rises(fitted):
    data, labels, _ = series(60, seed=1, empty=False)
    assert fitted.score(data, labels) > 0.7
    assert fitted.classes_.tolist() == ["a", "b", "c"]
    probabilities = fitted.predict_proba(data)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-6)
    assert (fitted.classes_[probabilities.argmax(axis=1)] == fitted.predict(data)).all()


def test_the_ensemble_answers_with_the_mean_of_its_members(fitted):
    data, _, _ = series(20, seed=2)
    whole, members = fitted.predict_proba(data), fitted.networks_
    try:
        each = []
        for network in members:
            fitted.networks_ = [network]
            each.append(fitted.predict_proba(data))
    finally:
        fitted.networks_ = members
    assert np.abs(each[0] - each[1]).max() > 1e-3
    np.testing.assert_allclose(whole, np.mean(each, axis=0), atol=1e-7)


def test_the_same_seed_gives_the_same_bits_and_another_does_not():
    data, labels, _ = series(40)
    one, same, other = (
        lt.CfCClassifier(**TINY | {"random_state": seed}).fit(data, labels).predict_proba(data) for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 1e-4


def test_rows_do_not_depend_on_their_company(fitted):
    data, _, _ = series(30, seed=3)
    together = fitted.predict_proba(data)
    for place in (0, 1, 7):
        np.testing.assert_allclose(fitted.predict_proba(data[[place]])[0], together[place], atol=1e-6)


def test_balanced_weights_move_probability_to_the_rare_class():
    data, _, _ = series(80, empty=False)
    y = (np.arange(80) % 8 == 0).astype(int)
    plain, balanced = (
        lt.CfCClassifier(**TINY | {"class_weight": weight, "learning_rate": 0.02})
        .fit(data, y)
        .predict_proba(data)[:, 1]
        .mean()
        for weight in (None, "balanced")
    )
    assert balanced > plain + 0.1
    given = lt.CfCClassifier(**TINY | {"class_weight": {0: 80 / 140, 1: 80 / 20}, "learning_rate": 0.02}).fit(data, y)
    assert given.predict_proba(data)[:, 1].mean() == pytest.approx(balanced, abs=1e-6)


@pytest.mark.parametrize("network", [*lt.estimators.NETWORKS, lambda D: CfCCell(D, 5, backbone_layers=0)])
def test_every_network_trains(network):
    data, labels, _ = series(24)
    model = lt.CfCClassifier(**TINY | {"network": network, "epochs": 1}).fit(data, labels)
    assert np.isfinite(model.predict_proba(data)).all()


def test_dropped_channels_leave_every_input_of_theirs():
    data, labels, _ = series(30)
    model = lt.CfCClassifier(**TINY | {"channel_dropout": 0.5}).fit(data, labels)
    network, names = model.networks_[0], model.encoder_.layout_.inputs
    x = torch.ones(200, 2, len(names))
    assert torch.equal(network._thinned(x), x)
    thin = network.train()._thinned(x)
    network.eval()
    for channel in data.channels:
        own = thin[:, :, [place for place, name in enumerate(names) if name.split()[0] == channel]]
        assert own.shape[2] == 3
        assert bool((own == own[:, :1, :1]).all())
        assert 0.35 < float(own[:, 0, 0].mean()) < 0.65


def test_a_fold_is_held_back_with_its_share_of_each_class():
    train, held = held_back(40, 0.25, np.arange(40) % 2, seed=0)
    assert sorted([*train, *held]) == list(range(40))
    assert np.bincount(held % 2).tolist() == [5, 5]
    assert [len(rows) for rows in held_back(3, 0.1, None, seed=0)] == [3, 0]
    rare, pairs = np.array([0] * 18 + [1, 1]), np.arange(20) // 2
    for seed in range(20):
        for groups in (None, pairs):
            train, held = held_back(20, 0.5, rare, seed, groups)
            assert set(rare[train]) == {0, 1}
            assert len(held) >= 8
            assert groups is None or not set(groups[train]) & set(groups[held])


def test_validation_chooses_the_epoch():
    data, labels, _ = series(40, empty=False)
    wrong = np.roll(labels, 1)
    model = lt.CfCClassifier(**TINY | {"epochs": 12, "learning_rate": 0.02}).fit(data, labels, validation=(data, wrong))
    result = model.results_[0]
    losses = [record["val_loss"] for record in result.history]
    assert result.best_epoch == int(np.argmin(losses)) < 11


def test_scikit_learn_splits_searches_and_pipes_series():
    data, labels, _ = series(45)
    model = lt.CfCClassifier(**TINY | {"epochs": 2})
    scores = cross_val_score(model, data, labels, groups=np.arange(45) % 3, cv=GroupKFold(3))
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()
    search = GridSearchCV(model, {"hidden_size": [4, 6]}, cv=2, error_score="raise").fit(data, labels)
    assert search.best_estimator_.hidden_size in (4, 6)
    piped = make_pipeline(FunctionTransformer(lambda X: X), model).fit(data, labels)
    np.testing.assert_array_equal(piped.predict_proba(data), model.fit(data, labels).predict_proba(data))


def test_arrays_of_three_axes_and_pairs_are_series():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 7, 2)), np.arange(20) % 2
    model = lt.CfCClassifier(**TINY).fit(X, y)
    assert model.n_features_in_ == 2
    pairs = [(np.arange(7), row) for row in X]
    np.testing.assert_allclose(model.predict_proba(pairs), model.predict_proba(X), atol=1e-7)
    with pytest.raises(ValueError, match="X has 3 features, but CfCClassifier is expecting 2 features"):
        model.predict(rng.normal(size=(4, 7, 3)))


def test_refusals_say_what_to_do():
    data, labels, _ = series(12)
    model = lt.CfCClassifier(**TINY)
    with pytest.raises(NotFittedError):
        model.predict(data)
    with pytest.raises(ValueError, match="`y` must have at least two classes"):
        model.fit(data, ["a"] * 12)
    with pytest.raises(ValueError, match="`y` must have one class per series, 12; got 11"):
        model.fit(data, labels[:11])
    with pytest.raises(ValueError, match=r"`network` must be one of .*did you mean `lstm`"):
        lt.CfCClassifier(**TINY | {"network": "lsmt"}).fit(data, labels)
    with pytest.raises(ValueError, match="`n_estimators` must be at least 1; got 0"):
        lt.CfCClassifier(**TINY | {"n_estimators": 0}).fit(data, labels)
    with pytest.raises(ValueError, match=r"`validation` must have classes of training .*the first is 'z'"):
        model.fit(data, labels, validation=(data, ["z"] * 12))
    with pytest.raises(TypeError, match="`network` must return a Cell; got Linear"):
        lt.CfCClassifier(**TINY | {"network": lambda D: torch.nn.Linear(D, 3)}).fit(data, labels)


def test_a_run_in_a_folder_resumes_to_the_same_bits(tmp_path):
    data, labels, _ = series(30)
    model = lt.CfCClassifier(**TINY | {"n_estimators": 2})
    whole = model.fit(data, labels, folder=tmp_path / "run").predict_proba(data)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["member-0", "member-1"]
    again = lt.CfCClassifier(**TINY | {"n_estimators": 2}).fit(data, labels, folder=tmp_path / "run", resume=True)
    np.testing.assert_array_equal(again.predict_proba(data), whole)
    with pytest.raises(FileExistsError, match="already has a run"):
        model.fit(data, labels, folder=tmp_path / "run")
