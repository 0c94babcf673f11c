"""Several processes on one store under load: every sample counts once, whichever process takes it."""

import threading

import numpy as np
import pytest

from serving.servers import Service, needs_postgresql, needs_redis, postgresql_server, redis_server

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
