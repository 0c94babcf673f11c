"""Models that read whole series, inside the estimators: no future in a prefix, no single samples, the same bits."""

import numpy as np
import pytest
import torch

import liquidtime as lt
from estimators.small import TINY, series
from liquidtime.networks import NETWORKS

SMALL = TINY | {"epochs": 2}
WHOLE = [name for name, entry in NETWORKS.items() if entry.reads_series]
over_models = pytest.mark.parametrize("network", WHOLE)


def cut(data, k):
    """Return every series' first k samples."""
    kept = [np.arange(low, min(high, low + k)) for low, high in zip(data.offsets[:-1], data.offsets[1:], strict=True)]
    rows = np.concatenate(kept)
    return data.replace_unchecked(
        offsets=np.concatenate([[0], np.cumsum([len(row) for row in kept])]),
        times=data.times[rows],
        values=data.values[rows],
    )


@over_models
def test_the_evolution_knows_nothing_of_later_samples(network):
    data, labels, _ = series(24)
    model = lt.CfCClassifier(**SMALL, network=network).fit(data, labels)
    evolution = model.evolve(data)
    ends = data.offsets[1:][data.lengths > 0] - 1
    np.testing.assert_allclose(evolution.outputs[ends], model.predict_proba(data)[data.lengths > 0], atol=2e-6)
    for k in (1, 4):
        early = model.predict_proba(cut(data, k))
        rows = np.flatnonzero(data.lengths >= k)
        np.testing.assert_allclose(evolution.outputs[data.offsets[rows] + k - 1], early[rows], atol=2e-6)
    assert np.ptp(evolution.outputs[data.offsets[5] : data.offsets[6]], axis=0).max() > 1e-4


@over_models
def test_what_is_loaded_predicts_the_same_bits(network, tmp_path):
    data, labels, _ = series(24)
    model = lt.CfCClassifier(**SMALL, network=network, n_estimators=2).fit(data, labels)
    model.save(tmp_path / "model")
    again = lt.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(data), model.predict_proba(data))
    assert again.network == network


@over_models
def test_single_samples_are_refused(network):
    data, labels, _ = series(24)
    model = lt.CfCClassifier(**SMALL | {"epochs": 1}, network=network).fit(data, labels)
    with pytest.raises(ValueError, match=rf"`network` '{network}' reads whole series and takes no single samples"):
        model.update("a", 0.0, {"drift": 1.0})
    with pytest.raises(ValueError, match=rf"`network` must run step by step to forecast.*'{network}'"):
        lt.CfCForecaster(**SMALL, network=network).fit(data)


@over_models
def test_the_hidden_of_a_set_is_what_was_observed(network):
    """Values that are carried forward are read by models without a mask only."""
    data, labels, _ = series(24)
    model = lt.CfCClassifier(**SMALL, network=network).fit(data, labels)
    reader = model.networks_[0].recurrent
    layout, C = model.encoder_.layout_, 3
    x = torch.randn(2, 5, model.encoder_.input_size_)
    x[..., layout.mask : layout.mask + C] = (torch.rand(2, 5, C) < 0.5).float()
    other = x.clone()
    for place, name in enumerate(model.encoder_.channels_):
        columns = layout.value[name]
        hidden = x[..., layout.mask + place] == 0
        other[..., columns][hidden] = 9.0
    dt, lengths = torch.rand(2, 5), torch.tensor([5, 4])
    with torch.inference_mode():
        same = torch.equal(reader(x, dt=dt, lengths=lengths)[0], reader(other, dt=dt, lengths=lengths)[0])
    assert same is reader.model.takes_mask


def test_a_model_of_its_own_loss_is_trained_by_it():
    data, _, level = series(24)
    settings = SMALL | {"network": "latent_ode_rnn", "epochs": 1, "batch_size": 24}
    model = lt.CfCRegressor(**settings).fit(data, level)
    decoder = model.networks_[0].recurrent.model.emit.weight
    with torch.random.fork_rng():
        fresh = lt.CfCRegressor(**settings | {"learning_rate": 1e-12}).fit(data, level)
    assert not torch.equal(decoder, fresh.networks_[0].recurrent.model.emit.weight)
    assert (decoder - fresh.networks_[0].recurrent.model.emit.weight).abs().max() > 1e-6


def test_a_value_for_each_sample_is_learned_from_prefixes():
    data, _, _ = series(18)
    model = lt.CfCRegressor(**SMALL, network="seft", per_step=True).fit(data, np.arange(len(data.times)))
    assert model.predict(data).shape == (len(data.times),)
    np.testing.assert_allclose(model.predict(cut(data, 3))[:3], model.predict(data)[data.offsets[1] :][:3], rtol=1e-4)


def test_layers_and_names():
    data, labels, _ = series(24)
    stacked = lt.CfCClassifier(**SMALL, network="transformer", num_layers=2).fit(data, labels)
    assert len(stacked.networks_[0].recurrent.model.blocks) == 2
    with pytest.raises(ValueError, match="`num_layers` must be 1 for network='mtand', which has no layers to stack"):
        lt.CfCClassifier(**SMALL, network="mtand", num_layers=2).fit(data, labels)
    with pytest.raises(ValueError, match=r"`network` must be one of 'cfc', .*; got 'mtant'; did you mean `mtand`"):
        lt.CfCClassifier(**SMALL, network="mtant").fit(data, labels)


def test_a_series_of_one_channel_that_is_always_observed():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 6)), np.arange(20) % 2
    for network in WHOLE:
        model = lt.CfCClassifier(**SMALL, network=network).fit(X, y)
        assert model.predict_proba(X).shape == (20, 2)


def test_a_folder_that_asks_for_more_weights_than_it_holds_is_refused(tmp_path):
    import json

    from estimators.forged import sign

    data, labels, _ = series(24)
    lt.CfCClassifier(**SMALL | {"epochs": 1}, network="mtand").fit(data, labels).save(tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    config["params"]["hidden_size"] = 10**6
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    sign(tmp_path / "model")
    with pytest.raises(lt.estimators.ModelFolderError, match="asks for at least"):
        lt.load(tmp_path / "model")
