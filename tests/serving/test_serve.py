"""The command: what it serves, what it refuses before it serves, and how it ends."""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import liquidtime as lt
from liquidtime.cli.app import app
from liquidtime.serving.exported import identity_of
from liquidtime.serving.preparation import cache_of
from serving.servers import Service, free_port, request, wait_until

pytestmark = pytest.mark.slow


def refused(*words):
    """Run the command, which is to end by itself; return its exit code and what it said."""
    done = CliRunner().invoke(app, ["serve", *map(str, words)])
    return done.exit_code, done.stderr


def family(pid):
    """Return the process and those that it started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in family(int(child)))]


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "ward"
    model.save(path)
    return path


def test_a_model_folder_is_exported_once_beside_the_state_and_served_without_torch(folder, tmp_path, streams, statics):
    before = {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}
    state = tmp_path / "s.db"
    with Service(folder, state, "--workers", 2) as service:
        assert service.said()[0].startswith(f"serving ward on http://127.0.0.1:{service.port}\n")
        id, samples = next(iter(streams.items()))
        assert service.send(id, samples, static=statics[id])[0] == 200
        if sys.platform == "linux":
            running = family(service.process.pid)
            assert len(running) >= 3
            for pid in running:
                assert "torch" not in Path(f"/proc/{pid}/maps").read_text()
    assert {file.name: file.stat().st_mtime_ns for file in folder.iterdir()} == before
    (cached,) = cache_of(str(state)).iterdir()
    made = cached.stat().st_mtime_ns
    with Service(folder, state) as service:
        assert service.request("GET", f"/series/{id}")[1]["times"] == len(samples)
        code, out, err = service.stop()
    assert (code, err) == (143, "")
    assert "1 series of this model" in out
    assert cached.stat().st_mtime_ns == made


def test_every_export_of_a_model_has_one_identity_and_other_models_others(model, exported, folder, data, tmp_path):
    lt.export.onnx(folder, tmp_path / "again", data=data)
    described = [json.loads((each / "model.json").read_text()) for each in (exported, tmp_path / "again")]
    assert described[0] != described[1]
    assert identity_of(described[0]) == identity_of(described[1])
    assert identity_of(described[0] | {"model": "another"}) != identity_of(described[0])
    assert identity_of(described[0] | {"made_by": "a later version", "more": 1}) == identity_of(described[0])
    assert identity_of(described[0] | {"classes": [1, 0]}) != identity_of(described[0])


def test_series_of_another_model_are_kept_apart_and_said(exported, tmp_path):
    from export.models import per_step

    other = per_step()
    lt.export.onnx(other, tmp_path / "other")
    with Service(exported, tmp_path / "s.db") as service:
        service.send("x", [(1.0, {"a": 1.0})])
    with Service(tmp_path / "other", tmp_path / "s.db") as service:
        assert service.request("GET", "/series/x")[0] == 404
        answer = service.send("x", [(1.0, {"0": 1.0})])[1]
        (value,) = answer["prediction"]["values"]
        other.reset()
        assert abs(value - float(other.update("x", 1.0, {"0": 1.0}))) < 5e-3  # of targets around a thousand
        assert "1 series of other models" in service.stop()[1]
    with Service(exported, tmp_path / "s.db") as service:
        assert service.request("GET", "/series/x")[1]["times"] == 1


def test_what_cannot_be_served_is_refused_with_the_reason(exported, folder, tmp_path, data):
    state = ("--port", 0, "--state", tmp_path / "s.db")
    whole = lt.CfCClassifier(hidden_size=4, read_out_units=4, epochs=1, network="transformer", random_state=0).fit(
        data, [0, 1, 0, 1, 0, 1]
    )
    whole.save(tmp_path / "transformer")
    code, said = refused(tmp_path / "transformer", *state)
    assert code == 2
    assert "cannot be served: " in said
    assert "whole series" in said
    assert not list(cache_of(str(tmp_path / "s.db")).iterdir())
    (tmp_path / "damaged").mkdir()
    for file in exported.iterdir():
        content = file.read_bytes()
        (tmp_path / "damaged" / file.name).write_bytes(content[:-1] + b"x" if file.name == "step.onnx" else content)
    (tmp_path / "empty").mkdir()
    (tmp_path / "secret").write_text("\n")
    for words, text in [
        ((tmp_path / "damaged", *state), "does not have the sha256"),
        ((tmp_path / "empty", *state), "neither a model folder nor"),
        ((tmp_path / "wardd", *state), "there is no model folder"),
        ((exported, "--port", 0, "--state", tmp_path / "no" / "s.db"), "must be in a folder that exists"),
        ((exported, "--port", 0, "--state", tmp_path), "is a folder; choose a file name"),
        ((exported, "--port", 0, "--state", "mysql://host/x"), "redis://"),
        ((exported, "--state", "redis://127.0.0.1:1/0", "--port", 0), "cannot be used"),
        ((exported, *state, "--max-age", "7 weeks"), "such as 90s"),
        ((exported, *state, "--max-body", "1TB"), "100 bytes to 1 GB"),
        ((exported, *state, "--token-file", tmp_path / "secret"), "is empty; it must contain"),
        ((exported, *state, "--host", "256.1.1.1"), "cannot listen"),
        ((exported, *state, "--part", "networks"), "--part applies only to a model folder"),
    ]:
        code, said = refused(*words)
        assert code == (1 if "redis" in str(words) else 2), said
        assert text in said
        assert said.startswith("error: ")
        assert len(said.splitlines()) == 1


def test_a_missing_package_is_said_before_anything_is_done(exported, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, said = refused(exported, "--state", tmp_path / "s.db", "--port", 0)
    assert code == 1
    assert "pip install 'liquidtime[serve]'" in said
    assert not list(tmp_path.iterdir())


def test_a_port_in_use_is_said(exported, tmp_path):
    with Service(exported, tmp_path / "s.db") as service:
        code, said = refused(exported, "--port", 0, "--state", tmp_path / "t.db", "--port", service.port)
    assert code == 2
    assert "Choose another --port" in said


@pytest.mark.parametrize("way", ["variable", "file"])
def test_a_token_is_asked_of_all_that_reads_or_changes_series(exported, tmp_path, way):
    (tmp_path / "token").write_text("s3cret\n")
    options = ("--token-file", tmp_path / "token") if way == "file" else ()
    env = {"LIQUIDTIME_TOKEN": "s3cret" if way == "variable" else "another"}
    with Service(exported, tmp_path / "s.db", *options, env=env) as service:
        good = {"samples": [{"time": 1.0}]}
        closed = [
            ("POST", "/series/x/samples", good), ("GET", "/series/x", None), ("DELETE", "/series/x", None),
            ("GET", "/series", None), ("POST", "/predict", {"series": [{"samples": []}]}), ("GET", "/metrics", None),
            ("GET", "/model", None), ("GET", "/v2/models/ward", None), ("POST", "/v2/models/ward/infer", {}),
            ("GET", "/openapi.json", None), ("GET", "/v2", None), ("HEAD", "/series/x", None),
        ]  # fmt: skip
        for method, path, body in closed:
            for header in (None, "Bearer", "Bearer wrong", "Basic s3cret", "Bearer s3cret2", "Bearer \u00ff"):
                headers = {} if header is None else {"authorization": header}
                status, answer = service.request(method, path, body, headers)
                assert status == 401
                assert method == "HEAD" or answer["code"] == "no_token"
        token = {"authorization": "Bearer s3cret", "host": "anything.example"}
        assert service.request("POST", "/series/x/samples", good, token)[0] == 200
        assert service.request("GET", "/series/x", None, token)[0] == 200
        assert service.request("GET", "/openapi.json", None, token)[0] == 200
        for path in ("/health", "/v2/health/live", "/v2/health/ready", "/", "/docs"):
            assert service.request("GET", path)[0] == 200
        if sys.platform == "linux" and way == "file":
            assert "s3cret" not in Path(f"/proc/{service.process.pid}/cmdline").read_text()


def test_requests_under_way_are_answered_when_it_is_told_to_end(exported, tmp_path):
    samples = [{"time": float(t), "values": {"a": 1.0}} for t in range(3000)]
    with Service(exported, tmp_path / "s.db") as service:
        answers = []
        long = threading.Thread(
            target=lambda: answers.append(service.post("/series/long/samples", {"samples": samples}))
        )
        long.start()
        wait_until(lambda: "liquidtime_requests" in service.request("GET", "/metrics")[1])
        time.sleep(0.2)
        began = time.monotonic()
        code, _, err = service.stop()
        long.join()
    assert (code, err, answers[0][0]) == (143, "", 200)
    assert time.monotonic() - began < 30
    with Service(exported, tmp_path / "s.db") as service:
        assert service.request("GET", "/series/long")[1]["times"] == 3000
        assert service.stop(signal.SIGINT)[0] == 130


def test_workers_that_die_are_replaced_and_end_with_their_parent(exported, tmp_path):
    port = free_port()
    with Service(exported, tmp_path / "s.db", "--workers", 2, port=port) as service:
        workers = family(service.process.pid)[1:]
        assert service.send("x", [(1.0, {"a": 1.0})])[0] == 200
        os.kill(workers[-1], signal.SIGKILL)
        wait_until(lambda: workers[-1] not in family(service.process.pid))
        for k in range(10):
            assert service.send("x", [(2.0 + k, {"a": 1.0})])[0] == 200
        left = family(service.process.pid)[1:]
        service.stop(signal.SIGKILL)
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in left))
    with Service(exported, tmp_path / "s.db", port=port) as service:  # the port is free again
        assert request(port, "GET", "/series/x")[1]["times"] == 11


def test_series_grow_old(exported, tmp_path):
    with Service(exported, tmp_path / "s.db", "--max-age", "1s") as service:
        assert service.send("x", [(1.0, {"a": 1.0})])[0] == 200
        wait_until(lambda: service.request("GET", "/series/x")[0] == 404)
        assert "liquidtime_evicted_series_total 1.0" in service.request("GET", "/metrics")[1]
