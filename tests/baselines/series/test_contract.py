"""What must hold for every model that reads whole series; the subjects are found in the table of networks."""

import copy

import pytest
import torch

from liquidtime.networks import NETWORKS

C, H, F64 = 3, 6, torch.float64
WHOLE_SERIES = {name: entry for name, entry in NETWORKS.items() if entry.reads_series}
OWN_LOSS = {"ip_net", "rnn_vae", "latent_ode", "latent_ode_rnn", "mtand_full"}
SMALL = {
    "ip_net": {"reference_points": 5},
    "seft": {"heads": 2, "key_size": 4, "time_size": 4},
    "latent_ode_rnn": {"units": 4},
    "latent_ode": {"units": 4},
    "mtand": {"reference_points": 5, "embedding_size": 4, "heads": 2},
    "mtand_full": {"reference_points": 5, "embedding_size": 4, "heads": 2, "latent_size": 2, "decoder_size": 3},
    "transformer": {"dropout": 0.0},
}
OPTIONS = {
    "ip_net-horizon": ("ip_net", {"horizon": 9.0}),
    "mtand-horizon-head": ("mtand", {"horizon": 9.0, "head_units": 4}),
    "mtand_full-horizon-head": ("mtand_full", {"horizon": 9.0, "head_units": 4}),
    "latent_ode-euler-head": ("latent_ode", {"solver": "euler", "steps": 3, "layers": 2, "head_units": 4}),
    "bidirectional-per_step": ("bidirectional", {"per_step": True}),
}
SUBJECTS = {name: (name, {}) for name in WHOLE_SERIES} | OPTIONS
TAKES_MASK = {name for name, entry in WHOLE_SERIES.items() if entry.masks != "none"}
SUBJECTS |= {f"{name}-unmasked": (name, {"mask": False}) for name in WHOLE_SERIES if name in TAKES_MASK}
over_models = pytest.mark.parametrize("subject", SUBJECTS)


def make(subject, dtype=F64):
    name, options = SUBJECTS[subject]
    torch.manual_seed(1)
    masked = options.get("mask", name in TAKES_MASK)
    model = WHOLE_SERIES[name].make(2 * C if masked else C, H, **SMALL.get(name, {}), **options).to(dtype).eval()
    with torch.no_grad():  # queries and the like that start at 0 would hide what they do
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def joined(model, values, mask):
    return torch.cat([values, mask], dim=-1) if model.mask else values


def batch(model, B=4, T=6, dtype=F64):
    values = torch.randn(B, T, C, dtype=dtype)
    mask = (torch.rand(B, T, C) < 0.6).to(dtype)
    return joined(model, values, mask), torch.rand(B, T, dtype=dtype) * 2


def close(a, b, tolerance=1e-10):
    torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


@over_models
def test_sizes_and_the_last_output(subject):
    model = make(subject)
    x, dt = batch(model)
    y, final = model(x, dt=dt, lengths=[6, 3, 0, 1])
    assert y.shape == (4, 6, model.output_size)
    assert final.shape == (4, model.output_size)
    for row, length in enumerate([6, 3, 0, 1]):
        close(final[row], y[row, length - 1] if length else torch.zeros(model.output_size, dtype=F64))
    assert final[0].abs().max() > 0


@over_models
def test_a_row_is_what_it_is_alone(subject):
    model = make(subject)
    for B, T in ((4, 6), (H, H)):
        x, dt = batch(model, B, T)
        y, final = model(x, dt=dt)
        for i in range(B):
            y_alone, final_alone = model(x[i : i + 1], dt=dt[i : i + 1])
            close(y[i : i + 1], y_alone)
            close(final[i : i + 1], final_alone)


@over_models
def test_padding_changes_nothing_gradients_included(subject):
    model = make(subject)
    x, dt = batch(model)
    lengths = [6, 3, 0, 1]
    x_bad, dt_bad = x.clone(), dt.clone()
    for i, length in enumerate(lengths):
        x_bad[i, length:] = float("nan")
        dt_bad[i, length:] = float("nan")
    y, final = model(x_bad, dt=dt_bad, lengths=lengths)
    (y.square().sum() + final.sum()).backward()
    padded = {key: value.grad.clone() for key, value in model.named_parameters() if value.grad is not None}
    model.zero_grad()
    total = 0.0
    for i, length in enumerate(lengths):
        y_alone, final_alone = model(x[i : i + 1, :length], dt=dt[i : i + 1, :length])
        close(y[i : i + 1, :length], y_alone)
        close(final[i : i + 1], final_alone)
        assert not y[i, length:].any()
        total = total + y_alone.square().sum() + final_alone.sum()
    total.backward()
    assert padded
    for key, value in model.named_parameters():
        assert (value.grad is None) == (key not in padded)
        if key in padded:
            close(padded[key], value.grad, 1e-9)


