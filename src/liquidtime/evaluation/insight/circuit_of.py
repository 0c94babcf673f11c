"""Make circuits of a wiring, a layer, or a trained model with the effects of its neurons on each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from liquidtime.cells import Cell, LTCCell
from liquidtime.data import SeriesSet
from liquidtime.estimators.network.network import SeriesNetwork
from liquidtime.estimators.network.pooling import Pool
from liquidtime.evaluation.insight.circuit import Activity, Circuit, Kind, Link, Neuron
from liquidtime.evaluation.insight.observation_effects import row_of
from liquidtime.evaluation.insight.question import networks_of, question_of
from liquidtime.layers import Recurrent
from liquidtime.wirings import FullyConnected, Wiring

Floats = npt.NDArray[np.float64]
_SERIES, _STEPS = 16, 128
_INPUTS, _UNITS = 12, 32


def circuit(network: Any, data: SeriesSet | None = None, id: Any = None, *, input_names: Sequence[str] = ()) -> Circuit:
    """Return the circuit of a wiring, a layer, a cell or a fitted model.

        lt.insight.circuit(lt.wirings.AutoNCP(16, 2), input_names=["angle", "speed"]).plot()
        lt.insight.circuit(model, data, id="p7").animate("p7.gif")

    Weights are the polarity in a wiring, and conductance times reversal potential in an LTC. Otherwise they are the
    derivatives of neurons with respect to each other, averaged over the steps of the series.

    Args:
        network: a `Wiring`, a recurrent layer or cell, or a fitted estimator, of which the first layer of the first
            network is used.
        data: series, required for an estimator.
        id: id of the series whose activity is stored for `animate`; None for the first.
        input_names: names of the inputs, if `network` is not an estimator.

    Raises:
        TypeError: `network` is something else.
        ValueError: an estimator without data, or whose networks do not step through time.

    """
    if isinstance(network, Wiring):
        return _of_wiring(network, input_names)
    if isinstance(network, Recurrent):
        network = network.cells[0]
    if isinstance(network, Cell):
        return _of_cell(network, input_names)
    if not hasattr(network, "get_params"):
        raise TypeError(f"`network` must be a wiring, a layer, a cell or an estimator; got {type(network).__name__}")
    if data is None:
        raise ValueError("`data` must be given with an estimator: its neurons are recorded while it reads series")
    return _of_model(network, data, row_of(data, id))


def _of_wiring(wiring: Wiring, input_names: Sequence[str]) -> Circuit:
    D = wiring.input_size or len(input_names)
    if not D:
        raise ValueError("`input_names` must name the inputs: this wiring takes any number of them")
    graph = wiring.build(D)
    names = _inputs(input_names, D)
    return _joined(names, wiring, graph.sensory.astype(float), graph.adjacency.astype(float), "polarity only")


def _of_cell(cell: Cell, input_names: Sequence[str]) -> Circuit:
    names = _inputs(input_names, cell.input_size)
    if isinstance(cell, LTCCell):
        return _joined(names, cell.wiring, *_ltc_weights(cell), _LTC_WORDS)
    like = next(cell.parameters())
    x, h = like.new_zeros(1, cell.input_size), cell.initial_state(like.new_zeros(1, cell.input_size))
    weights = _derivatives(cell, x, h, like.new_ones(1))
    return _joined(names, _wiring_of(cell), *weights, "derivatives at zero, one time unit after the previous sample")


_LTC_WORDS = "conductance times reversal potential of each synapse"


def _ltc_weights(cell: LTCCell) -> tuple[Floats, Floats]:
    with torch.no_grad():
        pair = [(part.conductances(cell.positive) * part.E).double().numpy() for part in (cell.sensory, cell.recurrent)]
    return pair[0], pair[1]


def _of_model(model: Any, data: SeriesSet, row: int) -> Circuit:
    networks = networks_of(model)
    question_of(networks)  # checks that it is fitted and can be explained
    network = networks.networks_[0]
    layer, encoder = network.recurrent, networks.encoder_
    if not isinstance(layer, Recurrent):
        raise ValueError("`network` reads whole series; there are no neurons that step through time")
    cell = layer.cells[0]
    assert isinstance(cell, Cell)
    rows = np.flatnonzero(data.lengths > 0)[:_SERIES]
    if len(rows) == 0:
        raise ValueError("`data` must have a series with a sample; all are empty")
    sample = networks.encode(data[rows]).prepared().at(np.arange(len(rows)))
    x, h, dt, _ = _watched(cell, sample.x, sample.dt, sample.lengths)
    some = np.linspace(0, len(x) - 1, min(_STEPS, len(x))).astype(np.int64)
    words = "mean derivatives over the steps of the series; for a channel, with respect to its value"
    if isinstance(cell, LTCCell):
        sensory, recurrent = _ltc_weights(cell)
        words = _LTC_WORDS
    else:
        sensory, recurrent = _derivatives(cell, x[some], tuple(part[some] for part in h), dt[some])
    values = encoder.layout_.value
    by_channel = np.stack([sensory[_strongest(sensory, values[name])] for name in encoder.channels_])
    outputs = _read_out(network, sample) if layer.num_layers == 1 and not _forecasts(networks) else None
    names = [] if outputs is None else _output_names(networks, len(outputs))
    series = networks.encode(data[[row]]).prepared()
    one = series.at([0])
    x, _, _, after = _watched(cell, one.x, one.dt, one.lengths)
    inputs = np.stack([x[:, values[name].start].numpy() for name in encoder.channels_], axis=1)
    activity = np.concatenate([np.tanh(inputs), after.numpy()], axis=1)
    drawn = _joined(list(encoder.channels_), _wiring_of(cell), by_channel, recurrent, words, outputs, names, activity)
    assert drawn.activity is not None
    kept = Activity(str(data.ids[row]), series.times, drawn.activity.values, encoder.time_unit_)
    return Circuit(drawn.neurons, drawn.links, drawn.meaning, kept)


def _strongest(sensory: Floats, columns: slice) -> int:
    """Return the column of a channel with the strongest effect on the neurons: its value, or one of its categories."""
    return int(columns.start) + int(np.abs(sensory[columns]).sum(axis=1).argmax())


def _watched(cell: Cell, x: Tensor, dt: Tensor, lengths: Tensor) -> tuple[Tensor, tuple[Tensor, ...], Tensor, Tensor]:
    """Return the inputs, the states before, the intervals and the (first) state after all steps of the series."""
    state, before, after = cell.initial_state(x[:, 0]), [], []
    with torch.inference_mode():
        for step in range(x.shape[1]):
            before.append(state)
            _, state = cell(x[:, step], state, dt[:, step])
            after.append(state[0])
    inside = torch.arange(x.shape[1]) < lengths.unsqueeze(1)
    states = tuple(torch.stack(part, dim=1)[inside] for part in zip(*before, strict=True))
    return x[inside], states, dt[inside], torch.stack(after, dim=1)[inside]


def _derivatives(cell: Cell, x: Tensor, h: tuple[Tensor, ...], dt: Tensor) -> tuple[Floats, Floats]:
    """Return the mean derivatives (D, H) and (H, H) of a cell's new state with respect to inputs and old state."""
    inputs, own = x.clone().requires_grad_(), h[0].clone().requires_grad_()
    rest = tuple(part.clone() for part in h[1:])
    with torch.enable_grad():
        _, after = cell(inputs, (own, *rest), dt.clone())
        by_input, by_state = [], []
        for unit in range(after[0].shape[1]):
            total = after[0][:, unit].sum()
            gx, gh = torch.autograd.grad(total, (inputs, own), retain_graph=True, allow_unused=True)
            by_input.append(torch.zeros(x.shape[1]) if gx is None else gx.mean(dim=0))
            by_state.append(torch.zeros(own.shape[1]) if gh is None else gh.mean(dim=0))
    pair = [torch.stack(part, dim=1).double().numpy() for part in (by_input, by_state)]
    return pair[0], pair[1]


