"""Pushes the metrics of a node to an OpenTelemetry collector, on a thread of its own.

A push that fails is not repeated: counters are cumulative, so the next push has what the lost one
had. The log has a line when pushes begin to fail, and one when they work again.
"""

from __future__ import annotations

import threading
import time
from typing import Final

from barnabas import __version__
from barnabas.client_metrics.otlp_post import Endpoint, Fate
from barnabas.config.http_endpoint import header_pairs
from barnabas.config.settings import BrokerSettings
from barnabas.telemetry.logs import EventLog
from barnabas.telemetry.metrics import Metrics
from barnabas.telemetry.otlp_metrics import otlp_metrics

ENDPOINT: Final = "barnabas.otlp.endpoint"
HEADERS: Final = "barnabas.otlp.headers"
INTERVAL_MS: Final = "barnabas.otlp.interval.ms"
# A node that stops waits this long for its last push, and for one that is under way.
_CLOSE_SECONDS_MAX: Final = 2.0


class OtlpPush:
    def __init__(self, settings: BrokerSettings, metrics: Metrics, node_id: int, log: EventLog) -> None:
        self._endpoint = Endpoint(settings.text(ENDPOINT), header_pairs(settings.text_or_none(HEADERS)) or {})
        self._interval_seconds = settings.integer(INTERVAL_MS) / 1000
        self._metrics = metrics
        self._log = log
        self._resource = {
            "service.name": "barnabas",
            "service.version": __version__,
            "service.instance.id": str(node_id),
            "barnabas.roles": ",".join(settings.strings("process.roles")),
        }
        self._started_ns = time.time_ns()
        self._fails = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="otlp-push", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """The last push has the counts of the node's end."""
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
