"""Produces that arrive in one turn of the loop and repeat earlier ones are appended together, at the end of the turn.

Under load a turn reads from dozens of connections, and most of what they send goes to few partitions. So batches for the same
partition are written by one call, one look at the clock and at the metrics does for all, and answers leave in the order in which the
requests came. A connection that sends twice in a row seems to be alone, so its request goes the same way at once: waiting for the end of
the turn would only cost it time.

What cannot be appended here, for whatever reason, is served as if it had come only now; nothing of it has been written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, TypeAlias

from barnabas.api.broker import Broker
from barnabas.api.produce.appending import append_all
from barnabas.api.produce.shortcut import ProduceShortcut, Recognised
from barnabas.model.promise import Promise
from barnabas.network.connection import Connection, Frame
from barnabas.records.validation import Refused
from barnabas.replication.partition import ACKS_ALL, Partition, ProducedBatch
from barnabas.storage.log import Appended
from barnabas.wire.tagged_fields import MalformedMessage

if TYPE_CHECKING:
    from barnabas.api.route import Route

# More do not become cheaper by waiting for each other, and connections that send thousands at once shall not keep the loop to themselves.
REQUESTS_TOGETHER_MAX = 256
# A larger one costs more to check and write than a turn can save, and most while its bytes are still in the processor's cache.
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
        """Serve all that have arrived."""
        if not self._arrived:
            return
        arrived, self._arrived = self._arrived, []
        try:
            self._answer(arrived, self._append(arrived))
        except Exception as bug:
            # A task's outermost frame, and nobody may wait for an answer that does not come.
            self._broker.log.error("produce requests failed", requests=len(arrived), exc_info=bug)
            for connection, *_ in arrived:
                connection.close()

    # -- appending ------------------------------------------------------------------------------------------------------------

    def _append(self, arrived: list[_Arrived]) -> Sequence[Appended | Refused | None]:
        """The outcome of each request; None for one that must go the full way."""
        now_ms = self._broker.clock.wall_ms()
        if len(arrived) == 1:
            (partition, acks, _, _), _, records = arrived[0][3]
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
        # Topics that recompress or restamp may modify the batch before refusing it, so they use the full way.
        if partition.leads and partition.log.settings.rules.plain:
            return append_all(self._broker, partition, batches, now_ms)
        return [None] * len(batches)

    # -- answering ------------------------------------------------------------------------------------------------------------

    def _answer(self, arrived: list[_Arrived], outcomes: Sequence[Appended | Refused | None]) -> None:
        started = self._started
        answered: dict[Route, int] = {}
        for (connection, shortcut, frame, (known, correlation_id, _)), outcome in zip(arrived, outcomes, strict=True):
            if outcome is None or isinstance(outcome, Refused):
                self._serve_fully_and_answer(connection, frame)
                continue
            partition, acks, _, answer = known
            route = shortcut.route
            if acks == ACKS_ALL and outcome.last_offset >= partition.high_watermark:
                replicated = shortcut.await_replicas(known, outcome)
                connection.answer(route.finish_later(started, int.from_bytes(correlation_id, "big", signed=True), replicated))
                continue
            answered[route] = answered.get(route, 0) + 1
            connection.answer(answer.fill(correlation_id, outcome.base_offset, outcome.append_time_ms, partition.log.log_start_offset))
        for route, count in answered.items():
            route.count(started, count)

    def _serve_fully_and_answer(self, connection: Connection, frame: memoryview) -> None:
        try:
            reply = self._serve_fully(connection, frame)
        except MalformedMessage as wrong:
            connection.refuse(str(wrong))
            return
        if reply is not None:
            connection.answer(reply)
