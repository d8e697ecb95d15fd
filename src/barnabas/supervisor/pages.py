"""The pages of a supervisor: metrics, health and readiness of all its processes, on the listeners
that the file configures.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from gzip import compress
from http import HTTPStatus
from typing import Any, Final

from barnabas import __version__
from barnabas.config.settings import BrokerSettings
from barnabas.model.dataclass import dataclass
from barnabas.node.pages import open_page
from barnabas.supervisor.merged_metrics import merged
from barnabas.supervisor.merged_probes import Probe, health, readiness
from barnabas.supervisor.page_reader import Page, read_page
from barnabas.supervisor.process_settings import HEALTH, PROMETHEUS
from barnabas.supervisor.supervision import Supervision
from barnabas.telemetry import catalogue
from barnabas.telemetry.http_server import HttpServer, Request, Response, Route
from barnabas.telemetry.logs import EventLog
from barnabas.telemetry.metrics import Metrics
from barnabas.telemetry.prometheus import GZIP_LEVEL, Exposition

TEXT_FORMAT: Final = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class ProcessPorts:
    """The ports of a process's own pages, on the loopback address; None for a page that it does not
    have."""

    prometheus: int | None
    health: int | None


class SupervisorPages:
    def __init__(self, settings: BrokerSettings, ports: Mapping[int, ProcessPorts], supervision: Supervision, log: EventLog) -> None:
        """Raises ``CannotStart`` when an address is taken."""
        self._ports = ports
        self._supervision = supervision
        self._log = log
        # Only a page of metrics needs the library for it, which takes long to load.
        self._own = _own_metrics(supervision, list(ports)) if settings.text(PROMETHEUS) else str
        self._servers: list[HttpServer] = []
        probes: dict[str, Route] = {"/health": self._health, "/ready": self._ready}
        routes = {PROMETHEUS: {"/metrics": self._metrics, "/": self._metrics, **probes}, HEALTH: probes}
        self._ports_of_own: dict[str, int] = {}
        try:
            for setting, served in routes.items():
                if settings.text(setting):
                    server = open_page(settings, setting, served, self._failed)
                    self._servers.append(server)
                    self._ports_of_own[setting] = server.port
        except BaseException:
            self.close()
            raise

    @property
    def prometheus_port(self) -> int | None:
        return self._ports_of_own.get(PROMETHEUS)

    @property
    def health_port(self) -> int | None:
        return self._ports_of_own.get(HEALTH)

    def close(self) -> None:
        for server in self._servers:
            server.close()
        self._servers = []

    # -- on the thread of a server -----------------------------------------------------------------

    async def _metrics(self, request: Request) -> Response:
        found = await self._read("/metrics")
        pages = {node_id: page.body for node_id, page in found.items() if page is not None and page.status == HTTPStatus.OK}
        wants_gzip = "gzip" in request.headers.get("accept-encoding", "")
        # Thousands of topics take long enough to delay a probe.
        return await asyncio.get_running_loop().run_in_executor(None, self._make, pages, wants_gzip)

    def _make(self, pages: Mapping[int, bytes], wants_gzip: bool) -> Response:
        body = self._own().encode() + merged({node_id: page.decode() for node_id, page in pages.items()}).encode()
        if not wants_gzip:
            return Response(HTTPStatus.OK, body, TEXT_FORMAT)
        return Response(HTTPStatus.OK, compress(body, GZIP_LEVEL), TEXT_FORMAT, {"Content-Encoding": "gzip"})

    async def _health(self, _: Request) -> Response:
        return _json(*health(await self._probe("/health")))

    async def _ready(self, _: Request) -> Response:
        return _json(*readiness(await self._probe("/ready")))

    async def _probe(self, path: str) -> dict[int, Probe]:
        found = await self._read(path)
        return {
            node_id: Probe(self._supervision.state(node_id), None if page is None else page.status, _fields(page))
            for node_id, page in found.items()
        }

    async def _read(self, path: str) -> dict[int, Page | None]:
        """The page of each process, asked at the same time."""
        ports = {node_id: each.prometheus or each.health for node_id, each in self._ports.items()}
        found = await asyncio.gather(*(read_page(port, path) for port in ports.values() if port is not None))
        return dict(zip(ports, found, strict=True))

    def _failed(self, path: str, error: BaseException) -> None:
        self._log.error("page failed", path=path, error=str(error), exc_info=error)


def _own_metrics(supervision: Supervision, nodes: list[int]) -> Callable[[], str]:
    """The part of the page that only the supervisor knows."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import generate_latest

    metrics = Metrics()
    metrics.reading(catalogue.PROCESS_SERVING, lambda: [((str(each),), float(supervision.serves(each))) for each in nodes])
    metrics.reading(catalogue.PROCESS_RESTARTS, lambda: [((str(each),), float(supervision.restarts(each))) for each in nodes])
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Exposition(metrics))
    return lambda: generate_latest(registry).decode()


def _fields(page: Page | None) -> dict[str, Any]:
    if page is None:
        return {}
    try:
        fields = json.loads(page.body)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _json(status: HTTPStatus, fields: dict[str, Any]) -> Response:
    return Response(status, (json.dumps({**fields, "version": __version__}) + "\n").encode(), "application/json")
