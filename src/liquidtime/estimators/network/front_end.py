"""Convolutions before a recurrent layer in both directions of time, for long, dense series with a shape."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm, pad, silu

from liquidtime.data.container.drawn_series import drawn_blocks
from liquidtime.data.encoding.encoder_layout import Layout
from liquidtime.estimators.network import shape_statistics
from liquidtime.estimators.network.inputs import Prepared
from liquidtime.estimators.network.reader import WholeSeriesReader
from liquidtime.networks import Network, entry_of, recurrent_layer
from liquidtime.training.ranks import share, summed

AUTO = "auto"
GLOBAL, OWN = FRONT_ENDS = ("convolution", "convolution-own")
"""Series in the scale of the training part with batch normalisation, or each in its own with layer normalisation."""
_KERNEL, _LAYERS = 9, 3
_STRIDE = 2**_LAYERS
_LEAST_LENGTH, _LEAST_OBSERVED = 48, 0.5
_LEAST_DEVIATION = 1e-3
_MOMENTUM, _SMALL = 0.1, 1e-5
"""Momentum and epsilon of batch normalisation, as in torch."""
_ROUNDING = 1e-6
"""Largest deviation, relative to the mean, at which numbers count as equal."""
_MOST_SUMMARY = 4.0
"""Number of standard deviations at which statistics of a series are clipped."""


class ConvolutionalReader(WholeSeriesReader):
    """Three strided convolutions, 8 samples per step in all, and a recurrent layer in both directions of time.

        u_0 = [ values ; masks ; log(1 + dt) ],   u_i = silu(norm(convolution(u_{i-1}))), every second place
        y = [ →layer(u_3) ; ←layer(u_3) ; norm(statistics) ],   each step an eighth of the time since the one before

    What lies past the end of a series is 0 before every convolution, so that no output depends on the other series of
    a batch. In the form "convolution-own" each channel of each series is brought to mean 0 and deviation 1 first; the
    read-out knows both from the history. Statistics of the whole series (`shape_statistics`), the same at every step,
    tell the read-out what averages over steps do not.

    Args:
        network: of the recurrent layer, one that takes single steps.
        form: one of `FRONT_ENDS`.
        hidden_size: H of each direction; convolutions are 2H wide.
        backbone_units: of the recurrent layer.
        num_layers: likewise.
        input_size: D of the encoded samples.
        layout: which of them is what.

    """

    columns: Tensor
    masks: Tensor
    own: Tensor

    def __init__(
        self,
        network: Network,
        form: str,
        hidden_size: int,
        backbone_units: int,
        num_layers: int,
        input_size: int,
        layout: Layout,
    ) -> None:
        super().__init__()
        self.form, self.input_size = form, input_size
        values = [column for part in layout.value.values() for column in range(part.start, part.stop)]
        own = [part.stop - part.start == 1 and form == OWN for part in layout.value.values() for _ in range(*_of(part))]
        self.register_buffer("columns", torch.tensor(values), persistent=False)
        self.register_buffer("masks", torch.tensor(layout.mask_of), persistent=False)
        self.register_buffer("own", torch.tensor(own), persistent=False)
        width, channels = len(values) + (layout.since - layout.mask) + 1, 2 * hidden_size
        self.observed = slice(layout.mask, layout.since)
        self.convolutions, self.norms = nn.ModuleList(), nn.ModuleList()
        for _ in range(_LAYERS):
            self.convolutions.append(nn.Conv1d(width, channels, _KERNEL, stride=2, padding=_KERNEL // 2))
            self.norms.append(nn.LayerNorm(channels) if form == OWN else _BatchNorm(channels))
            width = channels
        self.layer = recurrent_layer(network, channels, hidden_size, backbone_units, num_layers, bidirectional=True)
        self.summary = _BatchNorm(shape_statistics.size(len(values)))
        self.output_size = self.layer.output_size + len(self.summary.weight)

    @property
    def causal(self) -> bool:
        """False, because convolutions and the backward direction use later samples."""
        return False

    @property
    def refusal(self) -> str:
        """The reason why it takes no single samples."""
        return (
            "the convolutional front end of this model reads whole series and takes no single samples: predict the "
            "series so far again, or fit with front_end=None."
        )

    def steps_of(self, lengths: Tensor) -> Tensor:
        """Return (B,) the steps that are left of series of these lengths."""
        steps: Tensor = (lengths + _STRIDE - 1) // _STRIDE
        return steps

    def forward(self, x: Tensor, *, dt: Tensor, lengths: Tensor) -> tuple[Tensor, None]:
        """Return (B, steps, output_size) of samples x (B, T, D)."""
        T = max(x.shape[1], 1)
        x, dt = pad(x, (0, 0, 0, T - x.shape[1])), pad(dt, (0, T - dt.shape[1]))
        values = self._scaled(x, lengths)
        u = torch.cat([values, x[..., self.observed], torch.log1p(dt).unsqueeze(-1)], dim=-1)
        u, left = u * _inside(T, lengths), lengths
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            u, left = convolution(u.transpose(1, 2)).transpose(1, 2), (left + 1) // 2
            inside = _inside(u.shape[1], left)
            u = silu(norm(u, inside) if isinstance(norm, _BatchNorm) else norm(u)) * inside
        clock = dt.double().cumsum(dim=1)[:, ::_STRIDE]  # (B, steps), at the sample in the middle of each kernel
        between = torch.diff(clock, dim=1, prepend=clock[:, :1]).to(dt.dtype) / _STRIDE
        y, _ = self.layer(u, dt=between, lengths=left)
        found = shape_statistics.shape_statistics(x[..., self.columns], dt, lengths).unsqueeze(1)  # (B, 1, Q)
        summary = self.summary(found, torch.ones_like(found[..., :1])).clamp(-_MOST_SUMMARY, _MOST_SUMMARY)
        return torch.cat([y, summary * _inside(y.shape[1], left)], dim=-1), None

    def _scaled(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Return (B, T, V) the values, those of the form "convolution-own" in the scale of their own series."""
        values = x[..., self.columns]
        if not bool(self.own.any()):
            return values
        seen = _inside(x.shape[1], lengths).expand_as(values)
        if len(self.masks):
            seen = seen * x[..., self.masks]
        count = seen.sum(dim=1, keepdim=True).clamp(min=1)
        mean = (values * seen).sum(dim=1, keepdim=True) / count
        apart = (values - mean) * seen
        deviation = (apart.square().sum(dim=1, keepdim=True) / count).sqrt().clamp(min=_LEAST_DEVIATION)
        return torch.where(self.own, apart / deviation, values)


