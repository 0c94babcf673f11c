"""Auxiliary targets."""

import numpy as np
import polars as pl
import pytest
import torch

import liquidtime as lt
from estimators.small import TINY, series
from liquidtime.estimators.network.auxiliary import WEIGHT, WithAuxiliary, standardised
from liquidtime.estimators.network.inputs import Prepared
from liquidtime.training import Loss, cross_entropy


def _targets(level):
    table = np.stack([100 + 20 * level, level**2], axis=1)
    table[::3, 1] = np.nan
    return table


def test_outcomes_are_standardised_over_the_series_that_have_them():
    _, _, level = series()
    table = _targets(level)
    found = standardised(table, 90).double().numpy()
    known = np.isfinite(table)
    wanted = (table - np.nanmean(table, axis=0)) / np.nanstd(table, axis=0)
    np.testing.assert_array_equal(np.isfinite(found), known)
    np.testing.assert_allclose(found[known], wanted[known], atol=1e-6)
    frame = pl.DataFrame({"score": table[:, 0], "square": [None if np.isnan(v) else v for v in table[:, 1]]})
    np.testing.assert_array_equal(standardised(frame, 90), standardised(table, 90))
    assert standardised(level, 90).shape == (90, 1)


def test_the_loss_is_that_of_the_target_and_a_share_of_the_mean_error_of_known_outcomes():
    data, labels, level = series()
    model = lt.CfCClassifier(**TINY).fit(data, labels)
    outcomes = standardised(_targets(level), 90)
    network = WithAuxiliary(model.networks_[0], outcomes).train()
    network.network.dropout.p = network.network.channel_dropout = 0.0
    batch = Prepared.of(model.encoder_, data).at([3, 4, 5, 6])
    codes = torch.tensor([0, 1, 2, 0])
    loss = cross_entropy(network(*batch[:5]), codes, [1.0, 2.0, 1.0])
    both = network.with_auxiliary_loss(loss, batch.rows)
    with torch.no_grad():
        guessed = network.guess(model.networks_[0].units_after(*batch[:5])).double().numpy()
    wanted = outcomes[3:7].double().numpy()
    known = np.isfinite(wanted)
    error = ((guessed - wanted)[known] ** 2).mean()
    assert known.sum() == 6  # the second outcome of series 3 and 6 is not known
    assert both[:2] == loss[:2]
    (beside,) = both.beside
    assert float(beside.weight) == 6
    assert float(beside.total.detach()) / 6 == pytest.approx(WEIGHT * error, rel=1e-5)


def test_a_batch_without_any_known_outcome_teaches_the_target_alone():
    data, labels, _ = series()
    model = lt.CfCClassifier(**TINY).fit(data, labels)
    network = WithAuxiliary(model.networks_[0], torch.full((90, 2), torch.nan)).train()
    batch = Prepared.of(model.encoder_, data).at([3, 4])
    loss = cross_entropy(network(*batch[:5]), torch.tensor([0, 1]))
    both = network.with_auxiliary_loss(loss, batch.rows)
    assert float(both.total.detach()) == float(loss.total.detach())
    both.total.backward()
    assert all(torch.isfinite(p.grad).all() for p in network.parameters() if p.grad is not None)


def test_nothing_is_guessed_where_a_network_is_judged():
    data, labels, _ = series()
    model = lt.CfCClassifier(**TINY).fit(data, labels)
    network = WithAuxiliary(model.networks_[0], torch.zeros(90, 1)).eval()
    batch = Prepared.of(model.encoder_, data).at([3, 4])
    with torch.no_grad():
        out = network(*batch[:5])
        np.testing.assert_array_equal(out, model.networks_[0](*batch[:5]))
    loss = Loss(torch.tensor(3.0), 2.0)
    assert network.with_auxiliary_loss(loss, batch.rows) is loss