def _read_out(network: SeriesNetwork, sample: Any) -> Floats:
    """Return (K, ·) derivatives of the outputs with respect to the units of the layer, over the whole series."""
    with torch.inference_mode():
        y, _ = network.recurrent(sample.x, dt=sample.dt, lengths=sample.lengths)
    moved = torch.zeros(y.shape[2], requires_grad=True)
    rows, last = torch.arange(len(y)), (sample.lengths - 1).clamp(min=0)
    with torch.enable_grad():
        inside = (torch.arange(y.shape[1]) < sample.lengths.unsqueeze(1)).unsqueeze(-1)
        states = y.clone() + moved * inside
        pool = Pool.of_series(states, sample.lengths)
        units = network._units(states[rows, last], pool, sample.x[rows, last], sample.history, sample.static)
        out = network.read_out(units).mean(dim=0)
        effects = [torch.autograd.grad(each, moved, retain_graph=True)[0] for each in out]
    return torch.stack(effects).double().numpy()


def _forecasts(networks: Any) -> bool:
    return hasattr(networks, "forecast")


def _output_names(networks: Any, K: int) -> list[str]:
    names = list(question_of(networks).names)
    return names[1:] if len(names) == K + 1 else names


def _wiring_of(cell: nn.Module) -> Wiring:
    wiring = getattr(cell, "wiring", None)
    return wiring if isinstance(wiring, Wiring) else FullyConnected(cell.state_sizes[0])  # type: ignore[index, arg-type]