class _BatchNorm(nn.Module):
    """Batch normalisation of the steps inside their series; steps past the end are ignored."""

    mean: Tensor
    variance: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("variance", torch.ones(channels))

    def forward(self, u: Tensor, inside: Tensor) -> Tensor:
        """Return (B, T, W) the normalised steps, 0 where `inside` (B, T, 1) is."""
        chosen = inside.squeeze(-1) > 0
        rows = u[chosen]
        if self.training and share() is not None:
            return torch.zeros_like(u).masked_scatter(chosen.unsqueeze(-1), self._shared(rows))
        learns = self.training and len(rows) > 1
        normed = batch_norm(rows, self.mean, self.variance, self.weight, self.bias, training=learns)
        if learns:
            variance, mean = torch.var_mean(rows.detach(), dim=0, correction=0)
            normed = torch.where(_alike(variance, mean), self.bias, normed)
        return torch.zeros_like(u).masked_scatter(chosen.unsqueeze(-1), normed)

    def _shared(self, rows: Tensor) -> Tensor:
        """Return rows normalised by the mean and the variance of those of all ranks."""
        wide = rows.double()  # so that the mean of equal numbers is this number
        total = summed(torch.cat([wide.sum(dim=0), wide.new_tensor([float(len(rows))])]))
        count = float(total[-1].detach())
        if count <= 1:
            return batch_norm(rows, self.mean, self.variance, self.weight, self.bias)
        mean = total[:-1] / count
        variance = summed((wide - mean).square().sum(dim=0)) / count
        with torch.no_grad():
            self.mean.lerp_(mean.to(rows.dtype), _MOMENTUM)
            self.variance.lerp_((variance * count / (count - 1)).to(rows.dtype), _MOMENTUM)
        scaled = ((wide - mean) / (variance + _SMALL).sqrt()).to(rows.dtype)
        return torch.where(_alike(variance, mean), self.bias, scaled * self.weight + self.bias)


def _alike(variance: Tensor, mean: Tensor) -> Tensor:
    """Return the columns whose rows differ only by rounding, which normalisation would amplify."""
    return variance <= (_ROUNDING * mean).square()


def suits(prepared: Prepared, least_length: int = _LEAST_LENGTH) -> bool:
    """Return whether series are long and dense enough for a front end: 48 samples, half of the values observed."""
    if len(prepared) == 0 or np.median(prepared.lengths) < least_length:
        return False
    layout = prepared.encoder.layout_
    if layout.since == layout.mask:
        return True
    observed = values = 0
    for part in drawn_blocks(prepared.data):
        steps = prepared.encoder.binned(part).values
        observed, values = observed + int(np.count_nonzero(~np.isnan(steps))), values + steps.size
    return observed >= _LEAST_OBSERVED * values


def takes_front_end(network: Network) -> bool:
    """Return whether a network can follow a front end: it takes single steps and needs no masks."""
    if not isinstance(network, str):
        return True
    entry = entry_of(network)
    return not entry.reads_series and entry.masks != "required"


def least_weights(hidden_size: int) -> int:
    """Return a lower bound of the number of weights with a front end."""
    return (_LAYERS - 1) * _KERNEL * (2 * hidden_size) ** 2


def _inside(T: int, lengths: Tensor) -> Tensor:
    """Return (B, T, 1): 1 inside each series, 0 behind its end."""
    return (torch.arange(T, device=lengths.device) < lengths.unsqueeze(1)).unsqueeze(-1).float()


def _of(part: slice) -> tuple[int, int]:
    return part.start, part.stop
