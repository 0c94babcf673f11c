"""What the table says of one network: how it is built, what it needs, and how small it can be."""

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
    """One network of the table; made by `recurrent` or `whole_series`.

    Attributes:
        make: maps (input_size, hidden_size, **options) to a `Cell`, or to a `SequenceModel`.
        reads_series: whether it reads whole series (a `SequenceModel`) and takes no single steps.
        backbone: whether it takes `backbone_units`.
        masks: "none": the network does not tell observed values from missing ones. "optional": it does where the inputs
            have masks, and elsewhere every value counts as observed. "required": without masks it does not exist.
        stackable: whether there can be several layers.
        causal: whether an output depends on the samples up to it alone.

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
        """Return a cell of a network that takes one step after another.

        Args:
            input_size: D.
            hidden_size: H.
            backbone_units: U, ignored by networks without a backbone; None for the cell's default.
            masks: (K,) for each of the first K inputs the column that says whether it was observed; ignored by networks
                that cannot read it. Empty if there are none.
            **options: further arguments of the constructor.

        Raises:
            ValueError: sizes or masks that the cell cannot take, such as none where they are required.

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
            num_layers: layers of a stackable model, ignored by the others; None for the model's default.
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
        """Return a number of weights below which there is no such network; it is computed without building one."""
        D, H = input_size, hidden_size
        if self.reads_series:
            return num_layers * H * H
        U = backbone_units if self.backbone else H
        return U * (D + H) + (num_layers - 1) * U * 2 * H

    def least_tensors(self, num_layers: int) -> int:
        """Return a number of tensors below which there is no such network: a layer has a matrix and a bias."""
        return 2 * num_layers


def recurrent(make: Callable[..., Cell], *, backbone: bool = False, masks: Masks = "none") -> Entry:
    """Return the entry of a cell, which layers stack unless it needs masks: a second layer's inputs have none."""
    return Entry(make, reads_series=False, backbone=backbone, masks=masks, stackable=masks != "required", causal=True)


def whole_series(make: Callable[..., SequenceModel]) -> Entry:
    """Return the entry of a model of whole series; all is read from its class and the signature of `make`."""
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
