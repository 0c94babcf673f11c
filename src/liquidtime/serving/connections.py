"""Connections whose requests have heads of bounded size, which arrive in bounded time."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEAD = 1 << 16
SECONDS = 30.0


class BoundedHttp(HttpToolsProtocol):
    """HTTP in which no client holds memory or a connection by a head without end; the application bounds bodies."""

    _bytes, _in_head = 0, True
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect the first head."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of the connection."""
        self._head_is_here()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what came; end the connection where a head has become too large."""
        self._bytes += len(data)
        super().data_received(data)
        if self._in_head and self._bytes > LARGEST_HEAD:
            self._refuse("The head of the request is too large.")

    def on_message_begin(self) -> None:
        """Expect the head of a request."""
        super().on_message_begin()
        self._expect_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a field of the head; an error here makes the request a bad one."""
        super().on_header(name, value)
        if sum(len(each) + len(own) for each, own in self.headers) + len(self.url) > LARGEST_HEAD:
            raise ValueError("the head of the request is too large")

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        self._head_is_here()
        super().on_headers_complete()

    def _expect_head(self) -> None:
        self._head_is_here()
        self._bytes, self._in_head = 0, True
        self._deadline = self.loop.call_later(SECONDS, self._refuse, "The head of the request did not arrive in time.")

    def _head_is_here(self) -> None:
        self._in_head = False
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, message: str) -> None:
        transport: Any = self.transport
        if self._in_head and transport is not None and not transport.is_closing():
            self.send_400_response(message)
