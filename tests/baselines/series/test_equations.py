"""The central equation of each model, against numpy written from the papers."""

import math

import numpy as np
import pytest
import torch

from liquidtime.baselines import MTAND, RNNVAE, BidirectionalRNN, IPNet, LatentODE, MTANDFull, SeFT, Transformer
from liquidtime.baselines.recurrent.parts.field import Field
from liquidtime.baselines.series.parts.batch import FAR, Observations, group_softmax
from liquidtime.baselines.series.parts.latent import divergence, log_density
from liquidtime.baselines.series.parts.time_encoding import TimeEncoding
from liquidtime.solvers import Dopri5

F64 = torch.float64


def drawn(model, spread=0.3):
    torch.manual_seed(5)
    model = model.to(F64).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(spread * torch.randn_like(parameter))
    return model


def batch(C=3, B=2, T=7, share=0.6):
    values, dt = torch.randn(B, T, C, dtype=F64), torch.rand(B, T, dtype=F64) + 0.1
    mask = torch.rand(B, T, C) < share
    mask[:, 0] = True
    return values, mask, dt


def softmax(scores, axis):
    parts = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return parts / parts.sum(axis=axis, keepdims=True)


class TestGroupSoftmax:
    def test_is_the_softmax_of_each_group(self):
        scores, group = torch.randn(9, 2, dtype=F64) * 5, torch.tensor([0, 2, 0, 2, 3, 0, 3, 2, 0])
        weights, log_total = group_softmax(scores, group, 5)
        for g in (0, 2, 3):
            torch.testing.assert_close(weights[group == g], scores[group == g].softmax(0))
            torch.testing.assert_close(log_total[g], scores[group == g].logsumexp(0))
        assert (log_total[[1, 4]] == -math.inf).all()

    def test_scores_far_below_keep_finite_gradients(self):
        scores = torch.tensor([[0.0], [-10 * FAR]], dtype=F64, requires_grad=True)
        weights, log_total = group_softmax(scores, torch.tensor([0, 0]), 2)
        (weights[0].sum() + log_total[0].sum()).backward()
        assert torch.isfinite(scores.grad).all()
        torch.testing.assert_close(weights[:, 0], torch.tensor([1.0, 0.0], dtype=F64))


class TestIPNet:
    def test_interpolants(self):
        model = drawn(IPNet(6, 4, horizon=48.0))
        values, mask, dt = batch()
        at = torch.rand(2, 5, dtype=F64) * 5
        series = model.batch(torch.cat([values, mask.to(F64)], -1), dt)
        found = [part.detach().numpy() for part in model.interpolants(series, at)]
        alpha = np.log1p(np.exp(model.decay.detach().numpy()))
        rho, times = model.cross.detach().numpy(), dt.cumsum(1).numpy()
        for b in range(2):
            for k, r in enumerate(at[b].numpy()):
                intensity, own, rough = np.zeros(3), np.zeros(3), np.zeros(3)
                for d in range(3):
                    t, x = times[b][mask[b, :, d].numpy()], values[b, :, d][mask[b, :, d]].numpy()
                    w, narrow = np.exp(-alpha[d] * (r - t) ** 2), np.exp(-10 * alpha[d] * (r - t) ** 2)
                    intensity[d], own[d], rough[d] = w.sum(), w @ x / w.sum(), narrow @ x / narrow.sum()
                smooth = rho @ (intensity * own) / intensity.sum()
                for part, wanted in zip(found, (smooth, intensity, rough - smooth), strict=True):
                    np.testing.assert_allclose(part[b, k], wanted, rtol=1e-8, atol=1e-10)

    def test_a_constant_channel_is_its_constant_everywhere_without_a_transient(self):
        model = IPNet(2, 4).double()
        times = torch.linspace(-3.0, 9.0, 20, dtype=F64).expand(1, -1)
        series = model.batch(torch.cat([torch.full((1, 6, 1), 2.5), torch.ones(1, 6, 1)], -1).double(), 0.7)
        smooth, _, rough = model.interpolants(series, times)
        torch.testing.assert_close(smooth, torch.full_like(smooth, 2.5))
        assert rough.abs().max() < 1e-12

    def test_a_spike_is_transient_and_a_slow_wave_is_smooth(self):
        model = IPNet(2, 4, horizon=48.0).double()
        dt = torch.full((1, 97), 0.5, dtype=F64)
        times = dt.cumsum(1)
        wave, spike = torch.sin(times / 8), torch.zeros_like(times)
        spike[0, 48] = 1.0
        share = {}
        for name, values in (("wave", wave), ("spike", spike)):
            x = torch.stack([values, torch.ones_like(values)], -1)
            smooth, _, rough = model.interpolants(model.batch(x, dt), times[:, 4:-4])
            share[name] = float((rough.square().sum() / smooth.square().sum()).detach())
        assert share["wave"] < 0.01
        assert share["spike"] > 0.3

    def test_its_own_loss_asks_for_what_it_does_not_see(self):
        """Noise that is seen is met to the digit by so narrow a kernel; noise that is not cannot be."""
        model = IPNet(2, 4, horizon=48.0, held_out=0.3).double().train()
        with torch.no_grad():
            model.decay.fill_(40.0)
        noise = torch.randn(8, 48, 1, dtype=F64)
        x = torch.cat([noise, torch.ones_like(noise)], -1)
        seen = model.smooth(model.batch(x, 1.0), torch.arange(1.0, 49.0, dtype=F64).expand(8, -1))
        assert float((seen - noise).square().mean().detach()) < 1e-6
        _, _, loss = model.objective(x, 1.0, None, with_loss=True)
        assert float(loss.detach()) > 0.5


