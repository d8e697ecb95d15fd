"""Writes the recognised OffsetCommit requests of one turn of the event loop together.

Many consumers of one group commit at about the same time, and all of them to the partition of
``__consumer_offsets`` that the group has. So the commits of a turn become the records of one batch,
with one write and one checksum. As with :mod:`~barnabas.api.produce.batching`, responses leave in
the order of the requests, a connection that sends twice in a row is served at once, and a request
that cannot be written here goes through the handler as if it had just arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, NamedTuple

from barnabas.api.broker import Broker
from barnabas.api.broker_apis.offset_commit import answer_all
from barnabas.api.produce.batching import ServeFully, serve_and_answer
from barnabas.coordinators.group.prepared_commit import COMMITS_TOGETHER_MAX, PreparedCommit
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.connection import LATER, Connection, Frame, Reply

if TYPE_CHECKING:
    from barnabas.api.route import Route


class RecognisedCommit(NamedTuple):
    """A request, and its response when the commit is replicated."""

    connection: Connection
    route: Route
    frame: memoryview
    correlation_id: bytes
    prepared: PreparedCommit
    answer: bytes


class CommitBatching:
    def __init__(self, broker: Broker, serve_fully: ServeFully) -> None:
        self._broker = broker
        self._serve_fully = serve_fully
        self._arrived: list[RecognisedCommit] = []
        self._prepared: set[PreparedCommit] = set()
        self._started = 0
        self._latest: Connection | None = None

    def awaits(self, prepared: PreparedCommit) -> bool:
        """Whether an earlier request of this turn has set the numbers of ``prepared``."""
        return prepared in self._prepared

    def is_alone(self, connection: Connection) -> bool:
        """Whether the connection seems to be the only active one: it sends twice in a row."""
        alone = connection is self._latest and not self._arrived
        self._latest = connection
        return alone

    def add(self, commit: RecognisedCommit) -> Reply:
        arrived = self._arrived
        if not arrived:
            self._started = perf_counter_ns()
            self._broker.loop.call_soon(self.flush)
        arrived.append(commit)
        self._prepared.add(commit.prepared)
        if len(arrived) >= COMMITS_TOGETHER_MAX:
            self.flush()
        return LATER

    def serve_alone(self, commit: RecognisedCommit) -> Reply:
        """None for a request that must go through the handler."""
        started = perf_counter_ns()
        groups = self._broker.groups
        shard = groups.partition_of(commit.prepared.request.group_id)
        replicated = groups.run_prepared(shard, (commit.prepared,))[0] if shard is not None else None
        if replicated is None:
            return None
        reply = _reply(commit, replicated, started)
        if type(reply) is bytes:
            commit.route.count(started)
        return reply

    def flush(self) -> None:
        """Serve all requests that have arrived."""
        if not self._arrived:
            return
        arrived, self._arrived = self._arrived, []
        self._prepared.clear()
        try:
            self._answer(arrived, self._write(arrived))
        except Exception as bug:
            # This is a task's outermost frame. Close the connections, so that no client waits for
            # a response that does not come.
            self._broker.log.error("offset commits failed", requests=len(arrived), exc_info=bug)
            for each in arrived:
                each.connection.close()

    def _write(self, arrived: list[RecognisedCommit]) -> Sequence[Promise[ErrorCode] | None]:
        """None for a request that must go through the handler."""
        groups = self._broker.groups
        by_shard: dict[int | None, list[int]] = {}
        for place, each in enumerate(arrived):
            by_shard.setdefault(groups.partition_of(each.prepared.request.group_id), []).append(place)
        outcomes: list[Promise[ErrorCode] | None] = [None] * len(arrived)
        for shard, places in by_shard.items():
            if shard is not None:
                written = groups.run_prepared(shard, [arrived[place].prepared for place in places])
                for place, outcome in zip(places, written, strict=True):
                    outcomes[place] = outcome
        return outcomes

    def _answer(self, arrived: list[RecognisedCommit], outcomes: Sequence[Promise[ErrorCode] | None]) -> None:
        answered: dict[Route, int] = {}
        for each, replicated in zip(arrived, outcomes, strict=True):
            if replicated is None:
                serve_and_answer(self._serve_fully, each.connection, each.frame)
                continue
            reply = _reply(each, replicated, self._started)
            if type(reply) is bytes:
                answered[each.route] = answered.get(each.route, 0) + 1
            each.connection.answer(reply)
        for route, count in answered.items():
            route.count(self._started, count)


def _reply(commit: RecognisedCommit, replicated: Promise[ErrorCode], started: int) -> bytes | Promise[Frame | None]:
    if replicated.done and not replicated.value:
        return commit.answer
    request, correlation_id = commit.prepared.request, int.from_bytes(commit.correlation_id, "big", signed=True)
    return commit.route.finish_later(started, correlation_id, replicated.map(lambda code: answer_all(request, code)))
