"""The service over HTTP, on a server that runs: every operation, and what strangers send."""

import http.client
import json
import socket
import urllib.parse

import numpy as np
import pytest

from serving.servers import Service, request

GOOD = {"samples": [{"time": 1.0, "values": {"a": 1.0}}]}


@pytest.fixture(scope="module")
def service(exported, tmp_path_factory):
    folder = tmp_path_factory.mktemp("http")
    with Service(exported, folder / "state.db", "--max-body", "100kB", "--max-series", 40, "--keep", 8) as running:
        yield running


def probabilities(answer):
    return [answer["prediction"]["probabilities"][name] for name in ("0", "1")]


def test_samples_one_by_one_and_many_at_once_end_at_the_batch(service, streams, statics, batch):
    for id, samples in streams.items():
        status, answer = service.send(id, samples[:1], static=statics[id])
        assert (status, answer["taken"], answer["repeated"], answer["times"]) == (200, 1, 0, 1)
        for t, values in samples[1:3]:
            assert service.send(id, [(t, values)])[0] == 200
        status, answer = service.send(id, samples)  # those before are known
        assert (status, answer["repeated"]) == (200, min(3, len(samples)))
        assert (answer["time"], answer["times"]) == (samples[-1][0], len(samples))
        np.testing.assert_allclose(probabilities(answer), batch[id], atol=5e-6)
        assert answer["prediction"]["label"] == int(np.argmax(batch[id]))
        status, shown = service.request("GET", f"/series/{id}")
        assert shown["prediction"] == answer["prediction"]
        assert len(shown["path"]) == min(8, len(samples))
        assert shown["path"][-1] == {"time": answer["time"], "prediction": answer["prediction"]}


def test_whole_series_equal_the_batch(service, streams, statics, batch):
    body = {
        "time_unit": "h",
        "series": [
            {"id": id, "static": statics[id], "samples": [{"time": t, "values": values} for t, values in samples]}
            for id, samples in streams.items()
        ],
    }
    status, answer = service.post("/predict", body)
    assert status == 200
    assert [each["id"] for each in answer["predictions"]] == list(streams)
    np.testing.assert_allclose([probabilities(each) for each in answer["predictions"]], list(batch.values()), atol=5e-6)
    status, empty = service.post("/predict", {"series": [{"samples": []}]})
    assert (status, empty["predictions"][0]["id"]) == (200, None)


def test_a_series_is_listed_and_deleted(service):
    assert service.send("gone", [(1.0, {"a": 1.0})])[0] == 200
    status, listed = service.request("GET", "/series?limit=1&path=1")
    assert (status, listed["series"][0]["id"], len(listed["series"][0]["path"])) == (200, "gone", 1)
    assert service.request("DELETE", "/series/gone") == (204, "")
    status, after = service.request("GET", "/series?limit=1000")
    assert after["total"] == listed["total"] - 1
    for method in ("GET", "DELETE"):
        status, answer = service.request(method, "/series/gone")
        assert (status, answer["code"]) == (404, "unknown_series")


@pytest.mark.parametrize("id", ["a/b", "ä", "..", ".", "samples", "a b?c#d", "\U0001f600", "%41", "x" * 200])
def test_ids_are_texts(service, id):
    path = "/series/" + urllib.parse.quote(id, safe="").replace(".", "%2E")
    assert service.post(path + "/samples", GOOD)[1]["id"] == id
    assert service.request("GET", path)[1]["id"] == id
    assert service.request("DELETE", path)[0] == 204


BAD_IDS = ["%00", "a%0Ab", "%FF", "x" * 201, "%7F", "%C2%9B31m", "%E2%80%A8", "%E2%80%AEdrow", "%ED%A0%80"]


@pytest.mark.parametrize("path", [f"/series/{id}" for id in BAD_IDS])
def test_ids_that_are_none(service, path):
    for method, end, body in (("GET", "", None), ("DELETE", "", None), ("POST", "/samples", GOOD)):
        status, answer = service.request(method, path + end, body)
        assert (status, answer["code"]) == (422, "bad_path")


def deep(n):
    return b'{"samples":' + b"[" * n + b"]" * n + b"}"


