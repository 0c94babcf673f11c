"""The service over HTTP: every request passes the same checks, then its operation runs in a thread."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from liquidtime.serving.messages import Problem
from liquidtime.serving.openapi import LONGEST_ID, PATTERN, openapi
from liquidtime.serving.operations import Operation, operations_of
from liquidtime.serving.pages import page
from liquidtime.serving.refusal import Refused
from liquidtime.serving.service import Service
from liquidtime.serving.stores import StoreFailed

LOG = logging.getLogger("liquidtime.serving")
_BODY_SECONDS = 30.0
_LONG_THREADS = 2
_LONG_BODY = 1 << 15
"""Bodies of at least this many bytes are queued with other long requests, so that short ones do not wait."""
_LOCAL = re.compile(r"(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?", flags=re.IGNORECASE)
_ID = re.compile(PATTERN)
_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def application(service: Service) -> ASGIApp:
    """Return the ASGI application of a service."""
    return _Http(service).app


class _Http:
    """The checks around a service, and its routes."""

    def __init__(self, service: Service) -> None:
        self._service, self._settings = service, service.settings
        self._token = hashlib.sha256(service.settings.token.encode()).digest()
        self._quick = ThreadPoolExecutor(service.settings.threads, "request")
        self._long = ThreadPoolExecutor(_LONG_THREADS, "long-request")
        by_path: dict[str, dict[str, Operation]] = {}
        operations = operations_of(service.model)
        for operation in operations:
            by_path.setdefault(operation.path, {})[operation.method] = operation
        document = msgspec.json.encode(openapi(operations, service.model, bool(service.settings.token)))
        routes = [self._route(path, list(methods), self._operations(methods)) for path, methods in by_path.items()]
        routes += [
            self._route("/metrics", ["GET"], self._metrics),
            self._route("/openapi.json", ["GET"], self._fixed(document, "application/json", secured=True)),
            self._route("/", ["GET"], self._fixed(*page("live.html"))),
            self._route("/docs", ["GET"], self._fixed(*page("docs.html"))),
        ]
        starlette = Starlette(
            routes=routes,
            lifespan=self._lifespan,
            exception_handlers={HTTPException: _http_problem, Exception: _fault},
        )
        starlette.router.redirect_slashes = False
        self.app = _encoded_paths(starlette)

    def _route(self, path: str, methods: list[str], endpoint: Callable[[Request], Awaitable[Response]]) -> Route:
        async def guarded(request: Request) -> Response:
            if self._settings.only_local and not _LOCAL.fullmatch(request.headers.get("host", "")):
                text = "the service answers on this machine only, as localhost or 127.0.0.1; a token opens it to others"
                return _problem(Refused(403, "other_host", text))
            return await endpoint(request)

        return Route(path, guarded, methods=methods)

    def _operations(self, methods: Mapping[str, Operation]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            operation = methods["GET" if request.method == "HEAD" else request.method]
            began, metrics = time.perf_counter(), self._service.metrics
            try:
                answer = await self._answer(operation, request)
            except Refused as refusal:
                metrics.refused.labels(refusal.code).inc()
                answer = _problem(refusal)
            metrics.requests.labels(operation.name, str(answer.status_code)).inc()
            metrics.seconds.labels(operation.name).observe(time.perf_counter() - began)
            return answer

        return endpoint

    async def _answer(self, operation: Operation, request: Request) -> Response:
        if not operation.open:
            self._check_token(request)
        path = {name: _text_of(name, value) for name, value in request.path_params.items()}
        raw = b"" if operation.body is None else await self._body(request)

        def run() -> Response:
            argument = None
            if operation.body is not None:
                argument = _decoded(raw, operation.body)
            elif operation.query is not None:
                argument = _converted(dict(request.query_params), operation.query)
            answer = operation.run(self._service, path, argument)
            if operation.answer is None:
                return Response(status_code=204, headers=_HEADERS)
            return Response(msgspec.json.encode(answer), media_type="application/json", headers=_HEADERS)

        return await self._in_thread(run, operation.long or len(raw) >= _LONG_BODY)

    async def _in_thread(self, run: Callable[[], Response], long: bool = False) -> Response:
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._long if long else self._quick, run)
        except StoreFailed as error:
            LOG.warning("%s", error)
            raise Refused(503, "no_state", "the store of live series is unavailable; try again later") from error

    def _check_token(self, request: Request) -> None:
        if not self._settings.token:
            return
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        digest = hashlib.sha256(token.strip().encode()).digest()
        if not hmac.compare_digest(digest, self._token) or scheme.lower() != "bearer":
            raise Refused(401, "no_token", "a token is required, in the header `Authorization: Bearer …`")

    async def _body(self, request: Request) -> bytes:
        """Return the body, refusing it before it is read if its headers already show that it is invalid."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            text = f"the body must be application/json; got {kind[:60] or 'no content-type'!r}"
            raise Refused(415, "not_json", text)
        most = self._settings.largest_body
        too_large = Refused(413, "too_large", f"a body may have at most {most:,} bytes; send fewer samples at once")
        length = request.headers.get("content-length", "")
        if length.isdigit() and int(length) > most:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                async for part in request.stream():
                    body += part
                    if len(body) > most:
                        raise too_large
        except TimeoutError:
            raise Refused(408, "slow_body", f"the body did not arrive within {_BODY_SECONDS:g} s") from None
        except ClientDisconnect:
            raise Refused(400, "no_body", "the body was cut off") from None
        return bytes(body)

    async def _metrics(self, request: Request) -> Response:
        try:
            self._check_token(request)
            return await self._in_thread(
                lambda: Response(
                    self._service.metrics.text(self._service.store.count()),
                    media_type="text/plain; version=0.0.4",
                    headers=_HEADERS,
                )
            )
        except Refused as refusal:
            return _problem(refusal)

    def _fixed(
        self, content: bytes, kind: str, headers: Mapping[str, str] | None = None, secured: bool = False
    ) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            try:
                if secured:
                    self._check_token(request)
            except Refused as refusal:
                return _problem(refusal)
            return Response(content, media_type=kind, headers={**_HEADERS, **(headers or {})})

        return endpoint

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        evicting = asyncio.create_task(self._evict()) if self._settings.oldest is not None else None
        yield
        if evicting is not None:
            evicting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await evicting
        for pool in (self._quick, self._long):
            pool.shutdown(wait=True)
        self._service.store.close()

    async def _evict(self) -> None:
        """Remove old series now and then; failures are tried again the next time."""
        assert self._settings.oldest is not None
        loop = asyncio.get_running_loop()
        while True:
            try:
                await loop.run_in_executor(self._quick, self._service.evict)
            except StoreFailed as error:
                LOG.warning("old series were not removed: %s", error)
            await asyncio.sleep(min(60.0, max(0.2, self._settings.oldest / 10)))


