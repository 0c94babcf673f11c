"""Gated units and models of whole series beside public code: GRU-D, Phased and Skip LSTM, RNN-Decay, IP-Net, mTAND."""

import pytest
import torch

from liquidtime.baselines import recurrent, series
from liquidtime.cells import GRUCell
from liquidtime.solvers import Flow
from vectors import blocks, close, load, put, put_linear, run


def unit(cell, numbers):
    """Put a GRU of torch into ours, which has one bias for r and z and two for n."""
    bias, second = numbers["b"], numbers["b_R"]
    put_linear(cell.input_map, numbers["W"], torch.cat([bias[:8] + second[:8], bias[8:]]))
    put_linear(cell.recurrent_map, numbers["R"])
    put(cell.recurrent_bias, second[8:])


@pytest.mark.parametrize("peepholes", [False, True])
def test_phased_lstm(peepholes):
    numbers = load("phased_lstm_peepholes--sett" if peepholes else "phased_lstm--sett")
    settings = {"open_ratio": float(numbers["ratio"][0]), "leak": float(numbers["leak"])}
    cell = recurrent.PhasedLSTMCell(3, 4, full_peepholes=peepholes, **settings).double()
    gates = [*numbers["gates_W"].chunk(2, dim=1), numbers["out_W"]]
    if peepholes:
        put(cell.peephole, torch.stack([gate[7:].mT for gate in gates]))
    W = torch.cat([numbers["candidate_W"], *(gate[:7] for gate in gates)], dim=1).mT
    put_linear(cell.input_map, W[:, :3], torch.cat([numbers["candidate_b"], numbers["gates_b"], numbers["out_b"]]))
    put_linear(cell.recurrent_map, W[:, 3:])
    put(cell.log_period, numbers["period"].log())
    put(cell.shift, numbers["shift"])
    y, states = run(cell.train(), numbers)  # the source leaks outside training too
    close(y, numbers["y"], single=True)
    close(states[1], numbers["memory"], single=True)


def test_gru_d_with_masks():
    """The source feeds 1 - m; its z is the share of the old state, and the old state is not decayed in the mix."""
    numbers = load("gru_d--sett")
    cell = recurrent.GRUDCell(6, 4, masks=[3, 4, 5], mix="undecayed").double()
    sign = torch.cat([-torch.ones(4), torch.ones(8)]).double().unsqueeze(1)  # z turned
    from_x, from_missing, from_h = (sign * numbers[key].mT for key in ("W", "M", "R"))
    bias = sign.flatten() * numbers["b"] + from_missing.sum(dim=1)
    put_linear(cell.input_map, torch.cat([from_x, -from_missing], dim=1), bias)
    put_linear(cell.gate_map, from_h[:8])
    put_linear(cell.candidate_map, from_h[8:])
    put_linear(cell.state_decay, numbers["state_decay_W"].mT, numbers["state_decay_b"])
    put(cell.imputed.decay.weight, numbers["input_decay_w"])
    put(cell.imputed.decay.bias, numbers["input_decay_b"])
    mask = numbers["mask"]
    y, _ = run(cell, numbers | {"x": torch.cat([numbers["x"] * mask, mask], dim=-1)})
    close(y, numbers["y"], single=True)


def test_skip_lstm():
    numbers = load("skip_lstm--skiprnn")
    cell = recurrent.SkipLSTMCell(3, 4, forget_bias=float(numbers["forget_bias"])).double()
    order = (1, 0, 2, 3)
    put_linear(cell.lstm.input_map, blocks(numbers["W"][:3].mT, order), blocks(numbers["b"], order))
    put_linear(cell.lstm.recurrent_map, blocks(numbers["W"][3:].mT, order))
    put_linear(cell.wish, numbers["wish_w"].mT, numbers["wish_b"])
    y, (_, m, _) = run(cell, numbers)
    close(y, numbers["y"], single=True)
    close(m, numbers["memory"], single=True)
    x = numbers["x"]
    taken = cell.updates(x, cell.initial_state(x), torch.ones(x.shape[:2]).double())
    assert torch.equal(taken.detach(), numbers["update"].double())


def test_rnn_decay_with_one_gap():
    numbers = load("rnn_decay_cell--latent_ode")
    cell = recurrent.DecayGRUCell(3, 4).double()
    unit(cell, numbers)
    put(cell.decay.weight, numbers["decay_w"].flatten().expand(4))
    put(cell.decay.bias, numbers["decay_b"].expand(4))
    y, _ = run(cell, numbers)
    close(y, numbers["h"], single=False)


def skipping(gru, inputs, factors, observed):
    """Return the states of a GRU whose state is first multiplied by a factor; an empty sample leaves it as it is."""
    h, states = torch.zeros(3, 4).double(), []
    with torch.no_grad():
        for k in range(inputs.shape[1]):
            after, _ = gru(inputs[:, k], (h * factors[:, k],), torch.ones(3).double())
            here = observed[:, k].any(dim=-1, keepdim=True) | torch.tensor(k == 0)
            h = torch.where(here, after, h)
            states.append(h)
    return torch.stack(states, dim=1)


