"""Connections that limit the size of the headers of requests, and the time until they arrive."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEAD = 1 << 16
SECONDS = 30.0


class BoundedHttp(HttpToolsProtocol):
    """HTTP in which no client can occupy memory or a connection with endless headers; the application limits bodies."""

    _bytes, _in_head = 0, True
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for the headers of the first request."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the connection."""
        self._head_is_here()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Process received data; close the connection if headers have become too large."""
        self._bytes += len(data)
        super().data_received(data)
        if self._in_head and self._bytes > LARGEST_HEAD:
            self._refuse("The headers of the request are too large.")

    def on_message_begin(self) -> None:
        """Start waiting for the headers of a request."""
        super().on_message_begin()
        self._expect_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Process a header; an error here makes the request a bad one."""
        super().on_header(name, value)
        if sum(len(each) + len(own) for each, own in self.headers) + len(self.url) > LARGEST_HEAD:
            raise ValueError("the headers of the request are too large")

    def on_headers_complete(self) -> None:
        """Start to answer."""
        self._head_is_here()
        super().on_headers_complete()

    def _expect_head(self) -> None:
        self._head_is_here()
        self._bytes, self._in_head = 0, True
        self._deadline = self.loop.call_later(SECONDS, self._refuse, "The request's headers did not arrive in time.")

    def _head_is_here(self) -> None:
        self._in_head = False
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, message: str) -> None:
        transport: Any = self.transport
        if self._in_head and transport is not None and not transport.is_closing():
            self.send_400_response(message)
