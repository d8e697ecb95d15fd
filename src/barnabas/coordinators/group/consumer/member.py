"""One member of a consumer group: its subscription and its partitions. Members are immutable
values.

Subscription and ownership are two records in the log, so they are compared and written separately.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from enum import IntEnum
from typing import TypeAlias

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.model.dataclass import dataclass

# For each partition, the member epoch in which the member received it. Commits with that or a later
# epoch are valid for the partition (KIP-1251).
OwnedPartitions: TypeAlias = Mapping[IdPartition, int]

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2  # The member left for a while; its place is kept until the session ends.
NO_REBALANCE_TIMEOUT = -1


class MemberState(IntEnum):
    """The numbers of the log. See :mod:`~barnabas.coordinators.group.consumer.reconciliation` for
    the transitions.
    """

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127

    @classmethod
    def _missing_(cls, value: object) -> MemberState:  # noqa: ARG003
        return cls.UNKNOWN  # A newer Kafka wrote it.


@dataclass(frozen=True, slots=True)
class ClassicProtocol:
    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True)
class ClassicSide:
    """The extra data of a member that uses JoinGroup and SyncGroup."""

    session_timeout_ms: int
    protocols: tuple[ClassicProtocol, ...]


@dataclass(frozen=True, slots=True)
class Subscription:
    """The fields that a member sends about itself."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()  # Sorted.
    pattern: str = ""
    """Empty if the member has none, as in Kafka's log."""
    rebalance_timeout_ms: int = NO_REBALANCE_TIMEOUT
    assignor: str | None = None
    classic: ClassicSide | None = None

    def reads_like(self, other: Subscription) -> bool:
        """Whether both subscribe to the same topics, so that a change between them needs no new
        assignment.
        """
        return self.topics == other.topics and self.pattern == other.pattern


@dataclass(frozen=True, slots=True)
class Ownership:
    """The partitions of a member, and their epoch."""

    epoch: int = JOIN_EPOCH
    previous_epoch: int = JOIN_EPOCH
    state: MemberState = MemberState.STABLE
    assigned: OwnedPartitions = field(default_factory=dict)
    revoking: OwnedPartitions = field(default_factory=dict)
    """No longer assigned to the member, but not yet revoked by it."""

    def reconciled_to(self, epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == epoch

    def at(
        self,
        epoch: int,
        state: MemberState,
        assigned: OwnedPartitions,
        revoking: OwnedPartitions | None = None,
    ) -> Ownership:
        """Keeps the previous epoch: a member may use it once more if the response with the new one
        was lost.
        """
        previous_epoch = self.previous_epoch if epoch == self.epoch else self.epoch
        return Ownership(epoch, previous_epoch, state, assigned, revoking or {})

    def left_for_a_while(self) -> Ownership:
        """The ownership of a static member that left for a while. The epochs of its partitions
        start over with the next member.
        """
        return replace(self, epoch=STATIC_LEAVE_EPOCH, assigned=dict.fromkeys(self.assigned, 0), revoking={})


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    member_id: str
    subscription: Subscription = Subscription()
    ownership: Ownership = Ownership()

    @property
    def epoch(self) -> int:
        return self.ownership.epoch

    @property
    def instance_id(self) -> str | None:
        return self.subscription.instance_id

    @property
    def classic(self) -> ClassicSide | None:
        return self.subscription.classic
