"""Several processes on one store under load: every sample counts once, whichever process takes it."""

import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

from serving.servers import (
    Service,
    free_port,
    needs_postgresql,
    needs_redis,
    postgresql_at,
    postgresql_server,
    redis_at,
    redis_server,
    wait_until,
)

PLACES = [
    pytest.param("redis", marks=needs_redis),
    pytest.param("postgresql", marks=needs_postgresql),
]


@pytest.fixture(params=PLACES)
def place(request):
    with {"redis": redis_server, "postgresql": postgresql_server}[request.param]() as address:
        yield address


def test_two_services_on_one_store_under_load(place, exported, streams, statics, batch):
    """Each channel of a series is sent by a thread of its own, at one time after the other, to either service."""
    with Service(exported, place) as one, Service(exported, place) as other:
        problems = []

        def send(number, id, name, barrier):
            for t, values in streams[id]:
                barrier.wait(300)
                service = (one, other)[(number + round(t)) % 2]
                for _ in range(2):  # each of them twice
                    sent = {name: values[name]} if name in values else {}
                    status, answer = service.send(id, [(t, sent)], static=statics[id])
                    if status != 200:
                        problems.append((id, t, name, answer))

        for id in list(streams)[:3]:
            names = ["a", "b", "c0", "k"]
            barrier = threading.Barrier(len(names))
            threads = [
                threading.Thread(target=send, args=(number, id, name, barrier)) for number, name in enumerate(names)
            ]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            assert not problems
            shown = [service.request("GET", f"/series/{id}")[1] for service in (one, other)]
            assert shown[0] == shown[1]
            assert shown[0]["times"] == len(streams[id])
            given = [shown[0]["prediction"]["probabilities"][name] for name in ("0", "1")]
            np.testing.assert_allclose(given, batch[id], atol=5e-6)
        counted = sum(
            float(line.split()[-1])
            for service in (one, other)
            for line in service.request("GET", "/metrics")[1].splitlines()
            if line.startswith("liquidtime_samples_total")
        )
        assert counted == 2 * 4 * sum(len(streams[id]) for id in list(streams)[:3])


@pytest.mark.parametrize("kind", PLACES)
def test_a_store_that_goes_and_comes_back(kind, exported, streams, statics, batch):
    """While it is away requests get 503 and nothing is acknowledged; then the series goes on where it was."""
    samples = streams["s0"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        port, start = free_port(), {"redis": redis_at, "postgresql": postgresql_at}[kind]
        place = (folder if kind == "redis" else Path(folder) / "data", port)
        with start(*place) as address:
            service = Service(exported, address)
            wait_until(lambda: service.request("GET", "/health")[0] == 200)
            assert service.send("s0", samples[:5], static=statics["s0"])[0] == 200
        try:
            for method, path in (("GET", "/series/s0"), ("GET", "/health"), ("GET", "/v2/health/ready")):
                status, answer = service.request(method, path)
                assert (status, answer["code"]) == (503, "no_state")
            assert service.send("s0", samples[5:6])[0] == 503
            assert service.request("GET", "/v2/health/live")[0] == 200
            with start(*place):
                wait_until(lambda: service.request("GET", "/health")[0] == 200)
                status, answer = service.send("s0", samples[5:])
                assert (status, answer["times"]) == (200, len(samples))
                given = [answer["prediction"]["probabilities"][name] for name in ("0", "1")]
                np.testing.assert_allclose(given, batch["s0"], atol=5e-6)
        finally:
            service.stop()
