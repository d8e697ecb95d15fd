"""The APIs that have a shortcut, and the shortcuts of one kind of listener.

Produce        api.produce.shortcut   appends the requests of one turn of the loop together
Fetch          api.fetch.shortcut     decodes and encodes once; offsets and records change
OffsetCommit   api.commit_shortcut    writes the commits of one turn of the loop as one batch
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.api.broker import Broker
from barnabas.api.fetch.shortcut import FetchShortcut
from barnabas.api.produce.batching import ProduceBatching, ServeFully
from barnabas.api.produce.shortcut import ProduceShortcut
from barnabas.api.route import Route
from barnabas.network.connection import Connection
from barnabas.network.shortcut import Shortcut
from barnabas.wire.apis import ApiKey

if TYPE_CHECKING:
    from barnabas.api.commit_batching import CommitBatching


class Shortcuts:
    def __init__(self, broker: Broker, serve_fully: ServeFully) -> None:
        self._broker = broker
        self._serve_fully = serve_fully
        self._produces = ProduceBatching(broker, serve_fully)
        self._commits: CommitBatching | None = None
        self._makers = {
            ApiKey.PRODUCE: self._for_produce,
            ApiKey.FETCH: self._for_fetch,
            ApiKey.OFFSET_COMMIT: self._for_commit,
        }

    def flush(self) -> None:
        """Serve the recognised requests of this turn, so that a later request does not overtake
        one of the same connection."""
        self._produces.flush()
        if self._commits is not None:
            self._commits.flush()

    def exist_for(self, key: ApiKey) -> bool:
        return key in self._makers

    def remember(self, connection: Connection, route: Route, frame: memoryview, body: int, request: Any, response: Any) -> None:
        shortcut = connection.shortcut
        if shortcut is None or shortcut.route is not route:
            if shortcut is not None and route.key is ApiKey.FETCH and not isinstance(shortcut, FetchShortcut):
                # A connection has one shortcut. If it also produces or commits, the shortcut for
                # that saves more.
                return
            shortcut = connection.shortcut = self._makers[route.key](connection, route, frame)
        shortcut.remember(frame, body, request, response)

    def _for_produce(self, connection: Connection, route: Route, frame: memoryview) -> Shortcut:
        return ProduceShortcut(self._broker, route, self._produces, frame, connection.listener.name)

    def _for_fetch(self, connection: Connection, route: Route, frame: memoryview) -> Shortcut:
        return FetchShortcut(self._broker, route, connection, self.flush)

    def _for_commit(self, connection: Connection, route: Route, frame: memoryview) -> Shortcut:
        # A broker without groups does not load their machine.
        from barnabas.api.commit_batching import CommitBatching
        from barnabas.api.commit_shortcut import CommitShortcut

        if self._commits is None:
            self._commits = CommitBatching(self._broker, self._serve_fully)
        return CommitShortcut(self._broker, route, frame, self._commits)