REFUSED = {
    "nothing": (b"", 400, "bad_json"),
    "no JSON": (b"{samples", 400, "bad_json"),
    "bytes": (b"\xff\xfe\x00", 400, "bad_json"),
    "another text after it": (json.dumps(GOOD).encode() + b"{}", 400, "bad_json"),
    "deep lists": (deep(40_000), 422, "bad_body"),
    "deep objects": (b'{"samples":[{"time":1,"values":' * 3000, 422, "bad_body"),
    "NaN": (b'{"samples":[{"time":1,"values":{"a":NaN}}]}', 400, "bad_json"),
    "infinite": (b'{"samples":[{"time":1,"values":{"a":Infinity}}]}', 400, "bad_json"),
    "a number without end": (b'{"samples":[{"time":1,"values":{"a":1e999}}]}', 422, "bad_body"),
    "a whole number without end": (b'{"samples":[{"time":1,"values":{"a":1' + b"0" * 5000 + b"}}]}", 422, "bad_body"),
    "a time without end": (b'{"samples":[{"time":1' + b"0" * 400 + b"}]}", 422, "bad_time"),
    "half a character": (b'{"samples":[{"time":1,"values":{"\\ud800":1}}]}', 400, "bad_json"),
    "a list": ([], 422, "bad_body"),
    "no samples": ({}, 422, "bad_body"),
    "an empty list of samples": ({"samples": []}, 422, "bad_body"),
    "a sample without a time": ({"samples": [{"values": {"a": 1.0}}]}, 422, "bad_body"),
    "no values": ({"samples": [{"time": 1.0, "values": None}]}, 422, "bad_body"),
    "a list as a value": ({"samples": [{"time": 1.0, "values": {"a": [1.0]}}]}, 422, "bad_body"),
    "a truth value as the time": ({"samples": [{"time": True}]}, 422, "bad_body"),
    "an unknown field": ({"samples": [{"time": 1.0, "value": {"a": 1.0}}]}, 422, "bad_body"),
    "units of channels": ({**GOOD, "units": {"a": "bpm"}}, 422, "bad_body"),
    "another unit of time": ({**GOOD, "time_unit": "min"}, 422, "other_unit"),
    "no unit of time": ({**GOOD, "time_unit": "fortnight"}, 422, "other_unit"),
    "an unknown channel": ({"samples": [{"time": 1.0, "values": {"HR": 1.0}}]}, 422, "unknown_channel"),
    "an unknown static feature": ({**GOOD, "static": {"height": 1.0}}, 422, "unknown_static_feature"),
    "a text as a number": ({"samples": [{"time": 1.0, "values": {"a": "1"}}]}, 422, "bad_value"),
    "a time that is none": ({"samples": [{"time": "noon"}]}, 422, "bad_time"),
    "a second sample out of order": (
        {"samples": [{"time": 5.0, "values": {"a": 1.0}}, {"time": 4.0, "values": {"a": 1.0}}]}, 409, "late_sample",
    ),
    "too large": (b" " * 100_001, 413, "too_large"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused_and_changes_nothing(service, name):
    body, status, code = REFUSED[name]
    for id in ("refused and new", "refused and there"):
        if id.endswith("there"):
            service.send(id, [(0.5, {"b": 1.0})])
        path = f"/series/{urllib.parse.quote(id)}"
        before = service.request("GET", path)
        got, answer = service.post(path + "/samples", body)
        assert (got, answer["code"]) == (status, code), answer
        assert len(answer["error"]) > 10
        assert service.request("GET", path) == before
    if code == "late_sample":
        assert answer["at"] == "samples[1].time"


@pytest.mark.parametrize(
    ("series", "code", "at"),
    [
        ([{"samples": [{"time": 2.0}, {"time": 1.0}]}], "out_of_order", "series[0].samples[1].time"),
        ([{"samples": []}, {"samples": [{"time": 1.0, "values": {"z": 1}}]}],
         "unknown_channel", "series[1].samples[0].values"),
        ([{"samples": [{"time": 1.0}, {"time": "2024-01-01"}]}], "other_clock", "series[0].samples[1].time"),
        ([{"samples": [], "static": {"z": 1}}], "unknown_static_feature", "series[0].static"),
        ([{"samples": [{"time": -1e308}, {"time": 1e308, "values": {"a": 1.0}}]}], "not_finite", "series[0]"),
    ],
)  # fmt: skip
def test_whole_series_that_do_not_fit_say_where(service, series, code, at):
    status, answer = service.post("/predict", {"series": series})
    assert status in (409, 422)
    assert (answer["code"], answer["at"]) == (code, at)


def test_a_body_is_json_by_its_head_and_has_a_bound_also_in_chunks(service):
    status, answer = service.request("POST", "/series/x/samples", json.dumps(GOOD), {"content-type": "text/plain"})
    assert (status, answer["code"]) == (415, "not_json")  # which a page elsewhere could send without being asked
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
    parts = (b" " * 10_000 for _ in range(50))
    connection.request("POST", "/series/x/samples", parts, {"content-type": "application/json"}, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()
    with socket.create_connection(("127.0.0.1", service.port)) as raw:
        raw.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        raw.sendall(b"Content-Length: 99999999999\r\n\r\n")
        assert raw.recv(1000).startswith(b"HTTP/1.1 413")
    with socket.create_connection(("127.0.0.1", service.port)) as raw:
        raw.sendall(b"\x00\x01\x02 nothing of HTTP\r\n\r\n")
        assert raw.recv(1000).startswith(b"HTTP/1.1 400")
    with socket.create_connection(("127.0.0.1", service.port)) as raw:  # half a body, then gone
        raw.sendall(b"POST /series/cut/samples HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        raw.sendall(b"Content-Length: 500\r\n\r\n" + json.dumps(GOOD).encode())
    assert service.request("GET", "/series/cut")[0] == 404


def test_a_head_has_a_bound(service):
    lines = b"".join(b"x-%d: %s\r\n" % (k, b"a" * 9000) for k in range(8))
    for head in (lines + b"\r\n", b"x: " + b"a" * 70_000, lines):  # whole, one line without end, lines without end
        with socket.create_connection(("127.0.0.1", service.port)) as raw:
            raw.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + head)
            assert raw.recv(1000).startswith(b"HTTP/1.1 400")
    small = {f"x-{k}": "a" * 1000 for k in range(20)}
    assert service.request("GET", "/health", headers=small)[0] == 200


def test_other_paths_methods_and_queries(service):
    assert service.request("GET", "/nowhere")[1]["code"] == "unknown_path"
    assert service.request("GET", "/series/")[0] == 404
    for method, path in (("PUT", "/series/x"), ("GET", "/predict"), ("POST", "/series"), ("TRACE", "/health")):
        status, answer = service.request(method, path)
        assert (status, answer["code"]) == (405, "other_method")
    for query in ("limit=0", "limit=1001", "limit=x", "path=-1", "limit=1.5", "limit="):
        status, answer = service.request("GET", f"/series?{query}")
        assert (status, answer["code"]) == (422, "bad_body")


def test_a_request_by_another_name_of_the_machine_is_refused(service):
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", ""):
        status, answer = service.request("GET", "/series", headers={"host": host})
        assert (status, answer["code"]) == (403, "other_host")
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1:8000", "[::1]:8000"):
        assert service.request("GET", "/series", headers={"host": host})[0] == 200


def test_the_number_of_series_is_bounded(service):
    made = []
    for k in range(50):
        status, answer = service.send(f"many {k}", [(1.0, {"a": 1.0})])
        if status != 200:
            break
        made.append(k)
    assert (status, answer["code"]) == (429, "too_many_series")
    assert service.request("GET", "/health")[1]["series"] == 40
    for k in made:
        assert service.request("DELETE", f"/series/many%20{k}")[0] == 204


def test_metrics_and_health(service):
    text = service.request("GET", "/metrics")[1]
    assert 'liquidtime_samples_total{what="taken"}' in text
    assert 'liquidtime_requests_total{operation="take_samples",status="200"}' in text
    assert "liquidtime_request_seconds_bucket" in text
    status, health = service.request("GET", "/health")
    assert (status, health["status"], health["model"], health["state"]) == (200, "ok", "ward", "sqlite")
    assert f"liquidtime_series {float(health['series'])}" in text
    status, facts = service.request("GET", "/model")
    assert [each["name"] for each in facts["channels"]] == ["a", "b", "c0", "k"]
    assert facts["identity"] == health["identity"]


def test_pages_load_nothing_from_elsewhere(service):
    for path in ("/", "/docs"):
        connection = http.client.HTTPConnection("127.0.0.1", service.port)
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
        assert "https://" not in text
        connection.close()


def test_every_operation_of_the_document_is_there(service):
    status, document = service.request("GET", "/openapi.json")
    assert status == 200
    assert {"/series/{id}/samples", "/series/{id}", "/predict", "/health", "/v2/models/{name}/infer"} <= set(
        document["paths"]
    )
    for path, methods in document["paths"].items():
        for method in methods:
            answer = service.request(method.upper(), path.replace("{", "").replace("}", ""))
            assert answer[0] != 405, path


def infer(service, **tensors):
    inputs = [{"name": name, **tensor} for name, tensor in tensors.items()]
    return service.post("/v2/models/ward/infer", {"id": "7", "inputs": inputs})


def as_tensors(data):
    B, T, C = len(data), int(data.lengths.max()), len(data.channels)
    times, values = np.zeros((B, T)), np.full((B, T, C), np.nan)
    for b, series in enumerate(data):
        times[b, : len(series.times)], values[b, : len(series.times)] = series.times, series.values
    plain = [None if value != value else value for value in values.ravel().tolist()]
    static = [[None if value != value else value for value in row] for row in data.static.tolist()]
    return {
        "times": {"shape": [B, T], "datatype": "FP64", "data": times.tolist()},  # nested
        "values": {"shape": [B, T, C], "datatype": "FP32", "data": plain},  # flat
        "lengths": {"shape": [B], "datatype": "INT64", "data": data.lengths.tolist()},
        "static": {"shape": [B, 2], "datatype": "FP32", "data": static},
    }


def test_the_open_inference_protocol_answers_whole_series(service, data, batch):
    assert service.request("GET", "/v2/health/live") == (200, {"live": True})
    assert service.request("GET", "/v2/health/ready") == (200, {"ready": True})
    assert service.request("GET", "/v2")[1]["name"] == "liquidtime"
    assert service.request("GET", "/v2/models/ward/ready") == (200, {"name": "ward", "ready": True})
    facts = service.request("GET", "/v2/models/ward")[1]
    assert [each["name"] for each in facts["inputs"]] == ["times", "values", "lengths", "static"]
    assert facts["inputs"][1] == {"name": "values", "datatype": "FP32", "shape": [-1, -1, 4]}
    assert service.request("GET", "/v2/models/ward/versions/1")[1] == facts
    assert service.request("GET", "/v2/models/ward/versions/2")[0] == 404
    status, answer = infer(service, **as_tensors(data))
    assert (status, answer["id"], answer["model_name"]) == (200, "7", "ward")
    predictions, labels = answer["outputs"]
    assert (predictions["name"], predictions["datatype"], predictions["shape"]) == ("prediction", "FP64", [6, 2])
    wanted = np.stack(list(batch.values()))
    np.testing.assert_allclose(np.reshape(predictions["data"], (6, 2)), wanted, atol=5e-6)
    assert labels["data"] == [str(k) for k in wanted.argmax(axis=1)]
    assert service.post("/v2/models/other/infer", {"inputs": [{}]})[0] in (404, 422)


WRONG = {
    "name": {"time": {"shape": [1, 1], "datatype": "FP64", "data": [1.0]}},
    "shape": {"times": {"shape": [1, 2], "datatype": "FP64", "data": [1.0]}},
    "a shape without end": {"times": {"shape": [10**12, 10**12], "datatype": "FP64", "data": [1.0]}},
    "rows of nothing without end": {
        "times": {"shape": [2**26, 0], "datatype": "FP64", "data": []},
        "values": {"shape": [2**26, 0, 4], "datatype": "FP32", "data": []},
    },
    "axes": {"times": {"shape": [1], "datatype": "FP64", "data": [1.0]}},
    "datatype": {"times": {"shape": [1, 1], "datatype": "BYTES", "data": ["1"]}},
    "texts": {"times": {"shape": [1, 1], "datatype": "FP64", "data": ["1"]}},
    "null as a time": {"times": {"shape": [1, 1], "datatype": "FP64", "data": [None]}},
    "order": {
        "times": {"shape": [1, 2], "datatype": "FP64", "data": [2.0, 1.0]},
        "values": {"shape": [1, 2, 4], "datatype": "FP32", "data": [0] * 8},
    },
    "rows": {"values": {"shape": [2, 1, 4], "datatype": "FP32", "data": [0] * 8}},
    "a category that is none": {"values": {"shape": [1, 1, 4], "datatype": "FP32", "data": [0, 0, 0, 7]}},
    "lengths": {"lengths": {"shape": [1], "datatype": "INT64", "data": [2]}},
    "half a length": {"lengths": {"shape": [1], "datatype": "INT64", "data": [0.5]}},
    "static rows": {"static": {"shape": [2, 2], "datatype": "FP32", "data": [0] * 4}},
    "deep": {"times": {"shape": [1, 1], "datatype": "FP64", "data": [[[[[[[["1"]]]]]]]]}},
}


@pytest.mark.parametrize("name", WRONG)
def test_tensors_that_do_not_fit_are_refused(service, name):
    good = {
        "times": {"shape": [1, 1], "datatype": "FP64", "data": [1.0]},
        "values": {"shape": [1, 1, 4], "datatype": "FP32", "data": [[[0.0, None, 1, -1]]]},
    }
    assert infer(service, **good)[0] == 200
    status, answer = infer(service, **(good | WRONG[name]))
    assert status in (413, 422), answer
    assert answer["error"]
    nested = b'{"inputs":[{"name":"times","shape":[1,1],"datatype":"FP64","data":' + b"[" * 45_000
    assert request(service.port, "POST", "/v2/models/ward/infer", nested)[0] in (400, 422)
