"""The in-sync replicas: the set that the controller has committed, and the one change that is in
flight to it.

    committed --propose-->                            pending
    pending   --controller agreed-->                  committed, with a new partition epoch
    pending   --controller refused, nothing done-->   committed as before
    pending   --the outcome is unknown-->             pending, until the metadata brings it

While a change is pending the *maximal* ISR counts: all replicas that are committed, and all that
may just have been committed. It contains the true set, so a high watermark below all of its end
offsets is below those of the true set as well.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.metadata.topics import RECOVERED, PartitionImage
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode

# The controller knows this partition epoch and has not made the change, nor will another
# controller: it is safe to go back.
_NOT_DONE = frozenset({ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA})
# The partition has changed. Metadata with the change is on its way, so asking again would not help.
_AWAIT_METADATA = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
    }
)


@dataclass(frozen=True, slots=True)
class InSync:
    """A member of a proposed ISR, in the incarnation in which the leader has seen it (KIP-903)."""

    broker_id: int
    broker_epoch: int


@dataclass(frozen=True, slots=True)
class IsrChange:
    """A leader's proposal to the controller, exactly as it was when it was sent."""

    isr: tuple[InSync, ...]
    leader_epoch: int
    partition_epoch: int
    grows: bool

    @property
    def members(self) -> frozenset[int]:
        return frozenset(each.broker_id for each in self.isr)


@dataclass(frozen=True, slots=True)
class IsrAnswer:
    """The controller's response for one partition."""

    isr: tuple[int, ...]
    leader_epoch: int
    partition_epoch: int


class Isr:
    """The in-sync replicas of one leader epoch. Invariant: ``committed`` is a subset of
    ``maximal``, and they differ only while a change is pending."""

    __slots__ = ("committed", "leader_epoch", "maximal", "partition_epoch", "pending")

    def __init__(self, image: PartitionImage) -> None:
        self.committed = image.isr
        self.leader_epoch = image.leader_epoch
        self.partition_epoch = image.partition_epoch
        self.pending: IsrChange | None = None
        self.maximal = frozenset(image.isr)

    def follow(self, image: PartitionImage) -> None:
        """Newer metadata also decides a pending change: it was made, or it came too late."""
        if image.partition_epoch > self.partition_epoch:
            self._commit(image.isr, image.partition_epoch)

    def propose(self, members: Iterable[InSync], *, grows: bool) -> IsrChange:
        assert self.pending is None, "one change at a time"
        change = IsrChange(tuple(members), self.leader_epoch, self.partition_epoch, grows)
        self.pending = change
        self.maximal = frozenset(self.committed) | change.members
        return change

    def agreed(self, change: IsrChange, answer: IsrAnswer) -> bool:
        """Whether the response brings a newer state. Responses to a change that is no longer
        pending are outdated."""
        if change is not self.pending or answer.leader_epoch != self.leader_epoch or answer.partition_epoch < self.partition_epoch:
            return False
        self._commit(answer.isr, answer.partition_epoch)
        return True

    def refused(self, change: IsrChange, code: ErrorCode) -> bool:
        """Whether to propose the change again."""
        if change is not self.pending:
            return False
        if code in _NOT_DONE:
            self._commit(self.committed, self.partition_epoch)
            return False
        return code not in _AWAIT_METADATA

    def _commit(self, isr: tuple[int, ...], partition_epoch: int) -> None:
        self.committed, self.partition_epoch, self.pending = isr, partition_epoch, None
        self.maximal = frozenset(isr)


# As in Kafka, a leader has nothing to recover: one that was elected without being in sync starts
# from its own log.
REPORTED_RECOVERY_STATE = RECOVERED
