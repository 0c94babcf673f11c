"""Metrics for Prometheus, summed over all worker processes."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from liquidtime.serving.settings import METRICS_FOLDER

_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)


class Metrics:
    """Counters of one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "liquidtime_requests", "Requests by operation and status.", ["operation", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "liquidtime_request_seconds",
            "From the headers of a request to its answer.",
            ["operation"],
            registry=self._registry,
            buckets=_BUCKETS,
        )
        self.refused = Counter("liquidtime_refused", "Refused requests by reason.", ["code"], registry=self._registry)
        self.samples = Counter("liquidtime_samples", "Samples: new, or repeated.", ["what"], registry=self._registry)
        self.conflicts = Counter(
            "liquidtime_conflicts", "Writes that were repeated because another one came first.", registry=self._registry
        )
        self.evicted = Counter("liquidtime_evicted_series", "Series removed by age.", registry=self._registry)

        self.series = Gauge(
            "liquidtime_series", "Stored series.", registry=self._registry, multiprocess_mode="mostrecent"
        )

    def text(self, series: int) -> bytes:
        """Return all metrics in the format of Prometheus.

        Args:
            series: number of stored series.
        """
        self.series.set(series)
        registry = self._registry
        if METRICS_FOLDER in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
