"""The application without a server: which requests wait for which."""

import asyncio
import json
import threading

from liquidtime.serving.app import application
from liquidtime.serving.launch import service_of
from liquidtime.serving.settings import Settings


async def post(app, path, body):
    """Return the status of an answer."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b""}
    await app(scope | {"headers": headers, "root_path": "", "http_version": "1.1"}, receive, send)
    return sent[0]["status"]


def test_long_bodies_keep_no_short_request_waiting(exported, tmp_path):
    service = service_of(Settings(exported, str(tmp_path / "s.db"), threads=2))
    release, take = threading.Event(), service.take

    def slow(id, request):
        if id.startswith("long"):
            assert release.wait(60)
        return take(id, request)

    service.take = slow
    body = json.dumps({"samples": [{"time": 1.0, "values": {"a": 1.0}}]}).encode()

    async def run():
        app = application(service)
        long = [asyncio.create_task(post(app, f"/series/long{k}/samples", body + b" " * 40_000)) for k in range(5)]
        try:
            short = await asyncio.wait_for(post(app, "/series/short/samples", body), 30)
            assert not any(task.done() for task in long)
        finally:
            release.set()
        return short, await asyncio.gather(*long)

    assert asyncio.run(run()) == (200, [200] * 5)
    service.store.close()
