"""Bodies of requests and answers, from which the OpenAPI document is generated."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

Time: TypeAlias = Annotated[
    int | float | str,
    Meta(
        description="A number in the time unit of the model, or a time stamp in ISO 8601. All times of a series "
        "have the type of the first.",
        examples=[3.5, "2026-03-01T08:30:00Z"],
    ),
]
Value: TypeAlias = int | float | str | None
Values: TypeAlias = Annotated[
    dict[str, Value],
    Meta(
        description="By channel: a number in the unit of training, or the name of a category. null and omitted "
        "channels are not observed.",
        examples=[{"HR": 80, "Temp": 36.9}],
    ),
]
Static: TypeAlias = Annotated[
    dict[str, Value], Meta(description="Static features by name; omitted ones are unknown.", examples=[{"Age": 71}])
]
Unit: TypeAlias = Annotated[
    str, Meta(description="Unit of times that are numbers; refused if it is not the model's.", examples=["h"])
]


class Sample(Struct, forbid_unknown_fields=True, frozen=True):
    """The values of one series at one time."""

    time: Time
    values: Values = {}


class Question(Struct, forbid_unknown_fields=True, frozen=True):
    """The forecasts to make; without times or horizons, for the model's own horizon in four equal parts."""

    horizons: Annotated[
        list[Annotated[float, Meta(ge=0.0)]] | None,
        Meta(description="Times after the newest sample (with bins: after its bin), in the time unit of the model."),
    ] = None
    times: Annotated[
        list[Time] | None,
        Meta(
            description="Times to forecast, instead of horizons: of the type of the series' times, from its newest on."
        ),
    ] = None
    intervals: Annotated[
        float, Meta(gt=0.0, le=0.99, description="Fraction of values that the intervals should contain.")
    ] = 0.9
    known: Annotated[
        dict[str, Value | list[Value]] | None,
        Meta(description="Future of known channels: a number, or one for each time; omitted ones remain unchanged."),
    ] = None


class NewSamples(Struct, forbid_unknown_fields=True, frozen=True):
    """Samples of one series in order of time: all are processed, or none."""

    samples: Annotated[list[Sample], Meta(min_length=1)]
    static: Static | None = None
    time_unit: Unit | None = None
    forecast: Annotated[Question | None, Meta(description="For forecasters: the forecasts in the answer.")] = None


class WholeSeries(Struct, forbid_unknown_fields=True, frozen=True):
    """One series from its first sample to its last."""

    samples: list[Sample]
    id: str | None = None
    static: Static | None = None


class PredictionRequest(Struct, forbid_unknown_fields=True, frozen=True):
    """Whole series to predict for; they are not stored."""

    series: Annotated[list[WholeSeries], Meta(min_length=1)]
    time_unit: Unit | None = None
    forecast: Annotated[Question | None, Meta(description="For forecasters: the forecasts for each series.")] = None


class ForecastPoint(Struct, frozen=True):
    """The forecast for one time, by channel."""

    time: int | float | str
    values: dict[str, float]
    low: Annotated[dict[str, float], Meta(description="Lower ends of the intervals.")]
    high: Annotated[dict[str, float], Meta(description="Upper ends of the intervals.")]


class Prediction(Struct, frozen=True, omit_defaults=True):
    """The prediction: the class or the labels with probabilities, the values of a regressor, or forecasts."""

    label: Annotated[int | float | str | bool | UnsetType, Meta(description="The class.")] = UNSET
    labels: Annotated[list[bool] | UnsetType, Meta(description="Of multi-label models: the labels.")] = UNSET
    probabilities: Annotated[dict[str, float] | UnsetType, Meta(description="By class, or by position of a label.")] = (
        UNSET
    )
    values: Annotated[list[float] | UnsetType, Meta(description="For a regressor, one for each target.")] = UNSET
    forecast: Annotated[
        list[ForecastPoint] | UnsetType, Meta(description="For a forecaster, one for each requested time.")
    ] = UNSET
    note: Annotated[str | UnsetType, Meta(description="A remark on the prediction.")] = UNSET


class Point(Struct, frozen=True):
    """The prediction after the samples up to a time."""

    time: int | float | str
    prediction: Prediction


class Observed(Struct, frozen=True):
    """The values observed at a time, by channel."""

    time: int | float | str
    values: dict[str, float | str]


class LiveAnswer(Struct, frozen=True):
    """The state of a series after a request with samples."""

    id: str
    time: Annotated[int | float | str, Meta(description="Time of the newest sample.")]
    prediction: Prediction
    taken: Annotated[int, Meta(description="Number of samples of the request that had something new.")]
    repeated: Annotated[int, Meta(description="Number of samples of the request that were known; they had no effect.")]
    times: Annotated[int, Meta(description="Number of different times at which the series has samples.")]


