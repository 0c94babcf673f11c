from __future__ import annotations

from typing import Any

from liquidtime._checks import check_choice, named_arguments
from liquidtime.cells import VARIANTS, Cell, HeadedCell, WiredCfCCell
from liquidtime.cells.mixed_memory import remembering
from liquidtime.cells.own_parts import MakeBackbone, MakeHead
from liquidtime.layers.arguments import remembered
from liquidtime.layers.recurrent import Recurrent
from liquidtime.wirings import Wiring, neurons_of

_BACKBONE = {
    "backbone_units": 128,
    "backbone_layers": 1,
    "backbone_activation": "lecun_tanh",
    "backbone_dropout": 0.0,
    "dropout_placement": "every",
}


class CfC(Recurrent):
    """A closed-form continuous-time network over sequences, used like `nn.LSTM`, with time.

        h_k = (1 - s_k)·g1 + s_k·g2,   s_k = σ(a·dt_k + c),   heads of backbone([x_k ; h_{k-1}])

    How to call it, and the few places where it departs from `nn.LSTM`, is said in `Recurrent`.

    Args:
        input_size: D.
        hidden_size: H; with a wiring, its number of neurons or None.
        variant: "cfc", "no_gate", "cf_s" (as the reference code computes it) or "cf_s_paper" (the paper's equation).
        backbone_units: U.
        backbone_layers: 0…n.
        backbone_activation: "relu", "silu", "gelu", "tanh" or "lecun_tanh".
        backbone_dropout: the share of backbone units dropped in training.
        mixed_memory: False, True (= "hidden") or "input": beside the memory of an LSTM, see `MixedMemory`.
        num_layers: how many layers, each reading the one below.
        bidirectional: whether each layer also runs backwards in time.
        batch_first: whether x is (B, T, D) or (T, B, D).
        wiring: if given, the network's synapses; there is no backbone then, and the outputs are the motor neurons.
        dropout: between the layers, in training.
        proj_size: if given, a linear map of the output to this width.
        dropout_placement: of the backbone, "every" or "after_first", see `Backbone`.
        init_gain: of the Xavier-uniform initial weights.
        gate_bias: of "cfc" and "no_gate": False leaves out the gate's head c, the paper's literal equation.
        switch_times: of "cfc" and "no_gate": between which times gates start as switches, see `CfCCell`.
        head_activation: of "cfc" and "no_gate": "tanh" or "lecun_tanh".
        amplitude: of "cf_s_paper": "free" or "state".
        forget_bias: of the mixed memory.
        recompute: whether training keeps the state every √T steps only and computes the rest again: less memory for
            one more forward run. Without effect on the numbers and on the plain loop.
        products: "full", in the type of the weights, or "bf16": operands of all products, the memory's too, rounded to
            bf16, sums and state in float32; see `HeadedCell`.
        backbone: a function from the width of [x ; h] to a module from (B, width) to (B, F), in place of the dense
            backbone: `lambda width: nn.Sequential(nn.Linear(width, 64), nn.ReLU())`. It runs by the plain loop.
        head: a function from (F, H) to a module from (B, F) to (B, H), called once per head, in place of linear heads.

    """

    @remembered
    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int | None = None,
        variant: str = "cfc",
        backbone_units: int = 128,
        backbone_layers: int = 1,
        backbone_activation: str = "lecun_tanh",
        backbone_dropout: float = 0.0,
        mixed_memory: bool | str = False,
        num_layers: int = 1,
        bidirectional: bool = False,
        batch_first: bool = True,
        wiring: Wiring | None = None,
        *,
        dropout: float = 0.0,
        proj_size: int | None = None,
        dropout_placement: str = "every",
        init_gain: float = 1.0,
        gate_bias: bool | None = None,
        switch_times: tuple[float, float] | None = None,
        head_activation: str | None = None,
        amplitude: str | None = None,
        forget_bias: float | None = None,
        recompute: bool = False,
        products: str = "full",
        backbone: MakeBackbone | None = None,
        head: MakeHead | None = None,
    ) -> None:
        check_choice("variant", variant, VARIANTS)
        options: dict[str, Any] = {"init_gain": init_gain, "products": products}
        given = {
            "gate_bias": gate_bias,
            "switch_times": switch_times,
            "head_activation": head_activation,
            "amplitude": amplitude,
            "backbone": backbone,
            "head": head,
        }
        options |= {name: value for name, value in given.items() if value is not None}
        dense: dict[str, Any] = {
            "backbone_units": backbone_units,
            "backbone_layers": backbone_layers,
            "backbone_activation": backbone_activation,
            "backbone_dropout": backbone_dropout,
            "dropout_placement": dropout_placement,
        }
        H = neurons_of(hidden_size, wiring)
        if wiring is None:
            for name, value in dense.items():
                if backbone is not None and value != _BACKBONE[name]:
                    raise ValueError(
                        f"`{name}` is for the dense backbone and has no effect with `backbone`; got {value!r}"
                    )
            options |= dense
        else:
            if backbone is not None or head is not None:
                raise ValueError("`backbone` and `head` have no effect with a wiring, whose neurons have neither")
            for name, value in dense.items():
                if value != _BACKBONE[name]:
                    raise ValueError(f"`{name}` has no effect with a wiring, which has no backbone; got {value!r}")
        kind = VARIANTS[variant]

        def make_cell(width: int) -> Cell:
            cell: WiredCfCCell | HeadedCell
            cell = kind(width, H, **options) if wiring is None else WiredCfCCell(width, wiring, kind, **options)
            cell.recompute = recompute
            return cell

        super().__init__(
            remembering(make_cell, H, mixed_memory, forget_bias),
            input_size,
            num_layers=num_layers,
            bidirectional=bidirectional,
            batch_first=batch_first,
            dropout=dropout,
            proj_size=proj_size,
        )
