"""A service that is killed in mid-stream: nothing that was acknowledged is lost, and the end is that of the batch."""

import http.client
import signal
import threading
import time

import numpy as np

from serving.servers import Service, free_port, wait_until

KILLS = 10


def test_killed_ten_times_the_series_end_where_the_batch_ends(exported, streams, statics, batch, tmp_path):
    """Clients send on while the service is killed; they wait only where they would be done before the last kill."""
    copies = {f"{id} {k}": id for k in range(4) for id in streams}
    total = sum(len(streams[id]) for id in copies.values())
    portion = total / (KILLS + 1)
    acknowledged, times, port, stop = [], {}, free_port(), threading.Event()
    kills = 0
    running = [Service(exported, tmp_path / "state.db", port=port)]

    def send(ids):
        """Send one sample after the other, each again until it is acknowledged."""
        for id in ids:
            for t, values in streams[copies[id]]:
                while not stop.is_set():
                    if len(acknowledged) >= (kills + 1) * portion and kills < KILLS:
                        time.sleep(0.002)
                        continue
                    try:
                        status, answer = Service.send(running[0], id, [(t, values)], static=statics[copies[id]])
                    except (OSError, http.client.HTTPException):
                        time.sleep(0.005)
                        continue
                    assert (status, answer["time"]) == (200, t), answer
                    times[id] = t
                    acknowledged.append(id)
                    break

    def shown(id):
        return running[0].request("GET", f"/series/{id.replace(' ', '%20')}")

    threads = [threading.Thread(target=send, args=(sorted(copies)[n::3],)) for n in range(3)]
    [thread.start() for thread in threads]
    try:
        for kill in range(KILLS):
            wait_until(lambda kill=kill: len(acknowledged) >= (kill + 0.5) * portion)
            assert len(acknowledged) < total
            running[0].stop(signal.SIGKILL)
            promised = dict(times)
            running[0] = Service(exported, tmp_path / "state.db", port=port)
            kills += 1
            wait_until(lambda: running[0].request("GET", "/health")[0] == 200)
            for id, t in promised.items():
                status, answer = shown(id)
                assert status == 200
                assert answer["time"] >= t
        [thread.join(600) for thread in threads]
        assert len(acknowledged) == total > 200
        for id, original in copies.items():
            status, answer = shown(id)
            assert (status, answer["times"]) == (200, len(streams[original]))
            given = [answer["prediction"]["probabilities"][name] for name in ("0", "1")]
            np.testing.assert_allclose(given, batch[original], atol=5e-6)
    finally:
        stop.set()
        [thread.join(600) for thread in threads]
        running[0].stop()
