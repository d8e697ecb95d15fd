"""Pushes the metrics of a process to an OpenTelemetry collector, on a thread of its own.

A push that fails is not repeated: counters are cumulative, so the next push has what the lost one
had. The log has a line when pushes begin to fail, and one when they work again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Final

from barnabas import __version__
from barnabas.telemetry.logs import EventLog
from barnabas.telemetry.metrics import Metrics
from barnabas.telemetry.otlp_metrics import otlp_metrics
from barnabas.telemetry.otlp_post import Endpoint, Fate

# A process that stops waits this long for its last push, and for one that is under way.
_CLOSE_SECONDS_MAX: Final = 2.0


class OtlpPush:
    def __init__(self, endpoint: Endpoint, interval_ms: int, metrics: Metrics, resource: Mapping[str, str], log: EventLog) -> None:
        """``resource`` describes the process, besides the version that runs."""
        self._endpoint = endpoint
        self._interval_seconds = interval_ms / 1000
        self._metrics = metrics
        self._log = log
        self._resource = {**resource, "service.version": __version__}
        self._started_ns = time.time_ns()
        self._fails = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="otlp-push", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """The last push has the counts of the end of the process."""
        self._stopping.set()
        self._thread.join(_CLOSE_SECONDS_MAX)

    def _run(self) -> None:
        while not self._stopping.wait(self._interval_seconds):
            self._push()
        self._push()

    def _push(self) -> None:
        now_ns = time.time_ns()
        body = otlp_metrics(self._metrics, self._resource, version=__version__, started_ns=self._started_ns, now_ns=now_ns)
        posted = self._endpoint.post(body)
        failed = posted.fate is not Fate.TAKEN
        if failed and not self._fails:
            self._log.warning("metrics not pushed", endpoint=self._endpoint.url, reason=posted.reason)
        elif self._fails and not failed:
            self._log.info("metrics pushed again", endpoint=self._endpoint.url)
        self._fails = failed
