"""The CfC family beside the paper's code in both frameworks, and beside the best-known library."""

import pytest
import torch

from liquidtime.cells import CfCCell, CfCNoGateCell, CfSCell, MixedMemory
from vectors import blocks, close, load, put, put_linear, run

SOURCES = ("raminmh-tf", "raminmh-torch", "ncps")
KINDS = {"cfc": CfCCell, "cfc_no_gate": CfCNoGateCell, "cf_s": CfSCell}


def columns(numbers, key, source):
    """Return a weight as (outputs, inputs)."""
    return numbers[key].mT if source == "raminmh-tf" else numbers[key]


def filled(kind, inputs, source, numbers):
    """Return a cell with the weights of a file; its gate is σ(+a·dt + c), that of the TensorFlow code σ(-a·dt + c)."""
    options = {"backbone_units": 5, "backbone_layers": 2}
    options["backbone_activation"] = "lecun_tanh" if source == "ncps" else "silu"
    names = ["u"] if kind is CfSCell else ["g", "h", "a", "c"]
    if kind is not CfSCell:
        options["head_activation"] = "lecun_tanh" if source == "raminmh-tf" else "tanh"
    cell = kind(inputs, 4, **options).double()
    for k, layer in enumerate(cell.backbone.layers, start=1):
        put_linear(layer, columns(numbers, f"backbone{k}_W", source), numbers[f"backbone{k}_b"])
    signs = [-1.0 if name == "a" and source == "raminmh-tf" else 1.0 for name in names]
    weights = [sign * columns(numbers, f"{name}_W", source) for name, sign in zip(names, signs, strict=True)]
    biases = [sign * numbers[f"{name}_b"] for name, sign in zip(names, signs, strict=True)]
    put_linear(cell.heads, torch.cat(weights), torch.cat(biases))
    if kind is CfSCell:
        put(cell.A, numbers["A"].flatten())
        put(cell.w_tau, numbers["w_tau"].flatten())
    return cell


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", KINDS)
def test_variants(name, source):
    numbers = load(f"{name}--{source}")
    y, _ = run(filled(KINDS[name], 3, source, numbers), numbers)
    close(y, numbers["y" if source == "raminmh-tf" else "h"], single=source == "raminmh-tf")


@pytest.mark.parametrize("source", SOURCES)
def test_mixed_memory(source):
    numbers = load(f"cfc_mm--{source}")
    structure = "input" if source == "raminmh-tf" else "hidden"
    inner = filled(CfCCell, 4 if structure == "input" else 3, source, numbers)
    cell = MixedMemory(inner, structure, input_size=3, forget_bias=float(numbers["forget_bias"])).double()
    put_linear(cell.lstm.input_map, columns(numbers, "lstm_W", source), numbers["lstm_b"])
    put_linear(cell.lstm.recurrent_map, columns(numbers, "lstm_R", source))
    y, states = run(cell, numbers)
    close(y, numbers["y" if source == "raminmh-tf" else "h"], single=source == "raminmh-tf")
    if source == "raminmh-tf":
        close(states[-1], numbers["memory"], single=True)


def test_masked_inputs_as_that_code_prepares_them():
    numbers = load("cfc_masked--raminmh-torch")
    x, mask, dt = numbers["x"], numbers["mask"], numbers["dt"]
    last, since, prepared = torch.zeros_like(x[:, 0]), torch.zeros_like(x[:, 0]), []
    for k in range(x.shape[1]):
        last = mask[:, k] * x[:, k] + (1 - mask[:, k]) * last
        since = (since + dt[:, k : k + 1]) * (1 - mask[:, k])
        prepared.append(torch.cat([last, since, mask[:, k]], dim=-1))
    y, _ = run(filled(CfCCell, 9, "raminmh-torch", numbers), numbers | {"x": torch.stack(prepared, dim=1)})
    close(y, numbers["h"], single=False)


def test_blocks_are_put_in_order():
    assert blocks(torch.arange(6.0), (2, 0, 1)).tolist() == [4, 5, 0, 1, 2, 3]
