"""Who is in sync: what the controller has committed, and the one change that is on its way to it.

    committed --propose--> pending --controller agreed--> committed (with its partition epoch)
                              |--- controller refused, and says that nothing was done --> committed as before
                              |--- the outcome is unknown --> pending, until the metadata tells

While a change is pending the *maximal* ISR counts: everybody committed, and everybody who may just have been committed. It is larger
than the truth or equal to it, so a high watermark below all of its ends is below all of the truth's as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.metadata.topics import RECOVERED, PartitionImage
from barnabas.model.errors import ErrorCode

# The controller knows this partition epoch and has not done what was asked, nor has any other: it is safe to go back.
_NOT_DONE = frozenset({ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA})
# The partition is not what we take it for. Metadata that says so is on its way; asking again would not help.
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
    """A member of a wished-for ISR, in the incarnation in which the leader has seen it (KIP-903)."""

    broker_id: int
    broker_epoch: int


@dataclass(frozen=True, slots=True)
class IsrChange:
    """What a leader asks the controller for, exactly as it was when it was asked."""

    isr: tuple[InSync, ...]
    leader_epoch: int
    partition_epoch: int
    grows: bool

    @property
    def members(self) -> frozenset[int]:
        return frozenset(each.broker_id for each in self.isr)


@dataclass(frozen=True, slots=True)
class IsrAnswer:
    """The controller's word about one partition."""

    isr: tuple[int, ...]
    leader_epoch: int
    partition_epoch: int


class Isr:
    """Of one leader epoch. Invariant: ``committed`` is a part of ``maximal``, and they differ only while something is pending."""

    __slots__ = ("committed", "leader_epoch", "maximal", "partition_epoch", "pending")

    def __init__(self, image: PartitionImage) -> None:
        self.committed = image.isr
        self.leader_epoch = image.leader_epoch
        self.partition_epoch = image.partition_epoch
        self.pending: IsrChange | None = None
        self.maximal = frozenset(image.isr)

    def follow(self, image: PartitionImage) -> None:
        """Metadata that this leader has not heard of yet decides what is pending too: whether it was done, or came too late."""
        if image.partition_epoch > self.partition_epoch:
            self._commit(image.isr, image.partition_epoch)

    def propose(self, members: Iterable[InSync], *, grows: bool) -> IsrChange:
        assert self.pending is None, "one change at a time"
        change = IsrChange(tuple(members), self.leader_epoch, self.partition_epoch, grows)
        self.pending = change
        self.maximal = frozenset(self.committed) | change.members
        return change

    def agreed(self, change: IsrChange, answer: IsrAnswer) -> bool:
        """Whether the answer tells something new. Answers to what is no longer pending are out of date."""
        if change is not self.pending or answer.leader_epoch != self.leader_epoch or answer.partition_epoch < self.partition_epoch:
            return False
        self._commit(answer.isr, answer.partition_epoch)
        return True

    def refused(self, change: IsrChange, code: ErrorCode) -> bool:
        """Whether to ask again."""
        if change is not self.pending:
            return False
        if code in _NOT_DONE:
            self._commit(self.committed, self.partition_epoch)
            return False
        return code not in _AWAIT_METADATA

    def _commit(self, isr: tuple[int, ...], partition_epoch: int) -> None:
        self.committed, self.partition_epoch, self.pending = isr, partition_epoch, None
        self.maximal = frozenset(isr)


# Kafka's leaders have nothing to recover either: whoever was elected without being in sync starts from what it has.
REPORTED_RECOVERY_STATE = RECOVERED
