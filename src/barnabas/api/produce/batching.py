"""Produces that arrive in one turn of the loop and repeat earlier ones are appended together, at the end of the turn.

Under load a turn reads from dozens of connections, and most of what they send goes to few partitions. So batches for the same
partition are written by one call, one look at the clock and at the metrics does for all, and answers leave in the order in which the
requests came. A connection that sends twice in a row seems to be alone, so its request goes the same way at once: waiting for the end of
the turn would only cost it time.

What cannot be appended here, for whatever reason, is served as if it had come only now; nothing of it has been written.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, TypeAlias

from barnabas.api.broker import Broker
from barnabas.api.produce.shortcut import Recognised, RepeatedProduce
from barnabas.model.promise import Promise
from barnabas.network.connection import Connection, Frame
from barnabas.records.validation import Refused
from barnabas.replication.partition import ACKS_ALL, Partition
from barnabas.storage.log import Appended
from barnabas.wire.tagged_fields import MalformedMessage

if TYPE_CHECKING:
    from barnabas.api.dispatch import Route

# More do not become cheaper by waiting for each other, and connections that send thousands at once shall not keep the loop to themselves.
REQUESTS_TOGETHER_MAX = 256
# A larger one costs more to check and write than a turn can save, and most while its bytes are still in the processor's cache.
WAITING_REQUEST_BYTES_MAX = 4096

_Arrived: TypeAlias = tuple[Connection, RepeatedProduce, memoryview, Recognised]
ServeAlone = Callable[[Connection, memoryview], Frame | Promise[Frame | None] | None]


class ProduceTurn:
    def __init__(self, broker: Broker, serve_alone: ServeAlone) -> None:
        self._broker = broker
        self._serve_alone = serve_alone
        self._arrived: list[_Arrived] = []
        self._started = 0
        self._latest: Connection | None = None

    def add(self, connection: Connection, repeated: RepeatedProduce, frame: memoryview, recognised: Recognised) -> None:
        arrived = self._arrived
        if not arrived:
            self._started = perf_counter_ns()
        arrived.append((connection, repeated, frame, recognised))
        if connection is self._latest or len(frame) > WAITING_REQUEST_BYTES_MAX or len(arrived) >= REQUESTS_TOGETHER_MAX:
            self.end()
        elif len(arrived) == 1:
            self._broker.loop.call_soon(self.end)
        self._latest = connection

    def end(self) -> None:
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

    def _append(self, arrived: list[_Arrived]) -> list[Appended | Refused | None]:
        """Their outcomes; who has none was not appended."""
        now_ms = self._broker.clock.wall_ms()
        by_partition: dict[Partition, list[int]] = {}
        for place, (_, _, _, (known, _, _)) in enumerate(arrived):
            places = by_partition.get(known[0])
            if places is None:
                by_partition[known[0]] = [place]
            else:
                places.append(place)
        outcomes: list[Appended | Refused | None] = [None] * len(arrived)
        for partition, places in by_partition.items():
            # A topic with wishes may have the batch changed before it is refused, and the ordinary way must see it as it came.
            if partition.leads and partition.log.settings.rules.plain:
                try:
                    self._append_to(partition, arrived, places, now_ms, outcomes)
                except OSError as error:
                    self._broker.replicas.disk_failed(partition.directory, error)
        return outcomes

    def _append_to(
        self, partition: Partition, arrived: list[_Arrived], places: list[int], now_ms: int, outcomes: list[Appended | Refused | None]
    ) -> None:
        if len(places) > 1:
            together = partition.append_together([arrived[place][3][2] for place in places], now_ms)
            if together is not None:
                for place, outcome in zip(places, together, strict=True):
                    outcomes[place] = outcome
                return
        for place in places:
            (_, acks, _, _), _, records = arrived[place][3]
            outcomes[place] = partition.append(records, acks, now_ms)

    # -- answering ------------------------------------------------------------------------------------------------------------

    def _answer(self, arrived: list[_Arrived], outcomes: list[Appended | Refused | None]) -> None:
        started = self._started
        answered: dict[Route, int] = {}
        for (connection, repeated, frame, (known, correlation_id, _)), outcome in zip(arrived, outcomes, strict=True):
            if outcome is None or isinstance(outcome, Refused):
                self._answer_alone(connection, frame)
                continue
            partition, acks, _, answer = known
            route = repeated.route
            if acks == ACKS_ALL and outcome.last_offset >= partition.high_watermark:
                replicated = repeated.await_replicas(known, outcome)
                connection.answer(route.finish_later(started, int.from_bytes(correlation_id, "big", signed=True), replicated))
                continue
            answered[route] = answered.get(route, 0) + 1
            connection.answer(answer.fill(correlation_id, outcome.base_offset, outcome.append_time_ms, partition.log.log_start_offset))
        for route, count in answered.items():
            route.count(started, count)

    def _answer_alone(self, connection: Connection, frame: memoryview) -> None:
        try:
            reply = self._serve_alone(connection, frame)
        except MalformedMessage as wrong:
            connection.refuse(str(wrong))
            return
        if reply is not None:
            connection.answer(reply)
