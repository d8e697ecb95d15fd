"""Fetches the partitions that this node follows: ``num.replica.fetchers`` connections to every
leader, each with a core that decides the requests.

A partition is fetched over one of them, always the same, so that its batches come in order. The
leader's address is looked up for every request, because brokers come back at other addresses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from zlib import crc32

from barnabas.config.settings import BrokerSettings
from barnabas.env.clock import Clock
from barnabas.metadata.applier import MetadataView
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.model.promise import Promise
from barnabas.network.peer_ports import PeersPort
from barnabas.replication.follower_fetch import FetchLimits, FollowerFetch, TieredStart
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.partition import Partition
from barnabas.telemetry.catalogue import REPLICATION_BYTES_IN, REPLICATION_FAILURES
from barnabas.telemetry.logs import EventLog
from barnabas.telemetry.metrics import Metrics

Place = tuple[int, int]  # leader and number of the fetcher


class ReplicaFetchers:
    def __init__(
        self,
        node_id: int,
        replicas: LocalReplicas,
        peers: PeersPort,
        metadata: MetadataView,
        settings: BrokerSettings,
        clock: Clock,
        metrics: Metrics,
        log: EventLog,
        *,
        listener: str,
        broker_epoch: Callable[[], int],
        on_tiered: Callable[[Partition, TieredStart, Callable[[bool], None]], None] | None = None,
    ) -> None:
        """``listener`` is the inter-broker listener. ``on_tiered`` lets a follower begin where its
        leader's local log begins, if there is tiered storage."""
        self._node_id = node_id
        self._replicas = replicas
        self._peers = peers
        self._metadata = metadata
        self._settings = settings
        self._clock = clock
        self._bytes_in = metrics.counter(REPLICATION_BYTES_IN)
        self._failures = metrics.counter(REPLICATION_FAILURES)
        self._log = log
        self._listener = listener
        self._broker_epoch = broker_epoch
        self._on_tiered = on_tiered
        self._fetchers: dict[Place, _Fetcher] = {}
        self._places: dict[tuple[Uuid, int], Place] = {}
        self._stopped = False

    # -- which partitions --------------------------------------------------------------------------

    def follow(self, partition: Partition) -> None:
        """The partition has a role, perhaps a new one: fetch it if it follows a leader, and stop if
        not."""
        key = (partition.topic_id, partition.partition.partition)
        place = self._place(partition)
        before = self._places.get(key)
        if before is not None and before != place:
            self.forget(partition)
        if place is None or self._stopped:
            return
        self._places[key] = place
        fetcher = self._fetchers.get(place)
        if fetcher is None:
            fetcher = self._fetchers[place] = _Fetcher(self, place)
        fetcher.core.follow(partition)
        fetcher.wake_soon()

    def forget(self, partition: Partition) -> None:
        place = self._places.pop((partition.topic_id, partition.partition.partition), None)
        fetcher = self._fetchers.get(place) if place is not None else None
        if fetcher is not None and place is not None:
            fetcher.core.forget(partition)
            if not len(fetcher.core):
                fetcher.close()
                del self._fetchers[place]

    def _place(self, partition: Partition) -> Place | None:
        leader = partition.leader
        if partition.leads or not partition.online or leader < 0 or leader == self._node_id:
            return None
        count = self._metadata.effective.broker["num.replica.fetchers"]
        assert isinstance(count, int)
        return leader, (crc32(partition.partition.topic.encode()) + partition.partition.partition) % max(1, count)

    def stop(self) -> None:
        self._stopped = True
        for fetcher in self._fetchers.values():
            fetcher.close()
        self._fetchers.clear()
        self._places.clear()

    # -- cores ------------------------------------------------------------------------------------

    def make_core(self, wake: Callable[[], None]) -> FollowerFetch:
        """``wake`` is called when there is a request to send although no response came."""
        integer = self._settings.integer
        return FollowerFetch(
            self._node_id,
            FetchLimits(
                wait_ms_max=integer("replica.fetch.wait.max.ms"),
                size_bytes_min=integer("replica.fetch.min.bytes"),
                size_bytes_max=integer("replica.fetch.response.max.bytes"),
                partition_bytes_max=integer("replica.fetch.max.bytes"),
                backoff_ms=integer("replica.fetch.backoff.ms"),
            ),
            replica_epoch=self._broker_epoch,
            on_disk_failure=lambda partition, error: self._replicas.disk_failed(partition.directory, error),
            on_event=lambda what, partition, detail: self._log.warning(what, partition=str(partition.partition), detail=detail),
            throttled=self._throttled,
            on_bytes=self._came,
            on_tiered=lambda partition, start, built: self._begin_tiered(partition, start, built, wake),
            skips_tiered=lambda: bool(self._metadata.effective.broker["follower.fetch.last.tiered.offset.enable"]),
        )

    def _begin_tiered(self, partition: Partition, start: TieredStart, built: Callable[[bool], None], wake: Callable[[], None]) -> None:
        def built_and_awake(done: bool) -> None:
            built(done)
            wake()

        if self._on_tiered is None:
            built_and_awake(False)
        else:
            self._on_tiered(partition, start, built_and_awake)

    def _throttled(self, partition: Partition) -> bool:
        """Throttle only replicas that are behind: the others must stay in sync."""
        return partition.role.lag > 0 and self._replicas.throttles.follower.holds(partition.partition, self._clock.monotonic_ms())

    def _came(self, partition: Partition, size_bytes: int) -> None:
        self._bytes_in.value += size_bytes
        self._replicas.throttles.follower.moved(partition.partition, size_bytes, self._clock.monotonic_ms())

    def send(self, place: Place, request: Any) -> Promise[Any]:
        leader, number = place
        broker = self._metadata.image.cluster.brokers.get(leader)
        endpoint = broker.endpoint(self._listener) if broker is not None else None
        if endpoint is None:
            return Promise.kept(ErrorCode.NETWORK_EXCEPTION)
        peer = self._peers.at(endpoint.host, endpoint.port, f"replica-fetcher-{number}")
        return peer.send(request, timeout_ms=self._settings.integer("replica.socket.timeout.ms"))

    def now(self) -> tuple[int, int]:
        return self._clock.monotonic_ms(), self._clock.wall_ms()

    def count_failures(self, failures: int) -> None:
        self._failures.value += failures