@over_models
def test_a_later_sample_changes_no_earlier_output_or_the_model_says_so(subject):
    model = make(subject)
    x, dt = batch(model, T=8)
    y, _ = model(x, dt=dt)
    other, later = x.clone(), dt.clone()
    other[:, 5:] = batch(model, T=3)[0]
    later[:, 5:] += 1.0
    changed, _ = model(other, dt=later)
    same = torch.equal(y[:, :5], changed[:, :5])
    assert same is model.causal is WHOLE_SERIES[SUBJECTS[subject][0]].causal
    assert not torch.allclose(y[:, 5:], changed[:, 5:])


@over_models
def test_time_matters(subject):
    model = make(subject)
    x, dt = batch(model)
    later = dt.clone()
    later[:, 3] += 1.0
    assert torch.equal(model(x, dt=dt)[0], model(x, dt=later)[0]) is not model.uses_dt


@pytest.mark.parametrize("subject", [name for name in SUBJECTS if name in TAKES_MASK])
def test_what_was_not_observed_is_not_read(subject):
    model = make(subject)
    x, dt = batch(model)
    other = x.clone()
    other[..., :C][x[..., C:] == 0] = 7.0
    assert torch.equal(model(x, dt=dt)[0], model(other, dt=dt)[0])
    other[..., :C][x[..., C:] == 1] = 7.0
    assert not torch.allclose(model(x, dt=dt)[0], model(other, dt=dt)[0])


@over_models
def test_gradients(subject):
    model = make(subject)
    values, mask = torch.randn(2, 3, C, dtype=F64), (torch.rand(2, 3, C) < 0.7).to(F64)
    dt = torch.rand(2, 3, dtype=F64) + 0.1
    keys = list(dict(model.named_parameters()))
    weight = torch.randn(2, 3, model.output_size, dtype=F64)

    def loss(values, dt, *given):
        named = dict(zip(keys, given, strict=True))
        x = joined(model, values, mask)
        return (torch.func.functional_call(model, named, (x,), {"dt": dt, "lengths": [3, 2]})[0] * weight).sum()

    inputs = [v.detach().requires_grad_() for v in (values, dt, *model.parameters())]
    assert torch.autograd.gradcheck(loss, inputs, eps=1e-6, atol=1e-5, fast_mode=True)


@over_models
def test_own_loss(subject):
    model = make(subject).train()
    x, dt = batch(model)
    lengths = [6, 3, 0, 1]
    torch.manual_seed(3)
    loss = model.objective(x, dt, lengths)[2]
    assert loss is not None or SUBJECTS[subject][0] not in OWN_LOSS
    if loss is not None:
        assert loss.shape == ()
        loss.backward()
        assert all(value.grad is None or torch.isfinite(value.grad).all() for value in model.parameters())
        assert sum(value.grad is not None and bool(value.grad.any()) for value in model.parameters()) > 1
        bad = x.clone()
        for row, length in enumerate(lengths):
            bad[row, length:] = float("nan")
        torch.manual_seed(3)
        close(model.objective(bad, dt, lengths)[2], loss)
    assert model.objective(x, dt, lengths, with_loss=False)[2] is None


@over_models
@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_keeps_its_type(subject, dtype):
    model = make(subject, dtype)
    x, dt = batch(model, dtype=dtype)
    y, final = model(x, dt=dt.double())
    assert (y.dtype, final.dtype) == (dtype, dtype)


@over_models
def test_state_dict_and_deepcopy(subject):
    model = make(subject)
    x, dt = batch(model)
    y, _ = model(x, dt=dt)
    other = make(subject)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(x, dt=dt)[0], y)
    assert torch.equal(copy.deepcopy(model)(x, dt=dt)[0], y)


@over_models
def test_no_samples_and_no_series(subject):
    model = make(subject)
    x, dt = batch(model)
    y, final = model(x[:, :0], dt=dt[:, :0])
    assert y.shape == (4, 0, model.output_size)
    assert not final.any()
    y, final = model(x[:0], dt=dt[:0])
    assert y.shape == (0, 6, model.output_size)
    y, final = model(x, dt=dt, lengths=[0, 0, 0, 0])
    assert not y.any()
    assert not final.any()
    if model.mask:
        y, _ = model(joined(model, x[..., :C], torch.zeros(4, 6, C, dtype=F64)), dt=dt)
        assert torch.isfinite(y).all()


@over_models
def test_forms_of_dt_and_refusals(subject):
    model = make(subject)
    x, dt = batch(model)
    close(model(x)[0], model(x, dt=torch.ones(4, 6))[0])
    bad = dt.clone()
    bad[1, 2] = -1.0
    with pytest.raises(ValueError, match=r"`dt` must be finite and at least 0.*series 1 at position 2"):
        model(x, dt=bad)
    with pytest.raises(ValueError, match=r"`x` must have shape \(B, T, D\) = \(4, 6, "):
        model(x[..., 1:], dt=dt)
    with pytest.raises(ValueError, match="`lengths` must be in 0…T = 0…6"):
        model(x, dt=dt, lengths=[7, 1, 1, 1])
    with pytest.raises(TypeError, match=r"`hidden_sze` is not an argument .* did you mean `hidden_size`"):
        WHOLE_SERIES[SUBJECTS[subject][0]].make(4, hidden_sze=3)
