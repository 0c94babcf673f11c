"""Send the samples of a live series to `liquidtime serve`, and print the prediction after each.

    liquidtime serve MODEL                                          in one terminal
    python examples/service_client.py SAMPLES.csv --series bed-7    in another

SAMPLES.csv has a column `time`, and one column for each channel; an empty cell is not observed. Needs no package. What
is not answered is sent again: the service knows a sample that it has taken.
"""

from __future__ import annotations

import argparse
import csv
import http.client
import json
import os
import time
import urllib.parse
from typing import Any


class Client:
    """A service that answers at an address; waits and asks again while it cannot be reached."""

    def __init__(self, address: str, token: str = "", patience: float = 60.0) -> None:
        self._address, self._patience = urllib.parse.urlsplit(address), patience
        self._headers = {"content-type": "application/json"}
        if token:
            self._headers["authorization"] = f"Bearer {token}"

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer, or raise ValueError with what the service says against the request."""
        content = None if body is None else json.dumps(body, allow_nan=False)
        deadline, wait = time.monotonic() + self._patience, 0.05
        while True:
            connection = http.client.HTTPConnection(self._address.netloc, timeout=30)
            try:
                connection.request(method, path, content, self._headers)
                answer = connection.getresponse()
                text = answer.read()
                if answer.status < 400:
                    return json.loads(text) if text else None
                if answer.status != 503:
                    raise ValueError(f"{answer.status}: {json.loads(text)['error']}")
            except (OSError, http.client.HTTPException):
                if time.monotonic() > deadline:
                    raise
            finally:
                connection.close()
            time.sleep(wait)
            wait = min(2 * wait, 2.0)

    def send(self, series: str, samples: list[dict[str, Any]]) -> Any:
        """Send samples, `{"time": …, "values": {…}}`, and return where the series stands."""
        path = f"/series/{urllib.parse.quote(series, safe='')}/samples"
        return self.ask("POST", path, {"samples": samples})


def rows(path: str) -> list[dict[str, Any]]:
    """Return the samples of a table."""

    def number(text: str) -> float | str:
        try:
            return float(text)
        except ValueError:
            return text  # a time stamp, or a category

    with open(path, newline="", encoding="utf-8") as file:
        return [
            {
                "time": number(row.pop("time")),
                "values": {name: number(text) for name, text in row.items() if text not in ("", None)},
            }
            for row in csv.DictReader(file)
        ]


def main() -> dict[str, Any]:
    """Send a table, and return where the series stands after it."""
    parser = argparse.ArgumentParser(description="Send samples to a service of liquidtime.")
    parser.add_argument("samples", help="table with a column `time` and one for each channel")
    parser.add_argument("--series", required=True, help="id of the series")
    parser.add_argument("--address", default="http://127.0.0.1:8000")
    options = parser.parse_args()
    client = Client(options.address, os.environ.get("LIQUIDTIME_TOKEN", ""))
    answer: dict[str, Any] = {}
    for sample in rows(options.samples):
        answer = client.send(options.series, [sample])
        print(f"{answer['time']}: {answer['prediction']}")
    return answer


if __name__ == "__main__":
    main()
