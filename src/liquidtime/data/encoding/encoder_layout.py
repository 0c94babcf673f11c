"""The meaning of the columns of an encoded sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class Layout:
    """The columns of x, block by block, and those of the encoded static features.

    Args:
        blocks: the blocks that are included, of "values", "mask" and "since".
        channels: C names.
        static_names: names of the static features.
        categories: categories of categorical channels and static features.
        flags: for each static feature, whether it has a column that says "not known".

    Attributes:
        blocks: the blocks that are included.
        inputs: D names, e.g. "HR", "rhythm=sinus", "HR observed", "HR since".
        statics: names of the encoded static features, e.g. "Age", "Height unknown".
        value: for each channel, its columns in the block of values: one, or one per category.
        mask: start of the block of masks; its columns are in the order of the channels.
        since: start of the block of times since the last observation, in the same order.
        mask_of: for each column of values, the column of its mask; empty without masks.
        static: for each static feature, its columns; the flag is the last.
        channel_of: for each of the D inputs, the position of its channel.
    """

    def __init__(
        self,
        blocks: Sequence[str],
        channels: Sequence[str],
        static_names: Sequence[str],
        categories: Mapping[str, Sequence[str]],
        flags: Sequence[bool],
    ) -> None:
        self.blocks = tuple(blocks)
        inputs: list[str] = []
        self.value: dict[str, slice] = {}
        if "values" in blocks:
            for name in channels:
                start = len(inputs)
                inputs += [f"{name}={label}" for label in categories[name]] if name in categories else [name]
                self.value[name] = slice(start, len(inputs))
        self.mask = len(inputs)
        inputs += [f"{name} observed" for name in channels] if "mask" in blocks else []
        self.since = len(inputs)
        inputs += [f"{name} since" for name in channels] if "since" in blocks else []
        positions = [position for position, name in enumerate(channels) for _ in categories.get(name, ("",))]
        each = list(range(len(channels)))
        self.channel_of = (
            *(positions if "values" in blocks else []),
            *(each if "mask" in blocks else []),
            *(each if "since" in blocks else []),
        )
        self.mask_of = (
            tuple(self.mask + position for position in positions) if {"values", "mask"} <= set(blocks) else ()
        )
        statics: list[str] = []
        self.static: dict[str, slice] = {}
        for name, flag in zip(static_names, flags, strict=True):
            start = len(statics)
            statics += [f"{name}={label}" for label in categories[name]] if name in categories else [name]
            statics += [f"{name} unknown"] if flag else []
            self.static[name] = slice(start, len(statics))
        self.inputs, self.statics = tuple(inputs), tuple(statics)
