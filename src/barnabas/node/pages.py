"""The HTTP pages of a node: metrics, health and readiness, on the listeners that are configured;
and the metrics that it pushes to a collector."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from barnabas.config.addresses import host_and_port
from barnabas.config.settings import BrokerSettings
from barnabas.model.cannot_start import CannotStart
from barnabas.telemetry.http_server import HttpServer, Route
from barnabas.telemetry.logs import EventLog
from barnabas.telemetry.metrics import Metrics
from barnabas.telemetry.probes import Probed, Probes
from barnabas.telemetry.prometheus import MetricsPage

if TYPE_CHECKING:
    from barnabas.telemetry.otlp_push import OtlpPush


class NodePages:
    def __init__(self, settings: BrokerSettings, metrics: Metrics, probed: Probed, log: EventLog) -> None:
        self._settings = settings
        self._metrics = metrics
        self._probed = probed
        self._log = log
        self._metrics_page: MetricsPage | None = None
        self._push: OtlpPush | None = None
        self._servers: list[HttpServer] = []
        self.prometheus_port: int | None = None
        self.health_port: int | None = None

    def open(self) -> None:
        """``CannotStart`` when an address is taken. The pages are there while the node starts, so
        that a supervisor can ask how far it is."""
        probes = Probes(asyncio.get_running_loop(), self._probed)
        questions: dict[str, Route] = {"/health": probes.health, "/ready": probes.ready}
        if self._settings.text("barnabas.prometheus.listener"):
            page = self._metrics_page = MetricsPage(self._metrics)
            self.prometheus_port = self._listen("barnabas.prometheus.listener", {"/metrics": page.respond, "/": page.respond, **questions})
        if self._settings.text("barnabas.health.listener"):
            self.health_port = self._listen("barnabas.health.listener", questions)
        if self._settings.text("barnabas.otlp.endpoint"):
            self._push = self._pushing()

    def _pushing(self) -> OtlpPush:
        # The HTTP client is loaded only where it is used.
        from barnabas.config.http_endpoint import header_pairs
        from barnabas.telemetry.otlp_post import Endpoint
        from barnabas.telemetry.otlp_push import OtlpPush

        settings = self._settings
        endpoint = Endpoint(settings.text("barnabas.otlp.endpoint"), header_pairs(settings.text_or_none("barnabas.otlp.headers")) or {})
        resource = {
            "service.name": "barnabas",
            "service.instance.id": str(settings.integer("node.id")),
            "barnabas.roles": ",".join(settings.strings("process.roles")),
        }
        return OtlpPush(endpoint, settings.integer("barnabas.otlp.interval.ms"), self._metrics, resource, self._log)

    def _listen(self, setting: str, routes: dict[str, Route]) -> int:
        server = open_page(self._settings, setting, routes, self._failed)
        self._servers.append(server)
        return server.port

    def _failed(self, path: str, error: BaseException) -> None:
        self._log.error("page failed", path=path, error=str(error), exc_info=error)

    def close(self) -> None:
        for server in self._servers:
            server.close()
        self._servers = []
        if self._metrics_page is not None:
            self._metrics_page.close()
        if self._push is not None:
            self._push.close()


def open_page(
    settings: BrokerSettings, setting: str, routes: Mapping[str, Route], report: Callable[[str, BaseException], None]
) -> HttpServer:
    """Serve ``routes`` at the address in ``setting``. Raises ``CannotStart`` when it is taken."""
    address = settings.text(setting)
    parsed = host_and_port(address)
    assert parsed is not None, "checked when the setting was parsed"
    try:
        return HttpServer(*parsed, routes, report)
    except OSError as error:
        # The error's own text repeats the address.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise CannotStart(f"cannot listen on {address} ({setting}): {reason}.") from error
