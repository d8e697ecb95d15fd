"""Proposes changes of in-sync replicas to the controller, many partitions in one request, one
request at a time; and finds replicas that lag.

A partition has one change pending at most, so changes cannot overtake each other. A proposal
without a response is sent again until the partition no longer wants it: a new leader epoch, or
newer metadata, makes the response obsolete, and the partition drops the change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from barnabas.controller.port import ControllerPort
from barnabas.env.clock import Clock
from barnabas.model.errors import known_error
from barnabas.model.ids import Uuid
from barnabas.replication.isr import REPORTED_RECOVERY_STATE, IsrAnswer, IsrChange
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.partition import Partition
from barnabas.telemetry.logs import NAMED_MAX, EventLog
from barnabas.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    PartitionData,
    ResponsePartitionData,
    TopicData,
)

# As in Kafka, a controller that cannot answer is asked again soon, since the set cannot shrink or
# grow while a change is pending.
RETRY_SECONDS = 0.05

Key = tuple[Uuid, int]


class IsrReports:
    def __init__(
        self,
        controller: ControllerPort,
        replicas: LocalReplicas,
        clock: Clock,
        log: EventLog,
        *,
        node_id: int,
        broker_epoch: Callable[[], int],
        lag_ms_max: int,
    ) -> None:
        self._controller = controller
        self._replicas = replicas
        self._clock = clock
        self._log = log
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._check_seconds = lag_ms_max / 2 / 1000
        self._waiting: dict[Key, tuple[Partition, IsrChange]] = {}
        self._scheduled = False
        self._under_way = False
        self._timers: set[asyncio.TimerHandle] = set()
        self._stopped = False
        self._agreed = 0  # In the response that is being applied, to log the first few only.

    def start(self) -> None:
        """Look for lagging replicas twice in the time that they are allowed to lag."""
        self._later(self._check_seconds, self._check)

    def stop(self) -> None:
        self._stopped = True
        for timer in self._timers:
            timer.cancel()

    def _later(self, seconds: float, job: Callable[[], None]) -> None:
        def run() -> None:
            self._timers.discard(timer)
            if not self._stopped:
                job()

        timer = asyncio.get_running_loop().call_later(seconds, run)
        self._timers.add(timer)

    def _check(self) -> None:
        now_ms = self._clock.monotonic_ms()
        shrinks = [(each, change) for each in list(self._replicas) if (change := each.check_isr(now_ms)) is not None]
        for partition, change in shrinks[:NAMED_MAX]:
            removed = sorted(set(partition.isr) - change.members)
            self._log.info("isr shrinks", partition=str(partition.partition), removed=removed, left=sorted(change.members))
        if len(shrinks) > NAMED_MAX:
            removed = sorted({each for partition, change in shrinks for each in set(partition.isr) - change.members})
            self._log.info("isr shrinks for more partitions", partitions=len(shrinks) - NAMED_MAX, removed=removed)
        self._later(self._check_seconds, self._check)

    # -- requests ---------------------------------------------------------------------------------

    def propose(self, partition: Partition, change: IsrChange) -> None:
        self._waiting[partition.topic_id, partition.partition.partition] = (partition, change)
        if not self._scheduled and not self._under_way and not self._stopped:
            self._scheduled = True
            # Fetches of many partitions come in one turn of the loop, and one request reports them
            # all.
            asyncio.get_running_loop().call_soon(self._send)

    def _send(self) -> None:
        self._scheduled = False
        if self._under_way or self._stopped or not self._waiting:
            return
        sent, self._waiting = self._waiting, {}
        self._under_way = True
        self._controller.submit(self._request(sent)).then(lambda response: self._answered(sent, response))

    def _request(self, sent: dict[Key, tuple[Partition, IsrChange]]) -> AlterPartitionRequest:
        topics: dict[Uuid, TopicData] = {}
        for (topic_id, index), (_, change) in sent.items():
            topics.setdefault(topic_id, TopicData(topic_id=topic_id, partitions=[])).partitions.append(
                PartitionData(
                    partition_index=index,
                    leader_epoch=change.leader_epoch,
                    new_isr_with_epochs=[BrokerState(broker_id=each.broker_id, broker_epoch=each.broker_epoch) for each in change.isr],
                    leader_recovery_state=REPORTED_RECOVERY_STATE,
                    partition_epoch=change.partition_epoch,
                )
            )
        return AlterPartitionRequest(broker_id=self._node_id, broker_epoch=self._broker_epoch(), topics=list(topics.values()))

    # -- responses --------------------------------------------------------------------------------

    def _answered(self, sent: dict[Key, tuple[Partition, IsrChange]], response: Any) -> None:
        self._under_way = False
        if not isinstance(response, AlterPartitionResponse) or response.error_code:
            self._retry(sent)
            return
        answers = dict(_partitions(response))
        self._agreed = 0
        missing = {}
        for key, (partition, change) in sent.items():
            answer = answers.get(key)
            if answer is None or not self._apply(partition, change, answer):
                missing[key] = (partition, change)
        if self._agreed > NAMED_MAX:
            self._log.info("isr changed for more partitions", partitions=self._agreed - NAMED_MAX)
        self._retry(missing)

    def _apply(self, partition: Partition, change: IsrChange, answer: ResponsePartitionData) -> bool:
        """Returns whether this change is finished."""
        if answer.error_code:
            code = known_error(answer.error_code)
            self._log.info("isr change refused", partition=str(partition.partition), error=code.name)
            return not partition.isr_refused(change, code)
        if partition.isr_agreed(change, IsrAnswer(tuple(answer.isr), answer.leader_epoch, answer.partition_epoch)):
            self._agreed += 1
            if self._agreed <= NAMED_MAX:
                name, isr = str(partition.partition), list(answer.isr)
                self._log.info("isr changed", partition=name, isr=isr, partition_epoch=answer.partition_epoch)
        return True

    def _retry(self, missing: dict[Key, tuple[Partition, IsrChange]]) -> None:
        """Send the changes again after a pause, unless the partition wants another change by
        then."""
        for key, (partition, change) in missing.items():
            leadership = partition.leadership
            if leadership is not None and leadership.isr.pending is change:
                self._waiting.setdefault(key, (partition, change))
        if self._waiting and not self._scheduled and not self._stopped:
            self._scheduled = True
            self._later(RETRY_SECONDS if missing else 0, self._send)


def _partitions(response: AlterPartitionResponse) -> Iterator[tuple[Key, ResponsePartitionData]]:
    for topic in response.topics:
        for partition in topic.partitions:
            yield (topic.topic_id, partition.partition_index), partition
