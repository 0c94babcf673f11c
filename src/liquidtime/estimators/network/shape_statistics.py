"""Statistics of whole series in torch: levels, quantiles, changes, autocorrelations and spectra, for a read-out."""

from __future__ import annotations

import math

import torch
from torch import Tensor

_QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
_LAGS = (1, 2, 4, 8, 16, 32, 64)
_FREQUENCIES = 16
_SLOWEST, _FASTEST = 1 / 256, 0.45
"""Frequencies of spectra, spread evenly by their logarithms, in cycles per unit of dt, a typical interval."""
_LEAST, _LEAST_POWER = 1e-4, 1e-3
"""Constant that is added before taking logarithms."""
_EACH = 4 + len(_QUANTILES) + 5 + 2 + len(_LAGS) + _FREQUENCIES


def size(channels: int) -> int:
    """Return Q, the number of statistics of this many channels."""
    return _EACH * channels + 1


def shape_statistics(values: Tensor, dt: Tensor, lengths: Tensor) -> Tensor:
    """Return (B, Q) statistics of each series, none of them far beyond 10, without gradients.

    Of every channel mean, deviation, skewness and kurtosis; quantiles; sizes of the changes from sample to sample and
    how often it crosses its mean; its slope and curvature; autocorrelations at 1, 2, 4, … samples; and the power at 16
    frequencies by true times. What lies past the end of a series counts for nothing.

    Args:
        values: (B, T, V), T at least 1, in standard deviations of the training part.
        dt: (B, T) time since the previous sample.
        lengths: (B,) number of samples, perhaps 0.
    """
    with torch.no_grad():
        T = values.shape[1]
        inside = (torch.arange(T, device=values.device) < lengths.unsqueeze(1)).unsqueeze(-1).to(values.dtype)
        count = lengths.clamp(min=1).to(values.dtype).unsqueeze(-1)  # (B, 1)
        mean = (values * inside).sum(dim=1) / count
        apart = (values - mean.unsqueeze(1)) * inside
        deviation = (apart.square().sum(dim=1) / count).sqrt().clamp(min=_LEAST)
        z = apart / deviation.unsqueeze(1)
        columns = [mean, deviation.log(), z.pow(3).sum(dim=1) / count, torch.log1p(z.pow(4).sum(dim=1) / count)]
        columns += _quantiles(values, inside, lengths)
        columns += _changes(values, z, inside, count, deviation)
        place = ((torch.arange(T, device=values.device) / count) - 0.5).unsqueeze(-1)  # (B, T, 1)
        columns += [(z * place).sum(dim=1) / count, (z * place.square()).sum(dim=1) / count]
        for lag in _LAGS:
            product = (z[:, lag:] * z[:, :-lag]).sum(dim=1) / count if lag < T else torch.zeros_like(mean)
            columns.append(product)
        columns += [_spectrum(z, dt, count), torch.log1p(count)]
        return torch.asinh(torch.nan_to_num(torch.cat(columns, dim=1), posinf=0.0, neginf=0.0))


def _quantiles(values: Tensor, inside: Tensor, lengths: Tensor) -> list[Tensor]:
    B, _, V = values.shape
    ordered = values.masked_fill(inside == 0, math.inf).sort(dim=1).values
    last = (lengths.clamp(min=1) - 1).view(B, 1, 1)
    places = [(last * share).long().expand(B, 1, V) for share in _QUANTILES]
    return [ordered.gather(1, place).squeeze(1) for place in places]


def _changes(values: Tensor, z: Tensor, inside: Tensor, count: Tensor, deviation: Tensor) -> list[Tensor]:
    steps = (values[:, 1:] - values[:, :-1]) * inside[:, 1:]
    pairs = (count - 1).clamp(min=1)
    sizes = torch.cat([steps.abs(), torch.zeros_like(values[:, :1])], dim=1)  # one of 0 more: T may be 1
    mean = sizes.sum(dim=1) / pairs
    crossings = ((z[:, 1:] * z[:, :-1]) < 0).to(values.dtype).sum(dim=1) / pairs
    root = (sizes.square().sum(dim=1) / pairs).sqrt()
    return [*((size + _LEAST).log() for size in (mean, root, sizes.amax(dim=1))), crossings, mean / deviation]


def _spectrum(z: Tensor, dt: Tensor, count: Tensor) -> Tensor:
    """Return (B, 16 V) logarithms of the power at each frequency, of white noise about 0."""
    powers = torch.linspace(math.log(_SLOWEST), math.log(_FASTEST), _FREQUENCIES, device=z.device, dtype=torch.float64)
    cycles = dt.double().cumsum(dim=1).unsqueeze(-1) * powers.exp()  # (B, T, F)
    angle = (2.0 * math.pi * (cycles - cycles.floor())).to(z.dtype)
    waves = (torch.einsum("btv,btf->bvf", z, wave) for wave in (angle.cos(), angle.sin()))
    power = sum(wave.square() for wave in waves) / count.unsqueeze(-1)
    return (power + _LEAST_POWER).log().flatten(1)
