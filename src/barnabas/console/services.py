"""What all operations of a console share: settings, sessions, clients of clusters and the audit
log."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.pipeline_runs import PipelineRuns
from barnabas.console.access.rate_collection import RateCollection
from barnabas.console.console_metrics import ConsoleMetrics
from barnabas.console.errors import LoginNeeded, NotFound
from barnabas.console.limits import ADDRESSES_MAX, CLIENTS_MAX, TASKS_MAX, THREADS_MAX
from barnabas.console.settings import ClusterSettings, ConsoleSettings
from barnabas.console.web.audit import AuditLog
from barnabas.console.web.sessions import FailedLogins, Login, Sessions
from barnabas.console.web.signing import Signer
from barnabas.telemetry.logs import EventLog
from barnabas.telemetry.otlp_post import Endpoint
from barnabas.telemetry.otlp_push import OtlpPush

if TYPE_CHECKING:
    from barnabas.console.web.call import Call

_ID_BYTES = 24


class Services:
    def __init__(self, settings: ConsoleSettings, log: EventLog) -> None:
        self.settings = settings
        self.log = log
        self.signer = Signer(secrets.token_bytes(32))
        self.sessions = Sessions(lambda: secrets.token_urlsafe(_ID_BYTES), time.monotonic)
        self.failed_logins = FailedLogins(time.monotonic, ADDRESSES_MAX)
        self.audit = AuditLog(log, Path(settings.audit_file) if settings.audit_file is not None else None)
        self.executor = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="console")
        self.streams = 0
        """Searches, tails and exports that are being read."""
        self._rates: dict[str, RateCollection] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.queries = 0
        """Queries of SQL that run."""
        self.pipeline_runs = PipelineRuns()
        self._clients: OrderedDict[tuple[str, bytes], ClusterClient] = OrderedDict()
        self.metrics = ConsoleMetrics(connected=self._connected, sessions=lambda: len(self.sessions), streams=lambda: self.streams)
        self._push: OtlpPush | None = None

    def close(self) -> None:
        if self._push is not None:
            self._push.close()
            self._push = None
        self.pipeline_runs.close()
        for each in self._clients.values():
            each.close()
        self._clients.clear()
        self.executor.shutdown(wait=False, cancel_futures=True)

    def run_beside(self, work: Coroutine[Any, Any, None]) -> bool:
        """Runs beside requests, and ends with the console. False if too much runs already. The loop
        itself keeps no reference to a task."""
        if len(self._tasks) >= TASKS_MAX:
            work.close()
            return False
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    def start_collecting(self) -> None:
        """Begins to keep rates of every cluster. Needs the loop that serves requests."""
        for each in self.settings.clusters:
            collection = RateCollection(self.client(each, None), reads_offsets=not self.settings.needs_login(each))
            self._rates[each.name] = collection
            if collection.is_possible:
                self.run_beside(collection.run())

    def start_pushing(self) -> None:
        """Begins to push the metrics of the console, if the settings name a collector."""
        found = self.settings.otlp
        if found is not None:
            resource = {"service.name": "barnabas-console", "service.instance.id": f"{self.settings.host}:{self.settings.port}"}
            self._push = OtlpPush(Endpoint(found.endpoint, found.headers), found.interval_ms, self.metrics.metrics, resource, self.log)

    def _connected(self) -> dict[str, bool]:
        answering = {name for (name, _), client in list(self._clients.items()) if client.is_connected}
        return {each.name: each.name in answering for each in self.settings.clusters}

    def rates_of(self, cluster: str) -> RateCollection | None:
        return self._rates.get(cluster)

    def cluster_settings(self, name: str) -> ClusterSettings:
        found = self.settings.cluster(name)
        if found is None:
            raise NotFound(f"There is no cluster {name}.")
        return found

    def client_of(self, name: str, call: Call) -> ClusterClient:
        """The client of the principal that makes the call."""
        settings = self.cluster_settings(name)
        login = call.logins.get(name)
        if login is None and call.session.identity is not None and not settings.has_logins:
            # The identity opens the console; the cluster itself has no logins.
            return self.client(settings, None)
        if login is None and self.settings.needs_login(settings):
            raise LoginNeeded(f"The cluster {name} wants a login.", name)
        return self.client(settings, login)

    def client(self, settings: ClusterSettings, login: Login | None) -> ClusterClient:
        properties = login.properties if login is not None else settings.properties
        key = settings.name, _digest(properties)
        client = self._clients.pop(key, None)
        if client is None:
            client = ClusterClient(settings, properties, self.executor)
            if len(self._clients) >= CLIENTS_MAX:
                self._clients.popitem(last=False)[1].close()
        self._clients[key] = client
        return client

    def forget(self, settings: ClusterSettings, login: Login) -> None:
        """After a logout: the connections of the principal are closed."""
        client = self._clients.pop((settings.name, _digest(login.properties)), None)
        if client is not None:
            client.close()


def _digest(properties: Mapping[str, str]) -> bytes:
    """All that logs a principal in identifies it, the password included."""
    made = hashlib.sha256()
    for name in sorted(properties):
        for part in (name, properties[name]):
            made.update(len(part.encode()).to_bytes(4, "big") + part.encode())
    return made.digest()