def test_the_units_that_the_target_is_read_from_learn_to_tell_the_outcomes():
    """With labels drawn at random nothing but the outcome asks for the level, which a linear map then finds."""
    data, _, level = series(empty=False)
    new, _, wanted = series(300, seed=1, empty=False)
    y = np.random.default_rng(5).integers(0, 2, 90)
    settings = TINY | {"epochs": 30, "learning_rate": 0.01, "dropout": 0.0}

    def explained(**given):
        model = lt.CfCClassifier(**settings).fit(data, y, **given)
        with torch.no_grad():
            units = model.networks_[0].units_after(*Prepared.of(model.encoder_, new).at(np.arange(300))[:5]).numpy()
        units = np.concatenate([units, np.ones((300, 1))], axis=1)
        rest = wanted - units @ np.linalg.lstsq(units, wanted, rcond=None)[0]
        return 1 - rest.var() / wanted.var()

    assert explained() < 0.3
    assert explained(auxiliary=level) > 0.5


@pytest.mark.parametrize("kind", [lt.CfCClassifier, lt.CfCRegressor])
def test_a_model_keeps_nothing_of_them_but_what_it_learned(kind, tmp_path):
    data, labels, level = series()
    y = labels if kind is lt.CfCClassifier else level
    without = kind(**TINY).fit(data, y).networks_[0].state_dict()
    model = kind(**TINY).fit(data, y, auxiliary=_targets(level))
    kept = model.networks_[0].state_dict()
    assert list(kept) == list(without)
    assert not torch.equal(kept["hidden.weight"], without["hidden.weight"])
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(lt.load(tmp_path / "model").predict(data), model.predict(data))


def test_a_model_with_a_loss_of_its_own_keeps_it_beside_the_outcomes():
    data, labels, level = series()
    model = lt.CfCClassifier(**TINY | {"network": "rnn_vae"}).fit(data, labels)
    network = WithAuxiliary(model.networks_[0], standardised(level, 90)).train()
    batch = Prepared.of(model.encoder_, data).at([3, 4, 5])
    loss = cross_entropy(network(*batch[:5]), torch.tensor([0, 1, 2]))
    own = float(network.network._own_loss.detach())
    assert own > 0
    both = network.with_own_loss(loss)
    assert float(both.total.detach()) == pytest.approx(float(loss.total.detach()) + 3 * own, rel=1e-5)


def test_a_run_in_a_folder_resumes_to_the_same_bits(tmp_path):
    data, labels, level = series()
    whole = lt.CfCClassifier(**TINY | {"n_estimators": 2}).fit(data, labels, auxiliary=level)
    lt.CfCClassifier(**TINY).fit(data, labels, auxiliary=level, folder=tmp_path / "run" / "member-0")
    again = lt.CfCClassifier(**TINY | {"n_estimators": 2})
    again.fit(data, labels, auxiliary=level, folder=tmp_path / "run", resume=True)
    np.testing.assert_array_equal(again.predict_proba(data), whole.predict_proba(data))


@pytest.mark.parametrize(
    ("auxiliary", "error", "text"),
    [
        (np.zeros((89, 2)), ValueError, r"`auxiliary` must have shape \(S, K\) = \(90, K\); got \(89, 2\)"),
        (np.zeros((90, 0)), ValueError, r"got \(90, 0\)"),
        (np.full(90, 7.0), ValueError, "column 0 is known for 90 of 90 series and always 7. Leave it out"),
        (np.full((90, 1), np.nan), ValueError, "column 0 is known for 0 of 90 series. Leave it out"),
        (np.where(np.arange(90) == 5, np.inf, np.arange(90.0)), ValueError, "1 are infinite, the first at position 5"),
        (
            np.array(["mild"] * 90),
            TypeError,
            "`auxiliary` must be numbers, with NaN if not known.*categories into 0 and 1",
        ),
    ],
)
def test_outcomes_that_cannot_be_learned_are_refused(auxiliary, error, text):
    data, labels, _ = series()
    with pytest.raises(error, match=text):
        lt.CfCClassifier(**TINY).fit(data, labels, auxiliary=auxiliary)


def test_targets_of_every_step_take_further_columns_instead():
    data, _, level = series(empty=False)
    with pytest.raises(ValueError, match="add auxiliary targets as columns of `y`"):
        lt.CfCRegressor(**TINY | {"per_step": True}).fit(data, data.values[:, 0], auxiliary=level)
