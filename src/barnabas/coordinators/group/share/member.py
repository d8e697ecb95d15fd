"""One member of a share group. Members are immutable values.

The subscription and the assignment are two records in the log, so they are compared and written
separately. A member needs no time to give partitions back: other members may have them already, and
the records that it holds are locked one by one.
"""

from __future__ import annotations

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.model.dataclass import dataclass

JOIN_EPOCH = 0
LEAVE_EPOCH = -1


@dataclass(frozen=True, slots=True)
class ShareSubscription:
    """The fields that a member sends about itself."""

    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()  # Sorted.


@dataclass(frozen=True, slots=True)
class ShareAssignment:
    """The partitions of a member, and their epoch."""

    epoch: int = JOIN_EPOCH
    previous_epoch: int = JOIN_EPOCH
    partitions: frozenset[IdPartition] = frozenset()

    def at(self, epoch: int, partitions: frozenset[IdPartition]) -> ShareAssignment:
        """Keeps the previous epoch: a member may use it once more if the response with the new one
        was lost.
        """
        return ShareAssignment(epoch, self.previous_epoch if epoch == self.epoch else self.epoch, partitions)


@dataclass(frozen=True, slots=True)
class ShareMember:
    member_id: str
    subscription: ShareSubscription = ShareSubscription()
    assignment: ShareAssignment = ShareAssignment()

    @property
    def epoch(self) -> int:
        return self.assignment.epoch
