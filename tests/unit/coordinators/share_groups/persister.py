"""A share coordinator in memory, which may refuse requests or answer late."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from barnabas.coordinators.share.persister import NO_START_OFFSET, SharePartitionKey, ShareState, ShareSummary, StateBatch
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise

T = TypeVar("T")


class PersisterInMemory:
    def __init__(self) -> None:
        self.states: dict[SharePartitionKey, ShareSummary] = {}
        self.refusals: dict[int, ErrorCode] = {}
        """By the number of the partition."""
        self.late = False
        self._late: list[Callable[[], None]] = []
        self.initializations: list[tuple[SharePartitionKey, int, int]] = []
        """Key, state epoch and start offset of each request."""

    def answer_late_requests(self) -> None:
        late, self._late = self._late, []
        for answer in late:
            answer()

    def _answered(self, value: Callable[[], T]) -> Promise[T]:
        promise: Promise[T] = Promise()
        if self.late:
            self._late.append(lambda: promise.resolve(value()))
        else:
            promise.resolve(value())
        return promise

    def initialize(self, key: SharePartitionKey, *, state_epoch: int, start_offset: int) -> Promise[ErrorCode]:
        self.initializations.append((key, state_epoch, start_offset))

        def code() -> ErrorCode:
            if key.partition in self.refusals:
                return self.refusals[key.partition]
            self.states[key] = ShareSummary(state_epoch, 0, start_offset, -1)
            return ErrorCode.NONE

        return self._answered(code)

    def read(self, key: SharePartitionKey, *, leader_epoch: int) -> Promise[ShareState | ErrorCode]:
        raise AssertionError("only leaders of partitions read states")

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
        raise AssertionError("only leaders of partitions write states")

    def read_summary(self, key: SharePartitionKey, *, leader_epoch: int) -> Promise[ShareSummary | ErrorCode]:
        return self._answered(lambda: self.states.get(key, ShareSummary(0, 0, NO_START_OFFSET, -1)))

    def delete(self, key: SharePartitionKey) -> Promise[ErrorCode]:
        def code() -> ErrorCode:
            if key.partition in self.refusals:
                return self.refusals[key.partition]
            self.states.pop(key, None)
            return ErrorCode.NONE

        return self._answered(code)