class SeriesAnswer(Struct, frozen=True, omit_defaults=True):
    """The state of a series."""

    id: str
    time: Annotated[int | float | str, Meta(description="Time of the newest sample.")]
    prediction: Prediction
    times: Annotated[int, Meta(description="Number of different times at which the series has samples.")]
    updated: Annotated[float, Meta(description="When its newest sample was processed, in seconds since 1970.")]
    path: Annotated[
        list[Point] | UnsetType, Meta(description="The newest predictions, as many as are stored, oldest first.")
    ] = UNSET
    samples: Annotated[
        list[Observed] | UnsetType,
        Meta(description="For a forecaster: the newest samples, as many as the service stores, oldest first."),
    ] = UNSET


class ForecastAnswer(Struct, frozen=True):
    """Forecasts for a live series."""

    id: str
    time: Annotated[int | float | str, Meta(description="Time of the newest sample.")]
    prediction: Prediction


class SeriesList(Struct, frozen=True):
    """The series with the newest samples."""

    series: list[SeriesAnswer]
    total: Annotated[int, Meta(description="Number of stored series.")]


class PredictedSeries(Struct, frozen=True):
    """The prediction for one whole series."""

    id: str | None
    prediction: Prediction


class Predictions(Struct, frozen=True):
    """One prediction for each series of the request, in its order."""

    predictions: list[PredictedSeries]


class Health(Struct, frozen=True):
    """Whether the service works."""

    status: str
    model: str
    identity: Annotated[str, Meta(description="Identity of the model; the state of other models is kept separately.")]
    state: Annotated[str, Meta(description="Where the state is stored: sqlite, redis or postgresql.")]
    series: int
    version: str


class ModelAnswer(Struct, frozen=True, omit_defaults=True):
    """The inputs and outputs of the model."""

    name: str
    identity: str
    task: str
    classes: list[Any] | None
    threshold: float | None
    outputs: int
    time_unit: str | None
    channels: list[dict[str, Any]]
    static: list[dict[str, Any]]
    targets: Annotated[list[str] | UnsetType, Meta(description="Of a forecaster: its target channels.")] = UNSET
    known_channels: Annotated[list[str] | UnsetType, Meta(description="Channels whose future can be passed.")] = UNSET
    horizon: Annotated[float | UnsetType, Meta(description="How far ahead it was trained to forecast.")] = UNSET
    facts: Annotated[dict[str, str], Meta(description="Differences from the model that was exported.")] = {}


class Problem(Struct, frozen=True, omit_defaults=True):
    """Why a request was refused; nothing was changed."""

    error: Annotated[str, Meta(description="Explanation in words.")]
    code: Annotated[str, Meta(description="Code for programs, such as `late_sample`.")]
    at: Annotated[str, Meta(description="Place in the body, such as `samples[2].time`.")] = ""


class Tensor(Struct, frozen=True):
    """A tensor of the Open Inference Protocol."""

    name: str
    shape: list[Annotated[int, Meta(ge=0)]]
    datatype: str
    data: Annotated[list[Any], Meta(description="Flat or nested; null for values not observed.")]
    parameters: dict[str, Any] = {}


class RequestedOutput(Struct, frozen=True):
    """A requested output."""

    name: str
    parameters: dict[str, Any] = {}


class InferenceRequest(Struct, frozen=True):
    """A request of the Open Inference Protocol: whole series as tensors."""

    inputs: Annotated[list[Tensor], Meta(min_length=1)]
    id: str | None = None
    parameters: dict[str, Any] = {}
    outputs: list[RequestedOutput] | None = None


class InferenceAnswer(Struct, frozen=True, omit_defaults=True):
    """An answer of the Open Inference Protocol."""

    model_name: str
    model_version: str
    outputs: list[Tensor]
    id: str | UnsetType = UNSET


class TensorFacts(Struct, frozen=True):
    """Description of a tensor of the model; -1 for a size that is variable."""

    name: str
    datatype: str
    shape: list[int]


class ModelFacts(Struct, frozen=True):
    """Metadata of the model in the Open Inference Protocol."""

    name: str
    versions: list[str]
    platform: str
    inputs: list[TensorFacts]
    outputs: list[TensorFacts]


class ServerFacts(Struct, frozen=True):
    """Metadata of the server in the Open Inference Protocol."""

    name: str
    version: str
    extensions: list[str]


class Live(Struct, frozen=True):
    """The process answers."""

    live: bool


class Ready(Struct, frozen=True):
    """The model and its state can be used."""

    ready: bool


class ModelReady(Struct, frozen=True):
    """The model can be used."""

    name: str
    ready: bool
