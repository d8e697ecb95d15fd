"""The way to the durable delivery state of share partitions, wherever its coordinator is.

A *share partition* is one partition of a topic as one share group consumes it. Its leader keeps the
delivery state in memory and writes every change through a :class:`SharePersister`; the group
coordinator initializes and deletes the state through the same port. Each call names one share
partition. The implementation may put calls of one moment into one request.

Every call resolves with an error code or a value and never raises. Codes that a caller must expect:
COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR and COORDINATOR_LOAD_IN_PROGRESS once the retries of the
implementation are used up, FENCED_LEADER_EPOCH and FENCED_STATE_EPOCH for a caller that is behind,
UNKNOWN_TOPIC_OR_PARTITION for a topic that does not exist, and INVALID_REQUEST for a read or a
write of a share partition that was never initialized.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid, uuid_text
from barnabas.model.promise import Promise

# A start offset that no member has reached yet: the leader of the partition chooses one by
# `share.auto.offset.reset`.
NO_START_OFFSET = -1
# The number of completely delivered records is not known; clients then show no lag.
UNKNOWN_COUNT = -1


class SharePartitionKey(NamedTuple):
    group_id: str
    topic_id: Uuid
    partition: int

    @property
    def coordinator_key(self) -> str:
        """The key by which FindCoordinator finds the share coordinator of this partition."""
        return f"{self.group_id}:{uuid_text(self.topic_id)}:{self.partition}"


class StateBatch(NamedTuple):
    """The state of a range of offsets; ``delivery_state`` has Kafka's persisted numbers."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


@dataclass(frozen=True, slots=True)
class ShareState:
    state_epoch: int
    start_offset: int
    batches: Sequence[StateBatch]


@dataclass(frozen=True, slots=True)
class ShareSummary:
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int


class SharePersister(Protocol):
    def initialize(self, key: SharePartitionKey, *, state_epoch: int, start_offset: int) -> Promise[ErrorCode]: ...

    def read(self, key: SharePartitionKey, *, leader_epoch: int) -> Promise[ShareState | ErrorCode]:
        """The state. It starts at :data:`NO_START_OFFSET` until a leader has written a start. A
        newer leader epoch is remembered, and fences older leaders.
        """

    def write(
        self,
        key: SharePartitionKey,
        *,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
    ) -> Promise[ErrorCode]:
        """Change the state of some offsets. ``start_offset`` is :data:`NO_START_OFFSET` if it has
        not moved.
        """

    def read_summary(self, key: SharePartitionKey, *, leader_epoch: int) -> Promise[ShareSummary | ErrorCode]:
        """A share partition that was never initialized has a summary that starts at
        :data:`NO_START_OFFSET`. As in Kafka the leader epoch fences no reader of a summary.
        """

    def delete(self, key: SharePartitionKey) -> Promise[ErrorCode]: ...
