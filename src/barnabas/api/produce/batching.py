"""Appends the recognised Produce requests of one turn of the event loop together.

Under load the loop reads from dozens of connections in one turn, and most requests go to few
partitions. So one call writes all batches of a partition, and all requests share one reading of
the clock and one update of the metrics. Responses leave in the order of the requests. A connection
that sends twice in a row seems to be the only active one, so its request is served at once:
waiting for the end of the turn would only add latency.

A request that cannot be appended here, for any reason, goes through the handler as if it had just
arrived; nothing of it has been written before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from time import perf_counter_ns
from typing import TYPE_CHECKING, TypeAlias

from barnabas.api.broker import Broker
from barnabas.api.produce.appending import append_all
from barnabas.api.produce.schemas import has_valid_schemas
from barnabas.api.produce.shortcut import ProduceShortcut, Recognised
from barnabas.model.promise import Promise
from barnabas.network.connection import Connection, Frame
from barnabas.records.schema_rules import SchemaRules
from barnabas.records.validation import Refused
from barnabas.replication.partition import ACKS_ALL, Partition, ProducedBatch
from barnabas.storage.log import Appended
from barnabas.wire.tagged_fields import MalformedMessage

if TYPE_CHECKING:
    from barnabas.api.route import Route

# More requests do not become cheaper together, and a connection that sends thousands at once must
# not block the loop for the others.
REQUESTS_TOGETHER_MAX = 256
# Checking and writing a larger request costs more than a turn can save, and costs least while its
# bytes are still in the processor's cache.
WAITING_REQUEST_BYTES_MAX = 4096

_Arrived: TypeAlias = tuple[Connection, ProduceShortcut, memoryview, Recognised]
ServeFully = Callable[[Connection, memoryview], Frame | Promise[Frame | None] | None]


class ProduceBatching:
    def __init__(self, broker: Broker, serve_fully: ServeFully) -> None:
        self._broker = broker
        self._serve_fully = serve_fully
        self._arrived: list[_Arrived] = []
        self._started = 0
        self._latest: Connection | None = None

    def add(self, connection: Connection, shortcut: ProduceShortcut, frame: memoryview, recognised: Recognised) -> None:
        arrived = self._arrived
        if not arrived:
            self._started = perf_counter_ns()
        arrived.append((connection, shortcut, frame, recognised))
        if connection is self._latest or len(frame) > WAITING_REQUEST_BYTES_MAX or len(arrived) >= REQUESTS_TOGETHER_MAX:
            self.flush()
        elif len(arrived) == 1:
            self._broker.loop.call_soon(self.flush)
        self._latest = connection

    def flush(self) -> None:
        """Serve all requests that have arrived."""
        if not self._arrived:
            return
        arrived, self._arrived = self._arrived, []
        try:
            self._answer(arrived, self._append(arrived))
        except Exception as bug:
            # This is a task's outermost frame. Close the connections, so that no client waits for
            # a response that does not come.
            self._broker.log.error("produce requests failed", requests=len(arrived), exc_info=bug)
            for connection, *_ in arrived:
                connection.close()

    # -- appending ---------------------------------------------------------------------------------

    def _append(self, arrived: list[_Arrived]) -> Sequence[Appended | Refused | None]:
        """The outcome of each request; None for a request that must go through the handler."""
        now_ms = self._broker.clock.wall_ms()
        if len(arrived) == 1:
            (partition, acks, *_), _, records = arrived[0][3]
            return self._append_to(partition, [(records, acks, None)], now_ms)
        by_partition: dict[Partition, list[int]] = {}
        for place, (_, _, _, (known, _, _)) in enumerate(arrived):
            places = by_partition.get(known[0])
            if places is None:
                by_partition[known[0]] = [place]
            else:
                places.append(place)
        outcomes: list[Appended | Refused | None] = [None] * len(arrived)
        for partition, places in by_partition.items():
            batches: list[ProducedBatch] = [(arrived[place][3][2], arrived[place][3][0][1], None) for place in places]
            for place, outcome in zip(places, self._append_to(partition, batches, now_ms), strict=True):
                outcomes[place] = outcome
        return outcomes

    def _append_to(self, partition: Partition, batches: list[ProducedBatch], now_ms: int) -> Sequence[Appended | Refused | None]:
        # Topics that recompress or restamp may modify the batch before refusing it, so they use
        # the handler.
        rules = partition.log.settings.rules
        if partition.leads and rules.plain:
            if rules.schemas is None:
                return append_all(self._broker, partition, batches, now_ms)
            return self._append_valid(partition, rules.schemas, batches, now_ms)
        return [None] * len(batches)

    def _append_valid(
        self, partition: Partition, schemas: SchemaRules, batches: list[ProducedBatch], now_ms: int
    ) -> Sequence[Appended | Refused | None]:
        """Batches behind one that must wait for its schemas go through the handler like it, because
        they may be of the same producer."""
        valid = list(takewhile(lambda batch: has_valid_schemas(self._broker, partition, schemas, batch[0]), batches))
        appended = append_all(self._broker, partition, valid, now_ms) if valid else ()
        return [*appended, *[None] * (len(batches) - len(valid))]

    # -- answering ---------------------------------------------------------------------------------

    def _answer(self, arrived: list[_Arrived], outcomes: Sequence[Appended | Refused | None]) -> None:
        started = self._started
        answered: dict[Route, int] = {}
        for (connection, shortcut, frame, (known, correlation_id, _)), outcome in zip(arrived, outcomes, strict=True):
            if outcome is None or isinstance(outcome, Refused):
                serve_and_answer(self._serve_fully, connection, frame)
                continue
            partition, acks, _, answer, _ = known
            route = shortcut.route
            if acks == ACKS_ALL and outcome.last_offset >= partition.high_watermark:
                replicated = shortcut.await_replicas(known, outcome)
                connection.answer(route.finish_later(started, int.from_bytes(correlation_id, "big", signed=True), replicated))
                continue
            answered[route] = answered.get(route, 0) + 1
            connection.answer(answer.fill(correlation_id, outcome.base_offset, outcome.append_time_ms, partition.log.log_start_offset))
        for route, count in answered.items():
            route.count(started, count)


def serve_and_answer(serve_fully: ServeFully, connection: Connection, frame: memoryview) -> None:
    """Serve a request that cannot be served with the others of its turn."""
    try:
        reply = serve_fully(connection, frame)
    except MalformedMessage as wrong:
        connection.refuse(str(wrong))
        return
    if reply is not None:
        connection.answer(reply)
