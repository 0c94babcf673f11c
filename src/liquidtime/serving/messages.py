"""Bodies of requests and answers; the OpenAPI document is made from them."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

Time: TypeAlias = Annotated[
    int | float | str,
    Meta(
        description="A number in the model's unit of time, or a time stamp in ISO 8601. A series keeps to the kind of "
        "its first time.",
        examples=[3.5, "2026-03-01T08:30:00Z"],
    ),
]
Value: TypeAlias = int | float | str | None
Values: TypeAlias = Annotated[
    dict[str, Value],
    Meta(
        description="By channel: a number in the unit of training, or the name of a category. null and channels left "
        "out are not observed.",
        examples=[{"HR": 80, "Temp": 36.9}],
    ),
]
Static: TypeAlias = Annotated[
    dict[str, Value], Meta(description="Static features by name; those left out are not known.", examples=[{"Age": 71}])
]
Unit: TypeAlias = Annotated[
    str, Meta(description="Unit of times that are numbers; refused if it is not the model's.", examples=["h"])
]


class Sample(Struct, forbid_unknown_fields=True, frozen=True):
    """The values of one series at one time."""

    time: Time
    values: Values = {}


class Question(Struct, forbid_unknown_fields=True, frozen=True):
    """What is asked of a forecaster; without times or horizons, its own horizon in four equal parts."""

    horizons: Annotated[
        list[Annotated[float, Meta(ge=0.0)]] | None,
        Meta(description="Times after the newest sample (of bins: its bin), in the model's unit of time."),
    ] = None
    times: Annotated[
        list[Time] | None,
        Meta(
            description="Times to forecast, in place of horizons: of the kind of the series' times, from its newest on."
        ),
    ] = None
    intervals: Annotated[
        float, Meta(gt=0.0, le=0.99, description="Share of values that the intervals are to hold.")
    ] = 0.9
    known: Annotated[
        dict[str, Value | list[Value]] | None,
        Meta(description="Future of known channels: a number, or one for each time; those left out stay as they are."),
    ] = None


class NewSamples(Struct, forbid_unknown_fields=True, frozen=True):
    """Samples of one series in order of time: all are taken, or none."""

    samples: Annotated[list[Sample], Meta(min_length=1)]
    static: Static | None = None
    time_unit: Unit | None = None
    forecast: Annotated[Question | None, Meta(description="Of forecasters: what the answer is to say.")] = None


class WholeSeries(Struct, forbid_unknown_fields=True, frozen=True):
    """One series from its first sample to its last."""

    samples: list[Sample]
    id: str | None = None
    static: Static | None = None


class PredictionRequest(Struct, forbid_unknown_fields=True, frozen=True):
    """Whole series to predict for; nothing is kept of them."""

    series: Annotated[list[WholeSeries], Meta(min_length=1)]
    time_unit: Unit | None = None
    forecast: Annotated[Question | None, Meta(description="Of forecasters: what is asked of each series.")] = None


class ForecastPoint(Struct, frozen=True):
    """The forecast for one time, by channel."""

    time: int | float | str
    values: dict[str, float]
    low: Annotated[dict[str, float], Meta(description="Lower ends of the intervals.")]
    high: Annotated[dict[str, float], Meta(description="Upper ends of the intervals.")]


class Prediction(Struct, frozen=True, omit_defaults=True):
    """What the model says: the class or the labels with probabilities, the values of a regressor, or forecasts."""

    label: Annotated[int | float | str | bool | UnsetType, Meta(description="The class.")] = UNSET
    labels: Annotated[list[bool] | UnsetType, Meta(description="Of several labels: which the series has.")] = UNSET
    probabilities: Annotated[dict[str, float] | UnsetType, Meta(description="By class, or by place of a label.")] = (
        UNSET
    )
    values: Annotated[list[float] | UnsetType, Meta(description="Of a regressor, one for each target.")] = UNSET
    forecast: Annotated[
        list[ForecastPoint] | UnsetType, Meta(description="Of a forecaster, one for each time asked.")
    ] = UNSET
    note: Annotated[str | UnsetType, Meta(description="What the reader of the prediction should know.")] = UNSET


class Point(Struct, frozen=True):
    """What the model said after the samples up to a time."""

    time: int | float | str
    prediction: Prediction


class Observed(Struct, frozen=True):
    """What was observed at a time, by channel."""

    time: int | float | str
    values: dict[str, float | str]


class LiveAnswer(Struct, frozen=True):
    """Where a series stands after a request with samples."""

    id: str
    time: Annotated[int | float | str, Meta(description="Of the newest sample.")]
    prediction: Prediction
    taken: Annotated[int, Meta(description="Samples of the request that brought something new.")]
    repeated: Annotated[int, Meta(description="Samples of the request that were known; they changed nothing.")]
    times: Annotated[int, Meta(description="Different times at which the series has samples.")]


class SeriesAnswer(Struct, frozen=True, omit_defaults=True):
    """Where a series stands."""

    id: str
    time: Annotated[int | float | str, Meta(description="Of the newest sample.")]
    prediction: Prediction
    times: Annotated[int, Meta(description="Different times at which the series has samples.")]
    updated: Annotated[float, Meta(description="When its newest sample was taken, in seconds since 1970.")]
    path: Annotated[
        list[Point] | UnsetType, Meta(description="The newest predictions, as many as the service keeps, oldest first.")
    ] = UNSET
    samples: Annotated[
        list[Observed] | UnsetType,
        Meta(description="Of a forecaster: the newest samples, as many as the service keeps, oldest first."),
    ] = UNSET


class ForecastAnswer(Struct, frozen=True):
    """What a forecaster says of a live series."""

    id: str
    time: Annotated[int | float | str, Meta(description="Of the newest sample.")]
    prediction: Prediction


class SeriesList(Struct, frozen=True):
    """The series with the newest samples."""

    series: list[SeriesAnswer]
    total: Annotated[int, Meta(description="Series that are kept.")]


class PredictedSeries(Struct, frozen=True):
    """The prediction for one whole series."""

    id: str | None
    prediction: Prediction


class Predictions(Struct, frozen=True):
    """One prediction for each series of the request, in its order."""

    predictions: list[PredictedSeries]


class Health(Struct, frozen=True):
    """Whether the service can work."""

    status: str
    model: str
    identity: Annotated[str, Meta(description="Which model this is; state of another one is kept apart.")]
    state: Annotated[str, Meta(description="Where state is kept: sqlite, redis or postgresql.")]
    series: int
    version: str


class ModelAnswer(Struct, frozen=True, omit_defaults=True):
    """What the model takes and says."""

    name: str
    identity: str
    task: str
    classes: list[Any] | None
    threshold: float | None
    outputs: int
    time_unit: str | None
    channels: list[dict[str, Any]]
    static: list[dict[str, Any]]
    targets: Annotated[list[str] | UnsetType, Meta(description="Of a forecaster: the channels it forecasts.")] = UNSET
    known_channels: Annotated[list[str] | UnsetType, Meta(description="Channels whose future can be given.")] = UNSET
    horizon: Annotated[float | UnsetType, Meta(description="How far ahead it was trained to look.")] = UNSET
    facts: Annotated[dict[str, str], Meta(description="What the model lacks of the one it was exported from.")] = {}


class Problem(Struct, frozen=True, omit_defaults=True):
    """Why a request was refused; nothing has changed."""

    error: Annotated[str, Meta(description="In words.")]
    code: Annotated[str, Meta(description="For programs, e.g. `late_sample`.")]
    at: Annotated[str, Meta(description="Where in the body, e.g. `samples[2].time`.")] = ""


class Tensor(Struct, frozen=True):
    """A tensor of the Open Inference Protocol."""

    name: str
    shape: list[Annotated[int, Meta(ge=0)]]
    datatype: str
    data: Annotated[list[Any], Meta(description="Flat or nested; null for what was not observed.")]
    parameters: dict[str, Any] = {}


class RequestedOutput(Struct, frozen=True):
    """An output that is asked for."""

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
    """What a tensor of the model is; -1 for a size that is free."""

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
