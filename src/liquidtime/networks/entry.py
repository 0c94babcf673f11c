"""One network of the table: its constructor, its requirements, and its smallest possible size."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from liquidtime.baselines.series import SequenceModel
from liquidtime.cells import Cell

Masks: TypeAlias = Literal["none", "optional", "required"]


@dataclass(frozen=True)
class Entry:
    """One network of the table, created by `recurrent` or `whole_series`.

    Attributes:
        make: function from (input_size, hidden_size, **options) to a `Cell` or a `SequenceModel`.
        reads_series: whether it reads whole series (a `SequenceModel`) and cannot run step by step.
        backbone: whether it accepts `backbone_units`.
        masks: "none": the network does not distinguish observed values from missing ones. "optional": it does if the
            inputs have masks; otherwise every value counts as observed. "required": the network needs masks.
        stackable: whether there can be several layers.
        causal: whether an output depends only on the samples up to it.

    """

    make: Callable[..., Any]
    reads_series: bool
    backbone: bool
    masks: Masks
    stackable: bool
    causal: bool

    def cell(
        self,
        input_size: int,
        hidden_size: int,
        backbone_units: int | None = None,
        masks: Sequence[int] = (),
        **options: Any,
    ) -> Cell:
        """Return a cell of a network that runs step by step.

        Args:
            input_size: D.
            hidden_size: H.
            backbone_units: U, ignored by networks without a backbone; None for the cell's default.
            masks: (K,) for each of the first K inputs, the column that says whether it was observed; ignored by
                networks that cannot read masks. Empty if there are none.
            **options: further arguments of the constructor.

        Raises:
            ValueError: the cell does not accept the sizes or masks, for example no masks if they are required.

        """
        if self.backbone and backbone_units is not None:
            options["backbone_units"] = backbone_units
        if self.masks == "required" or (self.masks == "optional" and masks):
            options["masks"] = masks
        cell = self.make(input_size, hidden_size, **options)
        assert isinstance(cell, Cell)
        return cell

    def model(
        self, input_size: int, hidden_size: int, num_layers: int | None = None, mask: bool = False, **options: Any
    ) -> SequenceModel:
        """Return a model that reads whole series.

        Args:
            input_size: D.
            hidden_size: H.
            num_layers: number of layers of a stackable model, ignored by the others; None for the default of the model.
            mask: whether the inputs are [values ; mask]; ignored by models that cannot read masks.
            **options: further arguments of the constructor.

        """
        if self.stackable and num_layers is not None:
            options["num_layers"] = num_layers
        if self.masks != "none":
            options["mask"] = mask
        model = self.make(input_size, hidden_size, **options)
        assert isinstance(model, SequenceModel)
        return model

    def least_weights(self, input_size: int, hidden_size: int, backbone_units: int, num_layers: int) -> int:
        """Return a lower bound on the number of weights of such a network, computed without building one."""
        D, H = input_size, hidden_size
        if self.reads_series:
            return num_layers * H * H
        U = backbone_units if self.backbone else H
        return U * (D + H) + (num_layers - 1) * U * 2 * H

    def least_tensors(self, num_layers: int) -> int:
        """Return a lower bound on the number of tensors of such a network: each layer has a matrix and a bias."""
        return 2 * num_layers


def recurrent(make: Callable[..., Cell], *, backbone: bool = False, masks: Masks = "none") -> Entry:
    """Return the entry of a cell; it is stackable unless it requires masks, as second layers have no masks."""
    return Entry(make, reads_series=False, backbone=backbone, masks=masks, stackable=masks != "required", causal=True)


def whole_series(make: Callable[..., SequenceModel]) -> Entry:
    """Return the entry of a model of whole series; its properties come from its class and the signature of `make`."""
    kind: Any = make
    while isinstance(kind, functools.partial):
        kind = kind.func
    if not (inspect.isclass(kind) and issubclass(kind, SequenceModel)):
        raise TypeError(f"`make` must be a subclass of SequenceModel or a functools.partial of one; got {make!r}")
    return Entry(
        make,
        reads_series=True,
        backbone=False,
        masks="optional" if kind.takes_mask else "none",
        stackable="num_layers" in inspect.signature(make).parameters,
        causal=kind.causal,
    )
