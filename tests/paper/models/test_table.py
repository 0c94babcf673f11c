"""Whole networks have the weights that the paper's settings give, and see time as the protocol says."""

import pytest
import torch
from torch import nn

from liquidtime.layers import CfC
from liquidtime.paper.datasets import Sequences, Split
from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.fitting import Trial
from liquidtime.paper.models.network import Discrete, SequenceNetwork

COUNTS = {
    "xor": {"cf_s": 8_577, "cfc": 124_097, "no_gate": 123_905, "mm_rnn": 66_497},
    "physionet": {"cf_s": 22_146, "cfc": 92_930, "no_gate": 114_818, "mm_rnn": 67_970},
    "imdb": {"cf_s": 1_329_290, "cfc": 3_920_650, "no_gate": 4_011_210, "mm_rnn": 690_378},
    "walker2d": {"cf_s": 106_897, "cfc": 87_889, "no_gate": 171_537, "mm_rnn": 192_401},
}
WIDTHS = {"xor": 1, "physionet": 82, "walker2d": 17}


def sequences(x, dt, lengths=None):
    B, T = dt.shape
    lengths = torch.full((B,), T) if lengths is None else torch.tensor(lengths)
    return Sequences(x, dt, lengths, torch.zeros(B, dtype=torch.int64), torch.arange(B))


def built(name, row, dt=1.0, honest=True):
    experiment = EXPERIMENTS[name]
    x = torch.zeros(2, 3, dtype=torch.int64) if name == "imdb" else torch.zeros(2, 3, WIDTHS[name])
    part = sequences(x, torch.full((2, 3), dt))
    run = Trial(task=experiment.task, split=Split(part, None, part), honest=honest, seed=0, folder=None)
    return experiment.rows[row].model.network(run, experiment.rows[row].settings)


@pytest.mark.parametrize(("name", "row"), [(name, row) for name in COUNTS for row in COUNTS[name]])
def test_weights(name, row):
    assert sum(p.numel() for p in built(name, row).parameters()) == COUNTS[name][row]


def test_same_seed_same_weights_and_the_callers_random_state_stays():
    before = torch.get_rng_state()
    first, second = built("xor", "cfc").state_dict(), built("xor", "cfc").state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("per_step", [False, True])
@pytest.mark.parametrize("kind", ["cfc", "lstm"])
def test_padding_changes_nothing_and_the_last_sample_is_read(kind, per_step):
    recurrent = CfC(2, 4) if kind == "cfc" else Discrete(nn.LSTM, 2, 4, has_time=True)
    network = SequenceNetwork(recurrent, 3, per_step=per_step)
    x, dt = torch.randn(2, 5, 2), torch.rand(2, 5)
    whole = network(sequences(x, dt, [5, 3]))
    alone = network(sequences(x[1:, :3], dt[1:, :3]))
    got = whole[1:, :3] if per_step else whole[1:]
    torch.testing.assert_close(got, alone)
    x[1, 3:] = 7.0
    torch.testing.assert_close(network(sequences(x, dt, [5, 3]))[1:][:, :3] if per_step else whole[1:], got)


def test_a_network_without_time_gets_it_as_an_input():
    dt = torch.rand(2, 5)
    x = torch.randn(2, 5, 2)
    for has_time in (True, False):
        network = SequenceNetwork(Discrete(nn.GRU, 2, 4, has_time), 1)
        same = torch.equal(network(sequences(x, dt)), network(sequences(x, 2 * dt)))
        assert same is not has_time


def test_negative_intervals_pass_only_where_the_data_has_them():
    negative = sequences(torch.randn(2, 3, 82), torch.full((2, 3), -1.0))
    with pytest.raises(ValueError, match="`dt` must be finite and at least 0"):
        built("physionet", "cfc")(negative)
    allowed = built("physionet", "cfc", dt=-1.0)
    plain = built("physionet", "cfc")
    positive = sequences(negative.x, -negative.dt)
    assert not torch.allclose(allowed(negative), allowed(positive))
    allowed.eval()
    plain.eval()
    torch.testing.assert_close(allowed(positive), plain(positive))


