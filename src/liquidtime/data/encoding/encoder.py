"""Encode series with gaps as numbers for a network, with statistics of the training part only."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime._checks import check_choice, named_arguments
from liquidtime.data.container import Note, SeriesSet, first_words
from liquidtime.data.encoding.alignment import aligned
from liquidtime.data.encoding.bins import bin_counts, bin_series
from liquidtime.data.encoding.carry import last_observed, since_feature
from liquidtime.data.encoding.encoded_frames import DEFAULT, OUTPUTS, encoded_frame
from liquidtime.data.encoding.encoder_layout import Layout
from liquidtime.data.encoding.observed import Observed
from liquidtime.data.encoding.plausible import Plausible
from liquidtime.data.encoding.scaling import Scaling, fit_scaling, scaling_of
from liquidtime.data.encoding.step import SampleStep
from liquidtime.data.encoding.stream import SeriesStream
from liquidtime.errors import nearest, wrong_shape

BLOCKS = ("values", "mask", "since")
_FORMAT = 1
_ARRAYS = ("unit", "low", "high", "mean", "scale")
_PLAUSIBLE = "plausible"
"""Stored where some channel has bounds."""
_CONFIG = (
    *("format", "blocks", "clip", "log", "bin_width", "channels"),
    *("static_names", "categories", "time_unit", "time_scale", "static_flags"),
)


@dataclass(frozen=True)
class Encoded:
    """What `SeriesEncoder.transform` returns: series i is rows offsets[i] to offsets[i + 1].

    Args:
        x: (N, D) float32 inputs, finite.
        dt: (N,) float32 time since the previous sample in units of the encoder's `time_scale_`, 0 for the first.
        times: (N,) float64 times of the samples, or the starts of the bins, in the unit of the encoder.
        offsets: (S + 1,) int64 start of each series.
        static: (S, F) float32 static features, finite.
        ids: (S,) ids of the series.
    """

    x: npt.NDArray[np.float32]
    dt: npt.NDArray[np.float32]
    times: npt.NDArray[np.float64]
    offsets: npt.NDArray[np.int64]
    static: npt.NDArray[np.float32]
    ids: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """(S,) number of samples of each series."""
        return np.diff(self.offsets)

    def as_set(self) -> SeriesSet:
        """Return the encoded numbers as series with D channels, for models that take series."""
        return SeriesSet(
            offsets=self.offsets,
            times=self.times,
            values=self.x,
            channels=tuple(f"input {place}" for place in range(self.x.shape[1])),
            ids=self.ids,
            static=self.static,
            static_names=tuple(f"static {place}" for place in range(self.static.shape[1])),
        )


class SeriesEncoder:
    """Encodes irregular series for networks: scaled values carried forward, observation masks, and times since then.

    For channel c at sample k, with j <= k the last sample at which c was observed:

        value = z_c(x_jc), 0 (the training mean) before the first      mask = 1 if j = k, else 0
        since = log(1 + (t_k - t_j) / time_scale), from the first sample on while c was never observed

    z_c is a `Scaling`: logarithm, clipping, standardisation. A sample depends only on samples up to itself.

    Args:
        blocks: which of "values", "mask" and "since" to include.
        clip: quantile of the training values for clipping (see `fit_scaling`); None for no clipping.
        log: True to take logarithms of heavy-tailed channels that are not negative, False for none, or their names.
        bin_width: width of the bins that samples are combined in, in the time unit of the set; None for no bins.

    Attributes:
        plausible: bounds beyond which a value is read as not observed; a fitted encoder has none until it is given
            some, as forecasters do.
    """

    plausible: Plausible = Plausible()

    @named_arguments
    def __init__(
        self,
        blocks: Sequence[str] = BLOCKS,
        clip: float | None = 0.01,
        log: bool | Collection[str] = True,
        bin_width: float | None = None,
    ) -> None:
        for name in blocks:
            check_choice("blocks", name, BLOCKS)
        if not blocks or len(set(blocks)) != len(blocks):
            raise ValueError(f"`blocks` must name at least one block, each once; got {blocks!r}")
        if clip is not None and not 0.0 <= clip < 0.5:
            raise ValueError(f"`clip` must be a quantile at least 0 and less than 0.5, or None; got {clip!r}")
        if bin_width is not None and not (np.isfinite(bin_width) and bin_width > 0):
            raise ValueError(f"`bin_width` must be finite and greater than 0, or None; got {bin_width!r}")
        self.blocks = tuple(name for name in BLOCKS if name in blocks)
        self.clip = clip
        self.log = log if isinstance(log, bool) else tuple(log)
        self.bin_width = None if bin_width is None else float(bin_width)
        self._output: str = getattr(self, "_output", DEFAULT)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name, for scikit-learn."""
        return {"blocks": self.blocks, "clip": self.clip, "log": self.log, "bin_width": self.bin_width}

    def set_params(self, **params: Any) -> SeriesEncoder:
        """Change settings by name; what the constructor refuses is refused."""
        SeriesEncoder.__init__(self, **self.get_params() | params)
        return self

    def __sklearn_clone__(self) -> SeriesEncoder:
        return SeriesEncoder(**self.get_params()).set_output(transform=self._output)

    def set_output(self, *, transform: str | None = None) -> SeriesEncoder:
        """Choose what `transform` returns.

        Args:
            transform: "default" for an `Encoded`; "pandas" or "polars" for a frame with one row per step. The pandas
                frame has series and time in its index, as estimators take it. None changes nothing.
        """
        if transform is not None:
            check_choice("transform", transform, OUTPUTS)
            self._output = transform
        return self

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return (D + F,) the names of the encoded inputs and static features; `input_features` is ignored."""
        return np.array([*self.layout_.inputs, *self.layout_.statics], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "channels_")

    def fit(self, data: SeriesSet, y: Any = None) -> SeriesEncoder:
        """Measure scaling, categories and the time scale on training data; `y` is ignored.

        If there are very many series, a random sample is measured; see `liquidtime.data.container.drawn_series`.
        """
        if len(data) == 0:
            raise ValueError("`data` must hold at least one series; got none")
        if not isinstance(self.log, bool):
            for name in self.log:
                if name not in (*data.channels, *data.static_names):
                    hint = nearest(name, [*data.channels, *data.static_names]) or "."
                    raise ValueError(f"`log` must name channels or static features; {name!r} is neither{hint}")
        seen = Observed.of(data, self.bin_width)
        self.channels_ = data.channels
        self.static_names_ = data.static_names
        self.categories_ = {name: tuple(labels) for name, labels in data.categories.items()}
        self.time_unit_ = data.time_unit
        self.time_scale_ = float(np.median(seen.intervals)) if len(seen.intervals) else 1.0
        self.scaling_ = scaling_of(seen.columns, data.channels, self.clip, self.log, self.categories_)
        self.static_scaling_ = fit_scaling(data.static, data.static_names, self.clip, self.log, self.categories_)
        self.static_flags_: npt.NDArray[np.bool_] = np.logical_or.reduce(np.isnan(data.static), axis=0)
        never = [name for name, value in zip(data.channels, seen.least, strict=True) if np.isnan(value)]
        constant = [name for name, same in zip(data.channels, seen.least == seen.largest, strict=True) if same]
        logged = [name for name, unit in zip(data.channels, self.scaling_.unit, strict=True) if unit > 0]
        of = len(data.channels)
        notes = (
            Note("kept", "channels were never observed in training", len(never), of, first_words(never)),
            Note("kept", "channels were constant in training", len(constant), of, first_words(constant)),
            Note(
                "kept", "channels are heavy-tailed, so their logarithms are used", len(logged), of, first_words(logged)
            ),
        )
        self.notes_ = tuple(note for note in notes if note.count)
        self._settle()
        return self

    def fit_transform(self, data: SeriesSet, y: Any = None) -> Any:
        """Fit, and encode the same set as `transform` does; `y` is ignored."""
        return self.fit(data).transform(data)

    def _settle(self) -> None:
        """Derive what follows from the settings and the training data; `fit` and `from_dict` end here."""
        flags = tuple(bool(flag) for flag in self.static_flags_)
        self._layout = Layout(self.blocks, self.channels_, self.static_names_, self.categories_, flags)
        self._sample_step = SampleStep(self)

    @property
    def layout_(self) -> Layout:
        """The meaning of the columns of x and of the static features."""
        self._check_fitted()
        return self._layout

    @property
    def sample_step(self) -> SampleStep:
        """The encoding of one more sample."""
        self._check_fitted()
        if self._sample_step.encoder is not self:  # this is a shallow copy
            self._sample_step = SampleStep(self)
        return self._sample_step

    @property
    def input_size_(self) -> int:
        """D, the number of inputs."""
        return len(self.layout_.inputs)

    @property
    def static_size_(self) -> int:
        """F, the number of encoded static features."""
        return len(self.layout_.statics)

    def transform(self, data: SeriesSet) -> Any:
        """Encode a set with the statistics of the training part: an `Encoded`, or a frame after `set_output`.

        Channels that training did not have are left out, missing channels count as never observed, and unknown
        categories differ from all known ones, each with a warning that names them.

        Raises:
            ValueError: the time unit differs, no channel is known, or a category has become a number or vice versa.

        """
        self._check_fitted()
        encoded = self.encode(self.binned(self.plausible.clean(aligned(data, *self._training))))
        if self._output == DEFAULT:
            return encoded
        return encoded_frame(encoded, self.get_feature_names_out().tolist(), self._output)

    def steps(self, data: SeriesSet) -> SeriesSet:
        """Return the set with the channels of training, combined in bins if the encoder has bins.

        Raises:
            ValueError: as `transform`.

        """
        self._check_fitted()
        return self.binned(self.plausible.clean(aligned(data, *self._training)))

    def aligned(self, data: SeriesSet) -> SeriesSet:
        """Return the set with the channels of training, without bins; warns and refuses as `transform` does."""
        self._check_fitted()
        return self.plausible.clean(aligned(data, *self._training))

    def as_measured(self, data: SeriesSet) -> SeriesSet:
        """Return what `aligned` returns, with the values beyond bounds."""
        self._check_fitted()
        return aligned(data, *self._training)

    @property
    def _training(self) -> tuple[Any, ...]:
        """The columns and the time unit to which other data are aligned."""
        return self.channels_, self.static_names_, self.categories_, self.time_unit_

    def binned(self, data: SeriesSet) -> SeriesSet:
        """Return series that `aligned` returned, combined in bins if the encoder has bins."""
        return bin_series(data, self.bin_width) if self.bin_width else data

    def step_counts(self, data: SeriesSet) -> npt.NDArray[np.int64]:
        """Return (S,) the number of steps of each series that `aligned` returned."""
        return bin_counts(data, self.bin_width) if self.bin_width else data.lengths

    def encode(self, data: SeriesSet) -> Encoded:
        """Encode what `steps` returned."""
        static = self.encode_static(data.static)
        N, layout = len(data.times), self.layout_
        x = np.zeros((len(layout.inputs), N), dtype=np.float32)  # a channel is contiguous; transposed at the end
        columns = np.array(data.values.T, order="C")  # a copy, scaled in place
        first = np.repeat(data.offsets[:-1], data.lengths)
        for c, name in enumerate(self.channels_):
            column = columns[c]
            observed = ~np.isnan(column)
            last, known = last_observed(observed, first)
            if "values" in layout.blocks:
                at = layout.value[name]
                if name in self.categories_:
                    carried = np.where(known, column[last], -1.0)
                    x[at] = carried == np.arange(at.stop - at.start)[:, None]
                else:
                    column[observed] = self.scaling_.column(c, column[observed])
                    if np.isinf(column).any():
                        row = int(np.argmax(np.isinf(column)))
                        raise ValueError(
                            f"`data` must have values that float32 can hold once they are scaled; {name!r} of series "
                            f"{data.ids[np.searchsorted(data.offsets, row, side='right') - 1]} does not"
                        )
                    x[at.start] = np.where(known, column[last], 0.0)
            if "mask" in layout.blocks:
                x[layout.mask + c] = observed
            if "since" in layout.blocks:
                x[layout.since + c] = since_feature(data.times - data.times[last], self.time_scale_)
        dt = np.diff(data.times, prepend=0.0)
        dt[data.offsets[:-1][data.lengths > 0]] = 0.0
        scaled = (dt / self.time_scale_).astype(np.float32)
        return Encoded(np.ascontiguousarray(x.T), scaled, data.times, data.offsets, static, data.ids)

    def encode_static(self, static: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Encode (S, F) static features in the order of training; unknown ones (NaN) become 0, with 1 in their flag."""
        layout = self.layout_
        encoded = np.zeros((len(static), len(layout.statics)), dtype=np.float32)
        for f, name in enumerate(self.static_names_):
            at, column = layout.static[name], static[:, f]
            if name in self.categories_:
                width = len(self.categories_[name])
                encoded[:, at.start : at.start + width] = column[:, None] == np.arange(width)
            else:
                scaled = np.where(np.isnan(column), 0.0, self.static_scaling_.column(f, column))
                if np.isinf(scaled).any():
                    raise ValueError(f"`static` must have values that float32 can hold once scaled; {name!r} does not")
                encoded[:, at.start] = scaled
            if self.static_flags_[f]:
                encoded[:, at.stop - 1] = np.isnan(column)
        return encoded

    def stream(self, static: Mapping[str, Any] | None = None) -> SeriesStream:
        """Return an encoder of one series whose samples arrive one at a time; it gives the same numbers."""
        self._check_fitted()
        return SeriesStream(self, static)

    def to_dict(self) -> dict[str, Any]:
        """Return {"config": values for JSON, "arrays": {name: float64 array}}, which `from_dict` reads."""
        self._check_fitted()
        config = {
            "format": _FORMAT,
            "blocks": list(self.layout_.blocks),
            "clip": self.clip,
            "log": self.log if isinstance(self.log, bool) else list(self.log),
            "bin_width": self.bin_width,
            "channels": list(self.channels_),
            "static_names": list(self.static_names_),
            "categories": {name: list(labels) for name, labels in self.categories_.items()},
            "time_unit": self.time_unit_,
            "time_scale": self.time_scale_,
            "static_flags": self.static_flags_.tolist(),
        }
        if self.plausible.bounds:
            config[_PLAUSIBLE] = self.plausible.to_dict()
        arrays = {f"channel_{name}": getattr(self.scaling_, name) for name in _ARRAYS}
        arrays |= {f"static_{name}": getattr(self.static_scaling_, name) for name in _ARRAYS}
        return {"config": config, "arrays": arrays}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> SeriesEncoder:
        """Return the encoder that `to_dict` described; refuse a description that is inconsistent."""
        config, arrays = dict(stored["config"]), dict(stored["arrays"])
        if config.get("format") != _FORMAT:
            raise ValueError(f"`config` must be of format {_FORMAT}; got {config.get('format')!r}. Update the package.")
        plausible = config.pop(_PLAUSIBLE, {})
        missing = [name for name in _CONFIG if name not in config]
        surplus = [name for name in config if name not in _CONFIG]
        if missing or surplus:
            raise ValueError(f"`config` must have {', '.join(_CONFIG)}; missing {missing}, unknown {surplus}")
        encoder = cls(config["blocks"], config["clip"], config["log"], config["bin_width"])
        encoder.channels_ = tuple(config["channels"])
        encoder.plausible = Plausible.from_dict(plausible, encoder.channels_)
        encoder.static_names_ = tuple(config["static_names"])
        encoder.categories_ = {name: tuple(labels) for name, labels in config["categories"].items()}
        encoder.time_unit_ = config["time_unit"]
        encoder.time_scale_ = float(config["time_scale"])
        encoder.static_flags_ = np.array(config["static_flags"], dtype=bool)
        encoder.scaling_ = _stored_scaling(arrays, "channel", len(encoder.channels_))
        encoder.static_scaling_ = _stored_scaling(arrays, "static", len(encoder.static_names_))
        if arrays:
            raise ValueError(f"`arrays` has some that the encoder does not know: {', '.join(sorted(arrays))}")
        if len(encoder.static_flags_) != len(encoder.static_names_) or not encoder.time_scale_ > 0:
            raise ValueError("`config` must have a flag for each static feature and a time scale greater than 0")
        encoder.notes_ = ()
        encoder._settle()
        return encoder

    def _check_fitted(self) -> None:
        if not hasattr(self, "_layout"):
            raise ValueError("this encoder is not fitted; first call fit(data) with the training part")


def _stored_scaling(arrays: dict[str, Any], kind: str, C: int) -> Scaling:
    """Remove the five arrays of a scaling from the stored arrays, check them and return the scaling."""
    scaling = {}
    for name in _ARRAYS:
        array = np.asarray(arrays.pop(f"{kind}_{name}", None), dtype=np.float64)
        if array.shape != (C,):
            raise wrong_shape(f"{kind}_{name}", "(C,)", [C], array.shape, "The stored encoder is incomplete.")
        if np.isnan(array).any() or (name == "scale" and not (array > 0).all()):
            range_text = " greater than 0" if name == "scale" else ""
            raise ValueError(f"`{kind}_{name}` must be numbers{range_text}; some are not")
        scaling[name] = array
    return Scaling(**scaling)
