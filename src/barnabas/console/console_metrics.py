"""The metrics of a console itself: its requests, its clusters, its people and its memory.

They are pushed to an OpenTelemetry collector if the settings name one. The series have the names of
operations, of statuses and of clusters as labels, so their number is bounded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from barnabas.telemetry.catalogue import PROCESS_RESIDENT
from barnabas.telemetry.metrics import Kind, Metric, Metrics, Reading

REQUESTS: Final = Metric(
    "barnabas_console_requests_total", Kind.COUNTER, "requests", "Requests answered, pages and API, by operation.", ("operation", "status")
)
REQUEST_SECONDS: Final = Metric(
    "barnabas_console_request_seconds",
    Kind.HISTOGRAM,
    "seconds",
    "From a request to the beginning of its response, by operation.",
    ("operation",),
)
CLUSTER_CONNECTED: Final = Metric(
    "barnabas_console_cluster_connected",
    Kind.GAUGE,
    "clusters",
    "1 if a broker of the cluster answered the last request of the console, otherwise 0.",
    ("cluster",),
)
SESSIONS: Final = Metric("barnabas_console_sessions", Kind.GAUGE, "sessions", "Sessions of browsers.")
STREAMS: Final = Metric("barnabas_console_streams", Kind.GAUGE, "streams", "Searches, tails and exports that are being read.")
CATALOGUE: Final = (REQUESTS, REQUEST_SECONDS, CLUSTER_CONNECTED, SESSIONS, STREAMS, PROCESS_RESIDENT)
_MICROSECONDS: Final = 1_000_000


class ConsoleMetrics:
    def __init__(self, *, connected: Callable[[], Mapping[str, bool]], sessions: Callable[[], int], streams: Callable[[], int]) -> None:
        """The functions are called by the thread that pushes."""
        self.metrics = Metrics()
        self.metrics.reading(CLUSTER_CONNECTED, lambda: [((name,), float(is_so)) for name, is_so in connected().items()])
        self.metrics.reading(SESSIONS, lambda: [((), float(sessions()))])
        self.metrics.reading(STREAMS, lambda: [((), float(streams()))])
        self.metrics.reading(PROCESS_RESIDENT, _resident)

    def answered(self, operation: str, status: int, seconds: float) -> None:
        self.metrics.counter(REQUESTS, operation, str(status)).value += 1
        self.metrics.histogram(REQUEST_SECONDS, operation).observe(int(seconds * _MICROSECONDS))


def _resident() -> Iterable[Reading]:
    """Empty where the kernel has no such file."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except OSError:
        return []
    return [((), float(pages * os.sysconf("SC_PAGE_SIZE")))]
