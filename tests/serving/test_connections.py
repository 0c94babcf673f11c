"""Heads of requests that come slowly, on a protocol that runs without a server."""

import asyncio

import pytest

connections = pytest.importorskip("liquidtime.serving.connections")


class Wire(asyncio.Transport):
    """A transport that remembers what was written."""

    def __init__(self):
        super().__init__()
        self.written, self.closed = b"", False

    def write(self, data):
        self.written += data

    def is_closing(self):
        return self.closed

    def close(self):
        self.closed = True

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass


def after(pieces, monkeypatch):
    """Return what was written, and whether the connection was closed, a while after pieces were sent."""
    import uvicorn
    from uvicorn.server import ServerState

    monkeypatch.setattr(connections, "SECONDS", 0.05)

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def run():
        config = uvicorn.Config(app, http=connections.BoundedHttp, ws="none", lifespan="off", log_config=None)
        config.load()
        protocol, wire = connections.BoundedHttp(config, ServerState(), {}, asyncio.get_running_loop()), Wire()
        protocol.connection_made(wire)
        for piece in pieces:
            protocol.data_received(piece)
        await asyncio.sleep(0.3)
        seen = wire.written, wire.closed
        protocol.connection_lost(None)
        return seen

    return asyncio.run(run())


@pytest.mark.parametrize("pieces", [[], [b"GET /health HT"], [b"GET / HTTP/1.1\r\nHost: a\r\n", b"X: "]])
def test_a_head_that_does_not_arrive_ends_the_connection(pieces, monkeypatch):
    written, closed = after(pieces, monkeypatch)
    assert closed
    assert written.startswith(b"HTTP/1.1 400")
    assert b"did not arrive in time" in written


def test_a_whole_head_is_answered_and_its_connection_kept(monkeypatch):
    written, closed = after([b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"], monkeypatch)
    assert written.startswith(b"HTTP/1.1 200")
    assert not closed