class _Fetcher:
    """Drives one core: a request, its response, the next request."""

    def __init__(self, fetchers: ReplicaFetchers, place: Place) -> None:
        self._fetchers = fetchers
        self._place = place
        self._timer: asyncio.Handle | None = None
        self._closed = False
        self.core = fetchers.make_core(self.wake_soon)

    def wake_soon(self) -> None:
        """Wake up once for all partitions that change their roles in one turn of the loop."""
        if not self._closed:
            self._schedule(0)

    def _schedule(self, delay_ms: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(delay_ms / 1000, self._wake) if delay_ms > 0 else loop.call_soon(self._wake)

    def _wake(self) -> None:
        self._timer = None
        if self._closed:
            return
        now_ms, _ = self._fetchers.now()
        request = self.core.next_request(now_ms)
        if request is not None:
            self._fetchers.send(self._place, request).then(self._answered)
        elif not self.core.busy:
            resumes_ms = self.core.resumes_ms(now_ms)
            if resumes_ms is not None:
                self._schedule(resumes_ms - now_ms)

    def _answered(self, response: Any) -> None:
        if self._closed:
            return
        now_ms, wall_ms = self._fetchers.now()
        failures = self.core.failures
        self.core.answered(response, now_ms, wall_ms=wall_ms)
        self._fetchers.count_failures(self.core.failures - failures)
        if not self._closed:
            self._schedule(0)

    def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
