"""One member of a consumer group: what it asked for and what it owns. A value: a change makes another.

What it asked for and what it owns are two records in the log, so they are compared and written apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TypeAlias

from barnabas.coordinators.group.assignors.assignor import IdPartition

# The epoch in which a partition came to its owner: commits of that and later epochs of the member are good for it (KIP-1251).
OwnedPartitions: TypeAlias = Mapping[IdPartition, int]

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2  # gone for a while: the place is kept until the session ends
NO_REBALANCE_TIMEOUT = -1


class MemberState(IntEnum):
    """Numbers of the log. See :mod:`~barnabas.coordinators.group.consumer.reconciliation` for what leads from one to another."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127

    @classmethod
    def _missing_(cls, value: object) -> MemberState:  # noqa: ARG003
        return cls.UNKNOWN  # a newer Kafka wrote it


@dataclass(frozen=True, slots=True)
class ClassicProtocol:
    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True)
class ClassicSide:
    """What is kept of a member that still speaks JoinGroup and SyncGroup."""

    session_timeout_ms: int
    protocols: tuple[ClassicProtocol, ...]


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a member asked for."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()  # sorted
    pattern: str = ""
    """Empty where the member has none, in Kafka's log as here."""
    rebalance_timeout_ms: int = NO_REBALANCE_TIMEOUT
    assignor: str | None = None
    classic: ClassicSide | None = None

    def reads_like(self, other: Subscription) -> bool:
        """Whether both ask for the same topics, so that going from one to the other is no reason to assign anew."""
        return self.topics == other.topics and self.pattern == other.pattern


@dataclass(frozen=True, slots=True)
class Ownership:
    """What a member owns, as of which epoch."""

    epoch: int = JOIN_EPOCH
    previous_epoch: int = JOIN_EPOCH
    state: MemberState = MemberState.STABLE
    assigned: OwnedPartitions = field(default_factory=dict)
    revoking: OwnedPartitions = field(default_factory=dict)
    """No longer its own, but not yet given up by it."""

    def reconciled_to(self, epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == epoch

    def at(
        self,
        epoch: int,
        state: MemberState,
        assigned: OwnedPartitions,
        revoking: OwnedPartitions | None = None,
    ) -> Ownership:
        """The epoch before is remembered: a member may come with it once more, when the answer with the new one got lost."""
        previous_epoch = self.previous_epoch if epoch == self.epoch else self.epoch
        return Ownership(epoch, previous_epoch, state, assigned, revoking or {})

    def left_for_a_while(self) -> Ownership:
        """What a static member leaves behind. The epochs of its partitions start over with whoever returns in its place."""
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
