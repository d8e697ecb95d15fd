"""Logs acknowledgements that wait: the partition, the time, and the replicas that have not fetched.

A high watermark that stands still while producers wait is the first thing that an operator sees of
a dead follower, a slow disk or a bug, and without this watch the broker logs nothing about it. Only
partitions with waiting acknowledgements are remembered, so an idle broker pays for one look at each
of its partitions per second.
"""

from __future__ import annotations

import asyncio

from barnabas.env.clock import Clock
from barnabas.model.dataclass import dataclass
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.partition import Partition
from barnabas.telemetry.logs import EventLog

CHECK_SECONDS = 1.0
# Longer than the response time of a healthy follower by orders of magnitude, and shorter than the
# session timeout of a broker that has died (9 s).
STALL_MS = 4_000


@dataclass(slots=True)
class _Stall:
    high_watermark: int
    since_ms: int
    report_at_ms: int
    reported: bool = False


class AcknowledgementWatch:
    def __init__(self, replicas: LocalReplicas, clock: Clock, log: EventLog) -> None:
        self._replicas = replicas
        self._clock = clock
        self._log = log
        self._stalls: dict[Partition, _Stall] = {}
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(CHECK_SECONDS, self._tick)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self) -> None:
        self.check(self._clock.monotonic_ms())
        self.start()

    def check(self, now_ms: int) -> None:
        """Report a stall when it has lasted for :data:`STALL_MS`, again each time its length
        doubles, and when it ends."""
        before, self._stalls = self._stalls, {}
        for partition in self._replicas:
            if not partition.progress.acknowledgements_wait:
                continue
            stall = before.get(partition)
            if stall is None or stall.high_watermark != partition.high_watermark:
                stall = _Stall(partition.high_watermark, now_ms, now_ms + STALL_MS)
            else:
                del before[partition]
            self._stalls[partition] = stall
            if now_ms >= stall.report_at_ms:
                self._report(partition, stall, now_ms)
        for partition, stall in before.items():
            if stall.reported:
                self._log.info("acknowledgements resumed", partition=str(partition.partition), waited_ms=now_ms - stall.since_ms)

    def _report(self, partition: Partition, stall: _Stall, now_ms: int) -> None:
        waited_ms = now_ms - stall.since_ms
        stall.report_at_ms, stall.reported = now_ms + waited_ms, True
        self._log.warning(
            "acknowledgements wait",
            partition=str(partition.partition),
            waited_ms=waited_ms,
            held_up_by=partition.held_up_by(),
            in_sync=list(partition.isr),
            min_insync_replicas=partition.min_insync_replicas,
            high_watermark=partition.high_watermark,
            log_end_offset=partition.log.log_end_offset,
        )