def test_published_text_has_no_time_in_the_mixed_memory():
    words = sequences(torch.randint(0, 20, (2, 3)), torch.ones(2, 3))
    zero = sequences(words.x, torch.zeros(2, 3))
    for row, changes in (("mm_rnn", True), ("cfc", False)):
        honest, published = built("imdb", row).eval(), built("imdb", row, honest=False).eval()
        torch.testing.assert_close(published(words), honest(zero if changes else words))


def test_one_logit_is_the_binary_cross_entropy():
    task = EXPERIMENTS["xor"].task
    z, y = torch.randn(6, 1), torch.tensor([0, 1, 1, 0, 1, 0])
    batch = Sequences(torch.zeros(6, 1, 1), torch.zeros(6, 1), torch.ones(6, dtype=torch.int64), y, torch.arange(6))
    loss = task.loss(z, batch, None)
    expected = nn.functional.binary_cross_entropy_with_logits(z[:, 0], y.float())
    torch.testing.assert_close(loss.total / loss.weight, expected)
    torch.testing.assert_close(task.prediction(z)[:, 1], z[:, 0].sigmoid())


@pytest.mark.parametrize("row", ["gru_d", "rnn_impute"])
def test_missing_values_decay_to_the_training_mean_of_those_observed(row):
    x = torch.zeros(3, 4, 82)
    x[..., :41] = torch.randn(3, 4, 41)
    x[..., 41:] = (torch.rand(3, 4, 41) < 0.5).float()
    x[0, 0, 41] = 1.0
    x[..., 42] = 0.0  # never observed
    experiment = EXPERIMENTS["physionet"]
    part = sequences(x, torch.rand(3, 4), [4, 2, 3])
    run = Trial(task=experiment.task, split=Split(part, None, part), honest=True, seed=0, folder=None)
    network = experiment.rows[row].model.network(run, experiment.rows[row].settings)
    seen = [x[b, k, 0] for b, length in enumerate((4, 2, 3)) for k in range(length) if x[b, k, 41] == 1.0]
    mean = network.recurrent.cells[0].imputed.mean
    torch.testing.assert_close(mean[0], torch.stack(seen).mean())
    assert mean[1] == 0.0
    assert torch.equal(network.recurrent.cells[0].imputed.masks, torch.arange(41, 82))


RECURRENT = {
    "xor": 14,  # all of the paper's lines but the CfC family's, each beside its own
    "walker2d": 14,
    "physionet": 7,
}


@pytest.mark.parametrize("name", RECURRENT)
def test_ours_stand_beside_the_papers_lines(name):
    experiment = EXPERIMENTS[name]
    family = {"cf_s", "cfc", "no_gate", "mm_rnn"}
    beside = {
        line.model
        for line in experiment.published
        for row, ours in experiment.rows.items()
        if line.model in ours.model.paper and row not in family and "CfC" not in line.model and line.model != "Cf-S"
    }
    assert len(beside) >= RECURRENT[name]


def test_a_regular_sample_is_one_step_of_the_source():
    """A bit of XOR is 1/32 in the data and 1 after the network's own factor."""
    for name, in_data in (("xor", 1 / 32), ("walker2d", 1.0)):
        interval = in_data * built(name, "cornn").time_scale
        assert built(name, "cornn").recurrent.cells[0].step == pytest.approx(0.042 / interval)
        assert built(name, "lipschitz_rnn").recurrent.cells[0].step == pytest.approx(0.03 / interval)
        assert built(name, "ct_gru").recurrent.cells[0].shortest == pytest.approx(interval)
        periods = built(name, "phased_lstm").recurrent.cells[0].log_period.exp()
        assert interval <= periods.min()
        assert 20 * interval < periods.max() <= 1000.1 * interval
