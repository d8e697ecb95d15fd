"""One member of a streams group: the fields that it sends and the tasks that it has. Members are
immutable values.

A member is a thread of a *process*. Threads of one process share its state directory, so a process
must never have two copies of a task.

Metadata and ownership are two records in the log, so they are compared and written separately.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from barnabas.coordinators.group.streams.tasks import NO_TASKS, OwnedTasks
from barnabas.model.dataclass import dataclass

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2
NO_REBALANCE_TIMEOUT = -1
NO_TOPOLOGY_EPOCH = -1


class MemberState(IntEnum):
    """The numbers of the log. See :mod:`~barnabas.coordinators.group.streams.reconciliation` for
    the transitions.
    """

    STABLE = 1
    UNREVOKED_TASKS = 2
    UNRELEASED_TASKS = 3
    UNKNOWN = 127

    @classmethod
    def _missing_(cls, value: object) -> MemberState:  # noqa: ARG003
        return cls.UNKNOWN  # A newer Kafka wrote it.


class UserEndpoint(NamedTuple):
    """The address at which the application answers interactive queries."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class MemberMetadata:
    """The fields that a member sends about itself. Each change of them raises the group epoch."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = NO_REBALANCE_TIMEOUT
    topology_epoch: int = NO_TOPOLOGY_EPOCH
    process_id: str = ""
    user_endpoint: UserEndpoint | None = None
    client_tags: tuple[tuple[str, str], ...] = ()  # Sorted by key.


@dataclass(frozen=True, slots=True)
class Ownership:
    """The tasks of a member, and their epoch."""

    epoch: int = JOIN_EPOCH
    previous_epoch: int = JOIN_EPOCH
    state: MemberState = MemberState.STABLE
    assigned: OwnedTasks = NO_TASKS
    revoking: OwnedTasks = NO_TASKS
    """No longer assigned to the member, but not yet revoked by it."""

    def reconciled_to(self, epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == epoch

    def at(self, epoch: int, state: MemberState, assigned: OwnedTasks, revoking: OwnedTasks | None = None) -> Ownership:
        """Keeps the previous epoch: a member may use it once more if the response with the new one
        was lost.
        """
        previous_epoch = self.previous_epoch if epoch == self.epoch else self.epoch
        return Ownership(epoch, previous_epoch, state, assigned, revoking or NO_TASKS)


@dataclass(frozen=True, slots=True)
class StreamsMember:
    member_id: str
    metadata: MemberMetadata = MemberMetadata()
    ownership: Ownership = Ownership()

    @property
    def epoch(self) -> int:
        return self.ownership.epoch

    @property
    def process_id(self) -> str:
        return self.metadata.process_id
