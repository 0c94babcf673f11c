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
    """A closed-form continuous-time network over sequences, used like `nn.LSTM` with time as an additional argument.

        y, h = CfC(D, H)(x, dt=dt)              x (B, T, D), dt (B, T), y (B, T, H)

        h_k = (1 - s_k)·g1 + s_k·g2,   s_k = σ(a·dt_k + c),   heads of backbone([x_k ; h_{k-1}])

    `Recurrent` describes how to call it and the few differences from `nn.LSTM`.

    Args:
        input_size: D, the number of inputs.
        hidden_size: H, the number of hidden units; with a wiring, its number of neurons or None.
        variant: "cfc", "no_gate", "cf_s" (as the reference code computes it) or "cf_s_paper" (the paper's equation).
        backbone_units: U, the width of the backbone.
        backbone_layers: number of layers of the backbone, 0 or more.
        backbone_activation: "relu", "silu", "gelu", "tanh" or "lecun_tanh".
        backbone_dropout: fraction of the backbone units that are dropped in training.
        mixed_memory: False, True (= "hidden") or "input": add the memory of an LSTM; see `MixedMemory`.
        num_layers: number of layers, each reading the outputs of the one below.
        bidirectional: whether each layer also runs backwards in time.
        batch_first: whether x is (B, T, D) instead of (T, B, D).
        wiring: synapses of the network; with a wiring, there is no backbone and the outputs are the motor neurons.
        dropout: dropout rate between layers, in training.
        proj_size: width of a linear projection of the output; None for no projection.
        dropout_placement: dropout in the backbone, "every" or "after_first"; see `Backbone`.
        init_gain: gain of the Xavier-uniform initial weights.
        gate_bias: for "cfc" and "no_gate"; False leaves out the head c of the gate, as in the paper's literal equation.
        switch_times: for "cfc" and "no_gate": range of times at which gates initially switch; see `CfCCell`.
        head_activation: for "cfc" and "no_gate": "tanh" or "lecun_tanh".
        amplitude: for "cf_s_paper": "free" or "state".
        forget_bias: forget bias of the mixed memory.
        recompute: whether training stores the state only every √T steps and recomputes the others: less memory for one
            more forward run. It does not change the results, and has no effect on the plain loop.
        products: "full" computes in the type of the weights; "bf16" rounds the operands of all products, also in the
            memory, to bf16, with sums and state in float32; see `HeadedCell`.
        backbone: function from the width of [x ; h] to a module from (B, width) to (B, F), instead of the dense
            backbone: `lambda width: nn.Sequential(nn.Linear(width, 64), nn.ReLU())`. It runs in the plain loop.
        head: function from (F, H) to a module from (B, F) to (B, H), called once per head, instead of linear heads.

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
        specific = {
            "gate_bias": gate_bias,
            "switch_times": switch_times,
            "head_activation": head_activation,
            "amplitude": amplitude,
            "backbone": backbone,
            "head": head,
        }
        options |= {name: value for name, value in specific.items() if value is not None}
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
                        f"`{name}` applies to the dense backbone and has no effect with `backbone`; got {value!r}"
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
