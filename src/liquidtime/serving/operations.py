"""The table of all operations of the service, from which routes and the OpenAPI document are generated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta, Struct

from liquidtime.serving import messages as m
from liquidtime.serving import open_inference as oip
from liquidtime.serving.model import ServedModel
from liquidtime.serving.service import Service


class ListQuery(Struct, frozen=True):
    """Which series to list."""

    limit: Annotated[int, Meta(ge=1, le=1000, description="Number of series in the answer.")] = 50
    path: Annotated[int, Meta(ge=0, le=1000, description="Number of points in the path of each.")] = 0


_NUMBER = r"\d{1,12}(\.\d{1,12})?"


class SeriesQuery(Struct, frozen=True):
    """The forecasts requested in a query."""

    horizons: Annotated[
        str,
        Meta(
            pattern=rf"^({_NUMBER}(,{_NUMBER})*)?$",
            max_length=10_000,
            description="For a forecaster: times after the newest sample, such as 1,6,24.",
        ),
    ] = ""
    intervals: Annotated[
        float, Meta(gt=0.0, le=0.99, description="Of a forecaster: fraction of values in the intervals.")
    ] = 0.9

    def question(self) -> m.Question | None:
        """Return the request in the form of bodies; None if there is none."""
        if not self.horizons and self.intervals == 0.9:
            return None
        horizons = [float(each) for each in self.horizons.split(",")] if self.horizons else None
        return m.Question(horizons=horizons, intervals=self.intervals)


@dataclass(frozen=True)
class Operation:
    """One operation of the service.

    Args:
        name: name in OpenAPI and in the metrics.
        method: HTTP method.
        path: path, with parameters in braces.
        run: function from the service, the parameters of the path, and body or query, to an answer.
        summary: description in a line.
        answer: type of the answer; None if there is none.
        body: type of the body; None if there is none.
        query: type of the query; None if there is none.
        refusals: error statuses, besides those that every operation has.
        open: whether it needs no token.
        long: whether it may take long, so that it must not make others wait.
        tag: group in the documentation.
        forecasts: whether it is only for forecasters.
    """

    name: str
    method: str
    path: str
    run: Callable[[Service, Mapping[str, str], Any], Any]
    summary: str
    answer: type | None = None
    body: type | None = None
    query: type | None = None
    refusals: tuple[int, ...] = ()
    open: bool = False
    long: bool = False
    tag: str = "series"
    forecasts: bool = False


def _infer(service: Service, path: Mapping[str, str], body: m.InferenceRequest) -> m.InferenceAnswer:
    oip.check_name(service.model, **path)
    return oip.infer(service, body)


def _model_facts(service: Service, path: Mapping[str, str], _: None) -> m.ModelFacts:
    oip.check_name(service.model, **path)
    return oip.model_facts(service.model)


def _model_ready(service: Service, path: Mapping[str, str], _: None) -> m.ModelReady:
    oip.check_name(service.model, **path)
    service.health()
    return m.ModelReady(service.model.name, ready=True)


def _ready(service: Service, path: Mapping[str, str], _: None) -> m.Ready:
    service.health()
    return m.Ready(ready=True)


_CHANGED = (400, 408, 413, 415, 422)
_V2 = "/v2/models/{name}"

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "take_samples", "POST", "/series/{id}/samples", lambda service, path, body: service.take(path["id"], body),
        "Process one or more samples of a live series, all or none, and return its current prediction.",
        m.LiveAnswer, m.NewSamples, refusals=(*_CHANGED, 409, 429),
    ),
    Operation(
        "get_series", "GET", "/series/{id}", lambda service, path, query: service.get(path["id"], query.question()),
        "Return the state of a live series, with the path of its predictions, or for a forecaster with its samples.",
        m.SeriesAnswer, query=SeriesQuery, refusals=(404, 413, 422),
    ),
    Operation(
        "forecast_series", "POST", "/series/{id}/forecast",
        lambda service, path, body: service.forecast(path["id"], body),
        "Return forecasts of a live series for times or horizons, and for a future of its known channels.",
        m.ForecastAnswer, m.Question, refusals=(404, *_CHANGED, 409), forecasts=True,
    ),
    Operation(
        "delete_series", "DELETE", "/series/{id}", lambda service, path, _: service.delete(path["id"]),
        "Remove a live series.", refusals=(404, 422),
    ),
    Operation(
        "list_series", "GET", "/series", lambda service, _, query: service.newest(query.limit, query.path),
        "Return the live series with the newest samples.", m.SeriesList, query=ListQuery, refusals=(422,),
    ),
    Operation(
        "predict", "POST", "/predict", lambda service, _, body: service.predict(body),
        "Return predictions for whole series, which are not stored.",
        m.Predictions, m.PredictionRequest, refusals=(*_CHANGED, 409), long=True, tag="whole series",
    ),
    Operation(
        "describe_model", "GET", "/model", lambda service, _, __: service.facts(),
        "Return the inputs and outputs of the model.", m.ModelAnswer, tag="service",
    ),
    Operation(
        "health", "GET", "/health", lambda service, _, __: service.health(),
        "Return whether the model and its state can be used.", m.Health, open=True, tag="service",
    ),
    Operation(
        "v2_server", "GET", "/v2", lambda *_: oip.server_facts(),
        "Return a description of the server.", m.ServerFacts, tag="Open Inference Protocol",
    ),
    Operation(
        "v2_live", "GET", "/v2/health/live", lambda *_: m.Live(live=True),
        "Return whether the process answers.", m.Live, open=True, tag="Open Inference Protocol",
    ),
    Operation(
        "v2_ready", "GET", "/v2/health/ready", _ready,
        "Return whether the model and its state can be used.", m.Ready, open=True, tag="Open Inference Protocol",
    ),
    *(
        operation
        for version, path in (("", _V2), ("_version", f"{_V2}/versions/{{version}}"))
        for operation in (
            Operation(
                f"v2_model{version}", "GET", path, _model_facts, "Return the input and output tensors of the model.",
                m.ModelFacts, refusals=(404, 422), tag="Open Inference Protocol",
            ),
            Operation(
                f"v2_model_ready{version}", "GET", f"{path}/ready", _model_ready,
                "Return whether the model can be used.",
                m.ModelReady, refusals=(404, 422), open=True, tag="Open Inference Protocol",
            ),
            Operation(
                f"v2_infer{version}", "POST", f"{path}/infer", _infer,
                "Return predictions for whole series as tensors.", m.InferenceAnswer, m.InferenceRequest,
                refusals=(404, *_CHANGED), long=True, tag="Open Inference Protocol",
            ),
        )
    ),
)  # fmt: skip


def operations_of(model: ServedModel) -> tuple[Operation, ...]:
    """Return the operations that a model supports."""
    return tuple(each for each in OPERATIONS if model.forecaster is not None or not each.forecasts)