def _inputs(names: Sequence[str], D: int) -> list[str]:
    if names and len(names) != D:
        raise ValueError(f"`input_names` must have one name for each of {D} inputs; got {len(names)}")
    return [str(name) for name in names] or [f"input {place}" for place in range(D)]


def _joined(
    inputs: Sequence[str],
    wiring: Wiring,
    sensory: Floats,
    recurrent: Floats,
    meaning: str,
    outputs: Floats | None = None,
    output_names: Sequence[str] = (),
    activity: Floats | None = None,
) -> Circuit:
    """Return the circuit of weight matrices; of large ones, only inputs and units with the strongest connections."""
    H = len(recurrent)
    worth = np.abs(recurrent).sum(axis=0) + np.abs(recurrent).sum(axis=1) + np.abs(sensory).sum(axis=0)
    units = np.sort(np.argsort(-worth, kind="stable")[:_UNITS])
    kept_inputs = np.sort(np.argsort(-np.abs(sensory[:, units]).sum(axis=1), kind="stable")[:_INPUTS])
    layer_of = {unit: 1 + place for place, layer in enumerate(wiring.layers) for unit in layer}
    kinds: dict[int, Kind] = {
        unit: wiring.neuron_type(unit) if len(wiring.layers) > 1 else "inter" for unit in range(H)
    }
    neurons = [Neuron(inputs[place], "input", 0) for place in kept_inputs.tolist()]
    taken = set(inputs) | set(output_names)
    label = {unit: f"neuron {unit}" if f"neuron {unit}" not in taken else f"neuron {unit} *" for unit in range(H)}
    neurons += [Neuron(label[unit], kinds[unit], layer_of[unit]) for unit in units.tolist()]
    last = len(wiring.layers) + 1
    ends = [name if name not in inputs else f"{name} (output)" for name in output_names]
    neurons += [Neuron(name, "output", last) for name in ends]
    links = [Link(inputs[i], label[j], float(sensory[i, j])) for i in kept_inputs for j in units if sensory[i, j]]
    links += [Link(label[i], label[j], float(recurrent[i, j])) for i in units for j in units if recurrent[i, j]]
    if outputs is not None:
        scale = max(np.abs(recurrent).max(), 1e-12) / max(np.abs(outputs).max(), 1e-12)
        for end, row in zip(ends, outputs, strict=True):
            links += [Link(label[u], end, float(row[u] * scale)) for u in units if u < len(row) and row[u]]
        meaning += "; weights of outputs are scaled to match the others"
    links.sort(key=lambda link: -abs(link.weight))
    kept = None
    if activity is not None:
        columns = [*kept_inputs.tolist(), *(len(inputs) + units).tolist()]
        values = np.full((len(activity), len(neurons)), np.nan)
        values[:, : len(columns)] = activity[:, columns]
        kept = Activity("", np.empty(0), values, None)
    return Circuit(neurons, links, meaning, kept)