class TestSeFT:
    def test_attention_of_a_set(self):
        model = drawn(SeFT(6, 4, heads=2, key_size=3, time_size=4))
        found = Observations(
            torch.tensor([0, 1, 0, 1, 1]),
            torch.tensor([0, 1, 2, 2, 0]),
            torch.rand(5, dtype=F64),
            torch.randn(5, dtype=F64),
        )
        y = model.of_set(found, 2).detach().numpy()
        W, Q = model.keys.weight.detach().numpy().reshape(2, 3, -1), model.queries.detach().numpy()
        for b in range(2):
            rows = (found.series == b).numpy()
            waves = model.encoding(found.time).numpy()[rows]
            s = np.concatenate([waves, found.value.numpy()[rows, None], np.eye(3)[found.channel.numpy()[rows]]], axis=1)
            given = torch.from_numpy(s)
            context = model.context(model.context_elements(given).mean(0)).detach().numpy()
            keys = np.einsum("hds,ns->nhd", W, np.concatenate([np.tile(context, (len(s), 1)), s], axis=1))
            weights = softmax((keys * Q).sum(-1) / math.sqrt(3), axis=0)
            heads = weights.T @ model.elements(given).detach().numpy()
            wanted = model.read(torch.from_numpy(heads.reshape(-1))).detach().numpy()
            np.testing.assert_allclose(y[b], wanted, rtol=1e-9, atol=1e-12)

    def test_the_order_of_the_observations_means_nothing(self):
        model = drawn(SeFT(6, 4))
        values, mask, dt = batch()
        found = model.batch(torch.cat([values, mask.to(F64)], -1), dt).observations()
        order = torch.randperm(len(found.value))
        torch.testing.assert_close(
            model.of_set(Observations(*(part[order] for part in found)), 2), model.of_set(found, 2)
        )
        one_by_one = torch.eye(3, dtype=F64).expand(2, 3, 3)  # channels of one moment as three samples, 0 apart
        x = torch.cat([values[:, :1] * one_by_one, one_by_one], -1)
        whole = torch.cat([values[:, :1], torch.ones(2, 1, 3, dtype=F64)], -1)
        none = torch.zeros(2, 3, dtype=F64)
        torch.testing.assert_close(model(x, dt=none)[1], model(whole, dt=none[:, :1])[1])
        torch.testing.assert_close(model(x.flip(1), dt=none)[1], model(whole, dt=none[:, :1])[1])


