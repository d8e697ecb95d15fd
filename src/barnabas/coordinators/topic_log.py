"""An internal topic as its coordinator uses it: appends to the partitions led here, and waits for
commits.
"""

from __future__ import annotations

from barnabas.env.clock import Clock
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.records.validation import Refused
from barnabas.replication.local_replicas import LocalReplicas


class CoordinatorTopicLog:
    def __init__(self, topic: str, replicas: LocalReplicas, clock: Clock) -> None:
        self._topic = topic
        self._replicas = replicas
        self._clock = clock

    def append(self, partition: int, batch: bytearray) -> int | ErrorCode:
        replica = self._replicas.get(self._topic, partition)
        if replica is None:
            return ErrorCode.NOT_COORDINATOR
        try:
            outcome = replica.append_own(batch, self._clock.wall_ms())
        except OSError as error:
            self._replicas.disk_failed(replica.directory, error)
            return ErrorCode.NOT_COORDINATOR
        if isinstance(outcome, Refused):
            return outcome.code
        return outcome.last_offset + 1

    def replicated(self, partition: int, end_offset: int) -> Promise[ErrorCode]:
        replica = self._replicas.get(self._topic, partition)
        if replica is None:
            return Promise.kept(ErrorCode.NOT_COORDINATOR)
        replicated = replica.replicated(end_offset)
        if replicated.done and not replicated.value:
            return replicated
        return replicated.map(_committed)


def _committed(code: ErrorCode) -> ErrorCode:
    """Records that all in-sync replicas have stay committed, even if the ISR shrinks below the
    minimum afterwards. The shard relies on that; with an error here it would refuse to its clients
    what it keeps in its state.
    """
    return ErrorCode.NONE if code == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND else code
