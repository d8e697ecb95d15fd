"""Connections of one principal to the brokers of one cluster, kept between requests.

A connection serves one request at a time; a request takes an idle one or makes a new one. A change
always gets a new connection: on a kept one that the broker has closed meanwhile, a client cannot
tell whether the broker saw the request, and must not send it twice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from barnabas.console.limits import ANSWER_SECONDS_MAX, IDLE_CONNECTIONS_MAX, IDLE_SECONDS_MAX, RESPONSE_BYTES_MAX
from barnabas.direct_requests.broker_connection import BrokerConnection
from barnabas.direct_requests.errors import RequestRefused

CLIENT_ID = "barnabas-console"


class Connections:
    """Used from several threads."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = properties
        self._lock = threading.Lock()
        self._idle: dict[str, list[tuple[float, BrokerConnection]]] = {}
        self._closed = False

    def ask(
        self,
        address: str,
        request: Any,
        *,
        version_max: int | None = None,
        seconds_max: float = ANSWER_SECONDS_MAX,
        is_change: bool = False,
        is_new: bool = False,
    ) -> Any:
        """``is_new`` asks for a new connection, and so for a new login. Raises
        ``RequestRefused``."""
        kept = None if is_change or is_new else self._take(address)
        if kept is not None:
            try:
                return self._asked(address, kept, request, version_max, seconds_max)
            except RequestRefused:
                # The broker may have closed it while it was idle; a new connection tells.
                pass
        connection = BrokerConnection(
            address,
            self._properties,
            seconds_max=min(seconds_max, ANSWER_SECONDS_MAX),
            client_id=CLIENT_ID,
            response_bytes_max=RESPONSE_BYTES_MAX,
        )
        return self._asked(address, connection, request, version_max, seconds_max)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle = [each for kept in self._idle.values() for _, each in kept]
            self._idle.clear()
        for each in idle:
            each.close()

    def _asked(self, address: str, connection: BrokerConnection, request: Any, version_max: int | None, seconds_max: float) -> Any:
        try:
            response = connection.ask(request, version_max=version_max, seconds_max=seconds_max)
        except BaseException:
            # A late answer would be taken for the answer to the next request.
            connection.close()
            raise
        self._keep(address, connection)
        return response

    def _take(self, address: str) -> BrokerConnection | None:
        now = time.monotonic()
        with self._lock:
            kept = self._idle.get(address, [])
            stale = [each for since, each in kept if now - since > IDLE_SECONDS_MAX]
            kept[:] = [(since, each) for since, each in kept if now - since <= IDLE_SECONDS_MAX]
            taken = kept.pop()[1] if kept else None
        for each in stale:
            each.close()
        return taken

    def _keep(self, address: str, connection: BrokerConnection) -> None:
        with self._lock:
            kept = self._idle.setdefault(address, [])
            if not self._closed and len(kept) < IDLE_CONNECTIONS_MAX:
                kept.append((time.monotonic(), connection))
                return
        connection.close()