class TestMTAND:
    def test_attention_and_its_weights_add_up_to_one(self):
        model = drawn(MTAND(6, 4, heads=2, embedding_size=6, horizon=4.0))
        values, mask, dt = batch()
        at = torch.rand(2, 5, dtype=F64) * 4
        series = model.batch(torch.cat([values, mask.to(F64)], -1), dt)
        found = model.interpolants(series, at).detach().numpy()
        part, times = model.attention, dt.cumsum(1) / 4.0
        query = part.query(part.embed(at / 4.0)).reshape(2, 5, 2, 3).detach().numpy()
        key = part.key(part.embed(times)).reshape(2, 7, 2, 3).detach().numpy()
        for b, h, d in np.ndindex(2, 2, 3):
            seen = mask[b, :, d].numpy()
            weights = softmax(query[b, :, h] @ key[b, seen, h].T / math.sqrt(3), axis=1)
            np.testing.assert_allclose(found[b, h, :, d], weights @ values[b, :, d].numpy()[seen], rtol=1e-9)
        ones = model.interpolate(torch.cat([torch.ones_like(values), mask.to(F64)], -1), dt, None, at)
        torch.testing.assert_close(ones, torch.ones_like(ones))

    def test_embedding_of_time(self):
        part = drawn(MTAND(2, 4, embedding_size=5)).attention
        w, a, t = part.rates.detach().numpy(), part.phases.detach().numpy(), 0.7
        wanted = np.concatenate([[w[0] * t + a[0]], np.sin(w[1:] * t + a[1:])])
        np.testing.assert_allclose(part.embed(torch.tensor(t, dtype=F64)).detach().numpy(), wanted)

    def test_interpolates_at_the_times_asked_for_once_it_has_learned_to(self):
        torch.manual_seed(0)
        model = MTAND(1, 4, mask=False, embedding_size=16, horizon=1.0)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(150):
            phase, dt = torch.rand(32, 1) * 6, torch.full((32, 20), 0.05)
            times, at = dt.cumsum(1), torch.rand(32, 10) * 0.9 + 0.05
            found = model.interpolate(torch.sin(6 * times + phase).unsqueeze(-1), dt, None, at)[..., 0]
            loss = (found - torch.sin(6 * at + phase)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        assert loss < 0.1  # the mean leaves 0.5

    def test_full_decodes_by_attention_to_the_reference_times(self):
        model = drawn(MTANDFull(2, 4, latent_size=2, decoder_size=3, embedding_size=6, heads=2, reference_points=5))
        z, span = torch.randn(1, 5, 2, dtype=F64), torch.full((1, 1), 4.0, dtype=F64)
        times = torch.rand(1, 6, dtype=F64) * 4
        part, at = model.back, torch.linspace(0, 1, 5, dtype=F64)
        query = part.query(part.embed(times[0] / 4.0)).reshape(6, 2, 3).detach().numpy()
        key = part.key(part.embed(at)).reshape(5, 2, 3).detach().numpy()
        states = model.decoder(z)[0][0].detach().numpy()
        heads = [softmax(query[:, h] @ key[:, h].T / math.sqrt(3), axis=1) @ states for h in range(2)]
        wanted = model.emit(torch.from_numpy(np.concatenate(heads, axis=1))).detach().numpy()
        np.testing.assert_allclose(model.decode(z, times, span)[0].detach().numpy(), wanted, rtol=1e-9)


class TestLatent:
    def test_divergence(self):
        mean, deviation = np.array([0.3, -1.0]), np.array([0.5, 2.0])
        grid = np.linspace(-14, 14, 40001)
        total = 0.0
        for m, s in zip(mean, deviation, strict=True):
            log_q = -0.5 * ((grid - m) / s) ** 2 - np.log(s)
            total += np.trapezoid(np.exp(log_q) / math.sqrt(2 * math.pi) * (log_q + 0.5 * grid**2), grid)
        assert float(divergence(torch.tensor(mean), torch.tensor(deviation))) == pytest.approx(total, rel=1e-6)
        assert float(divergence(torch.zeros(4), torch.ones(4))) == 0.0

    def test_no_divergence_where_the_posterior_is_the_prior(self):
        model = RNNVAE(2, 4, latent_size=2, loss_weight=1.0, observation_std=1.0).double()
        with torch.no_grad():
            model.posterior_map.weight.zero_()
            model.posterior_map.bias.copy_(torch.tensor([0.0, 0.0, *[math.log(math.expm1(1 - 1e-4))] * 2]))
        x = torch.cat([torch.randn(3, 5, 1), torch.ones(3, 5, 1)], -1).double()
        mean, deviation = model.posterior(model.batch(x))
        torch.testing.assert_close(divergence(mean, deviation), torch.zeros(3, dtype=F64), atol=1e-12, rtol=0)
        model.eval()
        values = model.interpolate(x, None, None, torch.arange(1.0, 6.0).expand(3, -1))
        likelihood = log_density(x[..., :1], values, 1.0).sum(dim=(1, 2)) / 5
        torch.testing.assert_close(model.objective(x)[2], -likelihood.mean())
        torch.testing.assert_close(model.objective(x)[1], mean)

    def test_the_decoder_of_an_rnn_vae_knows_the_gaps_only_in_order(self):
        model = drawn(RNNVAE(2, 4, latent_size=2))
        z, times = torch.randn(2, 2, dtype=F64), torch.rand(2, 6, dtype=F64)
        order = torch.randperm(6)
        span = torch.ones(2, 1, dtype=F64)
        torch.testing.assert_close(model.decode(z, times, span)[:, order], model.decode(z, times[:, order], span))

    @pytest.mark.slow
    @pytest.mark.parametrize("encoder", ["rnn", "ode_rnn"])
    def test_latent_ode_learns_to_interpolate_sines(self, encoder):
        torch.manual_seed(0)
        model = LatentODE(
            2, 16, encoder=encoder, latent_size=4, solver="rk4", observation_std=0.1, loss_weight=1.0
        )  # fmt: skip
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

        def draw(B):
            phase, dt = torch.rand(B, 1) * 6, torch.rand(B, 8) * 0.7
            values = torch.sin(dt.cumsum(1) + phase)
            mask = (torch.rand(B, 8) < 0.7).float()
            return torch.stack([values * mask, mask], -1), dt, values, mask

        for _ in range(150):
            x, dt, _, _ = draw(32)
            optimizer.zero_grad()
            model.objective(x, dt)[2].backward()
            optimizer.step()
        model.eval()
        x, dt, values, mask = draw(200)
        found = model.interpolate(x, dt, None, dt.cumsum(1))[..., 0]
        hidden = mask == 0
        mean = (x[..., 0].sum(1) / mask.sum(1).clamp(min=1)).unsqueeze(1).expand_as(values)
        error, error_of_mean = ((guess - values)[hidden].square().mean() for guess in (found, mean))
        assert error < 0.5 * error_of_mean


class TestField:
    def test_solves_each_series_over_its_own_interval(self):
        flow = drawn(Field(3, 5, "rk4", 40, layers=2))
        z, dt = torch.randn(4, 3, dtype=F64), torch.tensor([0.0, 0.4, 1.0, 2.0], dtype=F64)
        together = flow(z, dt)
        assert torch.equal(together[0], z[0])
        for i in range(4):
            slow, h = z[i].detach().numpy(), float(dt[i]) / 400
            for _ in range(400):
                half = slow + h / 2 * field(flow, slow)
                slow = slow + h * field(flow, half)
            np.testing.assert_allclose(together[i].detach().numpy(), slow, atol=1e-5)

    def test_semigroup_and_back(self):
        flow = drawn(Field(3, 5, "rk4", 60))
        z, a, b = torch.randn(4, 3, dtype=F64), torch.rand(4, dtype=F64), torch.rand(4, dtype=F64)
        torch.testing.assert_close(flow(flow(z, a), b), flow(z, a + b), rtol=1e-7, atol=1e-7)
        torch.testing.assert_close(flow(flow(z, a), -a), z, rtol=1e-7, atol=1e-7)
        times = torch.stack([a + b, a], 1)
        torch.testing.assert_close(flow.along(z, times)[:, 1], flow(z, a), rtol=1e-7, atol=1e-7)

    @pytest.mark.parametrize("adjoint", [False, True])
    def test_adaptive_solvers_agree_with_many_fixed_steps_gradients_included(self, adjoint):
        pytest.importorskip("torchdiffeq")
        fixed = drawn(Field(3, 5, "rk4", 40, layers=2))
        adaptive = Field(3, 5, Dopri5(1e-8, 1e-8, adjoint=adjoint), 1, layers=2).double()
        adaptive.load_state_dict(fixed.state_dict())
        z, dt = torch.randn(4, 3, dtype=F64), torch.rand(4, dtype=F64) * 2
        grads = []
        for flow in (fixed, adaptive):
            start = z.clone().requires_grad_()
            flow(start, dt).square().sum().backward()
            grads.append([start.grad, *(p.grad for p in flow.parameters())])
        for one, other in zip(*grads, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)

    def test_refusals(self, monkeypatch):
        with pytest.raises(ValueError, match=r"`solver` must be one of 'euler', .*; got 'rk5'"):
            LatentODE(4, 3, solver="rk5")
        monkeypatch.setitem(__import__("sys").modules, "torchdiffeq", None)
        with pytest.raises(ImportError, match=r'needs the package torchdiffeq.*pip install torchdiffeq`, or use "rk4"'):
            Field(3, 5, "dopri5", 1)(torch.zeros(1, 3), torch.ones(1))


def field(flow, z):
    return flow.slope(torch.from_numpy(z)).detach().numpy()


class TestTransformer:
    def test_one_layer(self):
        model = drawn(Transformer(2, 4, num_layers=1, heads=2, dropout=0.0))
        x, dt = torch.randn(1, 5, 2, dtype=F64), torch.rand(1, 5, dtype=F64)
        block = model.blocks[0]

        def norm(z, part):
            centred = (z - z.mean(-1, keepdims=True)) / np.sqrt(z.var(-1, keepdims=True) + 1e-5)
            return centred * part.weight.detach().numpy() + part.bias.detach().numpy()

        def linear(z, part):
            return z @ part.weight.detach().numpy().T + part.bias.detach().numpy()

        waves = model.encoding(dt.cumsum(1))[0].numpy()
        z = linear(x[0].numpy(), model.embed) + waves
        q, k, v = np.split(linear(z, block.project), 3, axis=1)
        seen = np.zeros((5, 4))
        for h in range(2):
            part = slice(2 * h, 2 * h + 2)
            scores = q[:, part] @ k[:, part].T / math.sqrt(2)
            scores[np.triu_indices(5, 1)] = -np.inf
            seen[:, part] = softmax(scores, 1) @ v[:, part]
        z = norm(z + linear(seen, block.join), block.first)
        z = norm(z + linear(np.maximum(linear(z, block.inner), 0), block.outer), block.second)
        np.testing.assert_allclose(model(x, dt=dt)[0][0].detach().numpy(), z, rtol=1e-9)

    def test_weights(self):
        H, D, layers = 16, 3, 2
        count = sum(p.numel() for p in Transformer(D, H, num_layers=layers).parameters())
        assert count == (D + 1) * H + layers * (12 * H * H + 13 * H)

    def test_refusals(self):
        with pytest.raises(ValueError, match="`hidden_size` must be a multiple of `heads`; got 6 and 4"):
            Transformer(2, 6, heads=4)
        with pytest.raises(ValueError, match="`hidden_size` must be even"):
            Transformer(2, 5)


def test_encoding_of_time():
    encoding = TimeEncoding(6, 0.01, 100.0)
    t = 1.7
    angles = t / np.array([0.01, 1.0, 100.0])
    wanted = np.concatenate([np.sin(angles), np.cos(angles)])
    np.testing.assert_allclose(encoding(torch.tensor(t, dtype=F64)).numpy(), wanted, rtol=1e-5)
    with pytest.raises(ValueError, match="`time_size` must be even"):
        TimeEncoding(5, 0.01, 100.0)
    with pytest.raises(ValueError, match="`shortest` must be greater than 0 and at most `longest`; got 2 and 1"):
        TimeEncoding(4, 2, 1)


class TestBidirectional:
    def test_a_series_turned_round_in_time_swaps_the_directions(self):
        model = drawn(BidirectionalRNN(2, 4, per_step=True))
        twin = BidirectionalRNN(2, 4, per_step=True).double()
        twin.forwards.load_state_dict(model.backwards.state_dict())
        twin.backwards.load_state_dict(model.forwards.state_dict())
        x, times = torch.randn(1, 6, 2, dtype=F64), torch.rand(1, 6, dtype=F64).sort().values
        dt = torch.diff(times, prepend=times[:, :1])
        back = torch.diff(-times.flip(1), prepend=-times[:, -1:])
        y, turned = model(x, dt=dt)[0], twin(x.flip(1), dt=back)[0]
        torch.testing.assert_close(y, torch.cat([turned[..., 4:], turned[..., :4]], -1).flip(1))

    def test_the_summary_is_the_end_of_both_directions(self):
        model = drawn(BidirectionalRNN(2, 4, per_step=True))
        x, dt, lengths = torch.randn(2, 6, 2, dtype=F64), torch.rand(2, 6, dtype=F64), [6, 3]
        y, _ = model(x, dt=dt, lengths=lengths)
        model.per_step = False
        _, final = model(x, dt=dt, lengths=lengths)
        for row, length in enumerate(lengths):
            torch.testing.assert_close(final[row], torch.cat([y[row, length - 1, :4], y[row, 0, 4:]]))


def test_refusals():
    with pytest.raises(ValueError, match=r"`input_size` must be even, because x is \[values ; mask\]; got 3"):
        IPNet(3, 4)
    with pytest.raises(ValueError, match="`horizon` must be finite and greater than 0; got 0"):
        MTAND(2, 4, horizon=0)
    with pytest.raises(ValueError, match="`encoder` must be one of 'rnn', 'ode_rnn'; got 'ode'"):
        LatentODE(2, 4, encoder="ode")
    x = torch.zeros(2, 3, 2)
    for model in (IPNet(2, 4), MTAND(2, 4), RNNVAE(2, 4)):
        with pytest.raises(ValueError, match=r"`times` must have shape \(B, Q\) = \(2, Q\); got \(3,\)"):
            model.interpolate(x, None, None, torch.zeros(3))
    with pytest.raises(ValueError, match="`times` must be at least 0"):
        RNNVAE(2, 4).interpolate(x, None, None, torch.full((2, 1), -1.0))
