"""A service that is killed in mid-stream: nothing that was acknowledged is lost, and the end is that of the batch."""

import http.client
import random
import signal
import threading
import time

import numpy as np

from serving.servers import Service, free_port

KILLS = 10


def test_killed_ten_times_the_series_end_where_the_batch_ends(exported, streams, statics, batch, tmp_path):
    copies = {f"{id} {k}": id for k in range(4) for id in streams}
    acknowledged, port = {}, free_port()
    stop = threading.Event()
    rng = random.Random(0)

    def send(ids):
        """Send one sample after the other, each again until it is acknowledged."""
        for id in ids:
            samples = streams[copies[id]]
            for t, values in samples:
                while not stop.is_set():
                    try:
                        status, answer = Service.send(running[0], id, [(t, values)], static=statics[copies[id]])
                    except (OSError, http.client.HTTPException):
                        time.sleep(0.005)
                        continue
                    assert status == 200, answer
                    assert answer["time"] == t
                    acknowledged[id] = t
                    break

    running = [Service(exported, tmp_path / "state.db", port=port)]
    ids = sorted(copies)
    threads = [threading.Thread(target=send, args=(ids[n::3],)) for n in range(3)]
    [thread.start() for thread in threads]
    total, kills = sum(len(streams[id]) for id in copies.values()), 0
    try:
        for _ in range(KILLS):
            before = len(acknowledged)
            deadline = time.monotonic() + 300
            while len(acknowledged) < min(before + 1 + rng.randrange(3), len(ids)) and time.monotonic() < deadline:
                time.sleep(0.002)
            kills += any(thread.is_alive() for thread in threads)  # in mid-stream
            running[0].stop(signal.SIGKILL)
            running[0] = Service(exported, tmp_path / "state.db", port=port)
            for id, t in list(acknowledged.items()):
                status, answer = running[0].request("GET", f"/series/{id.replace(' ', '%20')}")
                assert status == 200
                assert answer["time"] >= t
        [thread.join(600) for thread in threads]
        assert kills == KILLS
        assert total > 200
        for id, original in copies.items():
            status, answer = running[0].request("GET", f"/series/{id.replace(' ', '%20')}")
            assert answer["times"] == len(streams[original])
            given = [answer["prediction"]["probabilities"][name] for name in ("0", "1")]
            np.testing.assert_allclose(given, batch[original], atol=5e-6)
    finally:
        stop.set()
        running[0].stop()