def _encoded_paths(app: ASGIApp) -> ASGIApp:
    """Match routes before percent signs are decoded, so that ids may contain slashes."""

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope.get("raw_path") is not None:
            scope = {**scope, "path": scope["raw_path"].decode("latin-1")}
        await app(scope, receive, send)

    return run


def _text_of(name: str, encoded: str) -> str:
    """Return a parameter of the path."""
    try:
        text = unquote_to_bytes(encoded.encode("latin-1")).decode()
    except UnicodeDecodeError:
        raise Refused(422, "bad_path", f"`{name}` must be UTF-8 after percent-decoding") from None
    if len(text) > LONGEST_ID or not _ID.fullmatch(text):
        raise Refused(422, "bad_path", f"`{name}` must have 1 to {LONGEST_ID} characters, without control characters")
    return text


def _decoded(raw: bytes, kind: type) -> Any:
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        raise _not_fitting(error) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Refused(400, "bad_json", f"the body is not JSON: {error}") from None


def _converted(query: dict[str, str], kind: type) -> Any:
    try:
        return msgspec.convert(query, type=kind, strict=False)
    except msgspec.ValidationError as error:
        raise _not_fitting(error) from None


def _not_fitting(error: msgspec.ValidationError) -> Refused:
    text, _, place = str(error).partition(" - at ")
    return Refused(422, "bad_body", text, place.strip("`").removeprefix("$").removeprefix("."))


def _problem(refusal: Refused, headers: Iterable[tuple[str, str]] = ()) -> Response:
    content = msgspec.json.encode(Problem(refusal.message, refusal.code, refusal.at))
    more = {"www-authenticate": "Bearer"} if refusal.status == 401 else {}
    return Response(content, refusal.status, {**_HEADERS, **more, **dict(headers)}, "application/json")


async def _http_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    names = {404: "unknown_path", 405: "other_method"}
    code = names.get(error.status_code, "bad_request")
    return _problem(Refused(error.status_code, code, str(error.detail)), dict(error.headers or {}).items())


async def _fault(request: Request, error: Exception) -> Response:
    return _problem(Refused(500, "fault", "internal error of the service; its log has the details"))