def test_rnn_decay_with_masks_is_our_unit_with_one_factor_for_all_units():
    numbers = load("rnn_decay--latent_ode")
    gru = GRUCell(6, 4).double()
    unit(gru, numbers)
    factors = torch.exp(-torch.relu(numbers["gaps"] @ numbers["decay_w"].mT + numbers["decay_b"]))  # (B, T, 1)
    inputs = torch.cat([numbers["x"], numbers["mask"]], dim=-1)
    close(skipping(gru, inputs, factors, numbers["mask"] > 0), numbers["h"], single=False)


def test_rnn_impute_is_our_unit_on_the_sources_own_filling():
    """It decays to the mean of the series, later samples included; ours to the mean of the training part."""
    numbers = load("rnn_impute--latent_ode")
    x, mask = numbers["x"], numbers["mask"]
    last, mean, filled = torch.zeros(3, 3).double(), x.mean(dim=1), []
    for k in range(x.shape[1]):
        g = torch.exp(-torch.relu(numbers["decay_w"] * numbers["gaps"][:, k] + numbers["decay_b"]))
        filled.append(mask[:, k] * x[:, k] + (1 - mask[:, k]) * (g * last + (1 - g) * mean))
        last = mask[:, k] * x[:, k] + (1 - mask[:, k]) * last
    close(torch.stack(filled, dim=1), numbers["filled"], single=False)
    gru = GRUCell(7, 4).double()
    unit(gru, numbers)
    inputs = torch.cat([numbers["filled"], mask, numbers["dt"].unsqueeze(-1)], dim=-1)
    close(skipping(gru, inputs, torch.ones(3, 7, 1).double(), mask > 0), numbers["h"], single=False)


def test_the_flow_of_ode_rnn():
    """Its update has gates with a hidden layer over mean, deviation, values and mask; ours is a GRU."""
    numbers = load("ode_rnn--latent_ode")
    cell = recurrent.ODERNNCell(3, 4, field_units=5, solver="euler").double()
    layers = [torch.nn.Linear(*shape).double() for shape in ((4, 5), (5, 5), (5, 4))]
    for k, layer in enumerate(layers, start=1):
        put_linear(layer, numbers[f"field{k}_W"], numbers[f"field{k}_b"])
    slope = torch.nn.Sequential(layers[0], torch.nn.Tanh(), layers[1], torch.nn.Tanh(), layers[2])
    times = torch.cat([numbers["t"], numbers["t"][-1:] + 0.01]).flip(0)
    mean = torch.zeros(3, 4).double()
    with torch.no_grad():
        for k, steps in enumerate(numbers["euler_steps"].tolist()):
            flow = Flow(lambda at: slope(at), slope.parameters)
            gap = (times[k + 1] - times[k]).expand(3, 1)
            close(cell.field.solver.integrate(flow, mean, gap, int(steps)), numbers["before"][:, k], single=False)
            mean = numbers["mean"][:, k]


def test_ip_net():
    numbers = load("ip_net--interp-net")
    t, horizon = numbers["t"], float(numbers["horizon"])
    net = series.IPNet(6, 4, reference_points=5, horizon=horizon, centred=True).double()
    put(net.decay, numbers["decay_raw"])
    put(net.cross, numbers["cross"].mT)
    dt = torch.diff(t, dim=1, prepend=torch.zeros_like(t[:, :1]))
    x = torch.cat([numbers["x"], numbers["mask"]], dim=-1)
    with torch.no_grad():
        batch = net.batch(x, dt, None)
        at = numbers["reference"].expand(3, -1)
        chi, intensity, transient = net.interpolants(batch, at)
        again = net.smooth(batch, t)
    for ours, name in ((chi, "chi"), (intensity, "intensity"), (transient, "transient"), (again, "reconstruction")):
        torch.testing.assert_close(ours, numbers[name], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["", "_fixed"])
def test_mtand_encoder(kind):
    numbers = load(f"mtand_enc{kind}--mtan")
    net = series.MTAND(6, 4, reference_points=5, embedding_size=6, heads=2, horizon=1.0).double()
    put_linear(net.attention.query, numbers["query_W"], numbers["query_b"])
    put_linear(net.attention.key, numbers["key_W"], numbers["key_b"])
    first, first_mask, second, second_mask = numbers["mix_W"].chunk(4, dim=1)
    put_linear(net.mix, torch.cat([first, second, first_mask + second_mask], dim=1), numbers["mix_b"])
    for name, key in (("weight_ih_l0", "W"), ("weight_hh_l0", "R"), ("bias_ih_l0", "b"), ("bias_hh_l0", "b_R")):
        put(getattr(net.network, name), numbers[f"gru_{key}"])
    if kind:  # the embedding that the source fixes, in place of the learned one
        rates = 48.0 * 10.0 ** (-torch.arange(0, 6, 2).double() / 6)
        net.attention.embed = lambda times: torch.stack(
            [torch.sin(times[..., None] * rates), torch.cos(times[..., None] * rates)], dim=-1
        ).flatten(-2)
    else:
        put(net.attention.rates, numbers["embed_w"])
        put(net.attention.phases, numbers["embed_b"])
    t = numbers["t"]
    dt = torch.diff(t, dim=1, prepend=torch.zeros_like(t[:, :1]))
    with torch.no_grad():
        y, _ = net.summarise(net.batch(torch.cat([numbers["x"], numbers["mask"]], dim=-1), dt, None), with_loss=False)
    close(y, numbers["y"], single=False)
