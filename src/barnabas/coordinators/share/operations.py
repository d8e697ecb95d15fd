"""The operations on a share partition, as values: a broker runs one on its own shard, or puts it
into a request to the broker that has the shard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, cast

from barnabas.coordinators.outcome import Outcome
from barnabas.coordinators.share.persister import NO_START_OFFSET, SharePartitionKey, ShareState, ShareSummary, StateBatch
from barnabas.coordinators.share.refusal import Refusal
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.coordinators.share.machine import ShareMachine


@dataclass(frozen=True, slots=True)
class Initialize:
    key: SharePartitionKey
    state_epoch: int
    start_offset: int

    def decide(self, machine: ShareMachine, now_ms: int) -> Outcome[ErrorCode | Refusal]:
        return machine.initialize(self.key, state_epoch=self.state_epoch, start_offset=self.start_offset, now_ms=now_ms)


@dataclass(frozen=True, slots=True)
class Read:
    key: SharePartitionKey
    leader_epoch: int

    def decide(self, machine: ShareMachine, now_ms: int) -> Outcome[ShareState | Refusal]:
        return machine.read(self.key, leader_epoch=self.leader_epoch, now_ms=now_ms)


@dataclass(frozen=True, slots=True)
class Write:
    key: SharePartitionKey
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: Sequence[StateBatch]

    def decide(self, machine: ShareMachine, now_ms: int) -> Outcome[ErrorCode | Refusal]:
        return machine.write(
            self.key,
            state_epoch=self.state_epoch,
            leader_epoch=self.leader_epoch,
            start_offset=self.start_offset,
            delivery_complete_count=self.delivery_complete_count,
            batches=self.batches,
            now_ms=now_ms,
        )

    def followed_by(self, later: Write) -> Write | None:
        """One write with the effect of both; None if only one of them may be fenced."""
        if (self.key, self.state_epoch, self.leader_epoch) != (later.key, later.state_epoch, later.leader_epoch):
            return None
        start_offset = self.start_offset if later.start_offset == NO_START_OFFSET else later.start_offset
        return replace(later, start_offset=start_offset, batches=(*self.batches, *later.batches))


@dataclass(frozen=True, slots=True)
class ReadSummary:
    key: SharePartitionKey
    leader_epoch: int

    def decide(self, machine: ShareMachine, now_ms: int) -> Outcome[ShareSummary | Refusal]:
        return machine.read_summary(self.key)


@dataclass(frozen=True, slots=True)
class Delete:
    key: SharePartitionKey

    def decide(self, machine: ShareMachine, now_ms: int) -> Outcome[ErrorCode | Refusal]:
        return machine.delete(self.key)


Operation: TypeAlias = Initialize | Read | Write | ReadSummary | Delete
Result: TypeAlias = ShareState | ShareSummary | ErrorCode


def decide_all(operations: Sequence[Operation], machine: ShareMachine, now_ms: int) -> Outcome[list[Result | Refusal]]:
    """One outcome for operations on different share partitions, which do not see each other's
    records.
    """
    outcomes = [operation.decide(machine, now_ms) for operation in operations]
    answers = [cast(Result | Refusal, outcome.answer) for outcome in outcomes]
    return Outcome(answers, [record for outcome in outcomes for record in outcome.records])
