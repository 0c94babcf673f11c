"""The interface of a wiring: an immutable recipe from which a graph of neurons is built."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypeVar, dataclass_transform

from liquidtime._checks import check_size, named_arguments

if TYPE_CHECKING:
    from liquidtime.wirings.adjacency import Adjacency

NeuronType: TypeAlias = Literal["motor", "command", "inter"]
Layers: TypeAlias = tuple[tuple[int, ...], ...]

W = TypeVar("W", bound="Wiring")


class Wiring(ABC):
    """The synapses between neurons: which neurons have synapses onto which, and whether they excite or inhibit.

    A wiring is a value: using it never changes it, two wirings with the same arguments are equal, and one wiring may be
    used for any number of layers. Neurons are numbered 0…H-1, starting with the outputs (motor neurons).

    Attributes:
        units: number H of neurons.
        output_size: number of motor neurons; they have the numbers 0…output_size-1.
        input_size: number D of inputs that the graph was made for; None if `build` accepts any.
        layers: numbers of the neurons of each layer, in the order in which signals flow.

    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    units: int
    output_size: int
    input_size: int | None
    layers: Layers

    @abstractmethod
    def build(self, input_size: int) -> Adjacency:
        """Return the graph for `input_size` inputs, which is the same in every call.

        Raises:
            ValueError: the wiring was made for another number of inputs.

        """

    def neuron_type(self, i: int) -> NeuronType:
        """Return the type of neuron `i`.

        "motor" for the outputs, "command" for the layer before them if there are at least three layers, else "inter".
        """
        i = check_size("i", i, least=0)
        if i >= self.units:
            raise ValueError(f"`i` must be a neuron in 0…{self.units - 1}; got {i}")
        if i < self.output_size:
            return "motor"
        return "command" if len(self.layers) >= 3 and i in self.layers[-2] else "inter"

    def to_dict(self) -> dict[str, Any]:
        """Return the type and arguments of the recipe as plain values; `wirings.from_dict` is the inverse."""
        return {"type": type(self).__name__} | {field.name: getattr(self, field.name) for field in fields(self)}

    def to_json(self) -> str:
        """Return `to_dict()` as JSON text; `wirings.from_json` is the inverse."""
        return json.dumps(self.to_dict())

    def __copy__(self: W) -> W:
        return self

    def __deepcopy__(self: W, memo: dict[int, Any]) -> W:
        return self

    def _set(self, **values: Any) -> None:
        """Set attributes during construction; later assignments raise an error."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass_transform(frozen_default=True)
def recipe(cls: type[W]) -> type[W]:
    """Make a wiring a frozen dataclass; for an unknown argument the error names the nearest one."""
    made = dataclass(frozen=True)(cls)
    type.__setattr__(made, "__init__", named_arguments(made.__init__))
    return made


def one_layer(units: int) -> Layers:
    """Return the layers of a wiring that has a single layer."""
    return (tuple(range(units)),)


def check_outputs(outputs: int | None, units: int) -> int:
    """Return the number of motor neurons (`units` if None), or refuse it."""
    if outputs is None:
        return units
    outputs = check_size("outputs", outputs)
    if outputs > units:
        raise ValueError(f"`outputs` must be at most `units` = {units}; got {outputs}")
    return outputs


def check_seed(seed: object) -> int:
    """Return a seed that every generator accepts, or refuse it."""
    checked = check_size("seed", seed, least=0)
    if checked >= 2**32:
        raise ValueError(f"`seed` must be less than 2**32; got {checked}")
    return checked


def neurons_of(hidden_size: int | None, wiring: Wiring | None) -> int:
    """Return the number of neurons of a network with these two arguments, or refuse them if they disagree."""
    if isinstance(hidden_size, Wiring):
        raise TypeError("`hidden_size` must be a whole number or None; got a wiring. Pass it as wiring=...")
    if wiring is None:
        return check_size("hidden_size", hidden_size)
    if not isinstance(wiring, Wiring):
        raise TypeError(f"`wiring` must be a Wiring of liquidtime.wirings; got {type(wiring).__name__}")
    if hidden_size is not None and hidden_size != wiring.units:
        raise ValueError(
            f"`hidden_size` must be the number of neurons of the wiring, {wiring.units}, or None; got {hidden_size}"
        )
    return wiring.units
