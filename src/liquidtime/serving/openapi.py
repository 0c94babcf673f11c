"""The OpenAPI document, generated from the table of operations and the types of their bodies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from liquidtime._version import __version__
from liquidtime.serving.messages import Problem
from liquidtime.serving.model import LARGEST_VALUE, Columns, ServedModel
from liquidtime.serving.open_inference import VERSION
from liquidtime.serving.operations import Operation

REASONS = {
    400: "Not valid JSON, or not valid HTTP.",
    401: "The token is missing or wrong.",
    403: "The request is addressed to a host other than this machine.",
    404: "There is no such series or model.",
    408: "The body did not arrive in time.",
    409: "A late sample, another value of a known one, another clock, or other static features.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "An invalid body, query or path; the text says where, and what is needed.",
    429: "The largest number of series is already stored.",
    500: "An internal error of the service.",
    503: "The state is not available now.",
}
LONGEST_ID, PATTERN = 200, r"^[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+$"
"""Pattern of ids: no characters that control terminals, break lines or change the direction of writing."""
ID = {"type": "string", "minLength": 1, "maxLength": LONGEST_ID, "pattern": PATTERN}
_ALWAYS = (403, 500, 503)


def openapi(operations: Sequence[Operation], model: ServedModel, token: bool) -> dict[str, Any]:
    """Return the document.

    Args:
        operations: operations of the service.
        model: the model, whose channels and static features appear in the document.
        token: whether requests need a token.
    """
    types = [kind for each in operations for kind in (each.answer, each.body) if kind is not None]
    _, schemas = msgspec.json.schema_components([*types, Problem], ref_template="#/components/schemas/{name}")
    schemas["Sample"]["properties"]["values"] |= _columns(model.channels) | {"default": {}}
    for name in ("NewSamples", "WholeSeries"):
        whole = schemas[name]["properties"]["static"]
        whole["anyOf"] = [{"type": "null"}, _columns(model.static)]
    for name in ("NewSamples", "PredictionRequest"):
        unit = schemas[name]["properties"]["time_unit"]
        unit["anyOf"] = [{"type": "null"}] + ([{"const": model.time_unit}] if model.time_unit else [])
    _of_forecasts(schemas, model)
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, model, token)
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "liquidtime",
            "version": __version__,
            "description": "Predictions for time series, as their samples arrive and for whole series.",
        },
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return document


def _of_forecasts(schemas: dict[str, Any], model: ServedModel) -> None:
    """Describe the forecasts that can be requested; for other models, remove them."""
    if model.forecaster is None:
        for name in ("NewSamples", "PredictionRequest"):
            schemas[name]["properties"]["forecast"]["anyOf"] = [{"type": "null"}]
        return
    number = {"type": ["number", "null"], "minimum": -LARGEST_VALUE, "maximum": LARGEST_VALUE}
    each = {"anyOf": [number, {"type": "array", "items": number}]}
    known = {"type": "object", "properties": dict.fromkeys(model.forecaster.known, each), "additionalProperties": False}
    schemas["Question"]["properties"]["known"]["anyOf"] = [{"type": "null"}, known]


def _columns(columns: Columns) -> dict[str, Any]:
    """Return the schema of values by name."""
    number = {"type": ["number", "null"], "minimum": -LARGEST_VALUE, "maximum": LARGEST_VALUE}
    properties = {
        name: number if categories is None else {"type": ["string", "number", "null"], "examples": categories[:1]}
        for name, categories in zip(columns.names, columns.categories, strict=True)
    }
    shown = {name: 1.0 for name, each in properties.items() if each is number}
    few = dict(list(shown.items())[:2])
    return {"type": "object", "properties": properties, "additionalProperties": False, "examples": [few]}


def _operation(operation: Operation, model: ServedModel, token: bool) -> dict[str, Any]:
    known = {"name": {"const": model.name}, "version": {"const": VERSION}}
    secured = token and not operation.open
    success = {"description": "Done."} if operation.answer is None else _content("Done.", operation.answer)
    answers = {"204" if operation.answer is None else "200": success}
    for status in sorted({*operation.refusals, *_ALWAYS, *((401,) if secured else ())}):
        answers[str(status)] = _content(REASONS[status], Problem)
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag],
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": known.get(name, ID)}
            for name in re.findall(r"{(\w+)}", operation.path)
        ],
        "responses": answers,
    }
    if operation.query is not None:
        schema, parts = msgspec.json.schema_components([operation.query])
        fields = parts[schema[0]["$ref"].rsplit("/", 1)[-1]]["properties"]
        described["parameters"] += [{"name": name, "in": "query", "schema": field} for name, field in fields.items()]
    if operation.body is not None:
        described["requestBody"] = {"required": True} | _content("", operation.body)
    if secured:
        described["security"] = [{"token": []}]
    return described


def _content(description: str, kind: type) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{kind.__name__}"}
    described = {"description": description} if description else {}
    return described | {"content": {"application/json": {"schema": schema}}}
