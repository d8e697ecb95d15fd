"""A persister that keeps the delivery state of share partitions in memory.

It follows the port: merged batches, fencing by epochs, answers at once or, while :attr:`held`, when
the test says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from barnabas.coordinators.share.persister import (
    NO_START_OFFSET,
    UNKNOWN_COUNT,
    SharePartitionKey,
    ShareState,
    ShareSummary,
    StateBatch,
)
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise


class KeptState:
    def __init__(self) -> None:
        self.state_epoch = 0
        self.leader_epoch = -1
        self.start_offset = NO_START_OFFSET
        self.complete_count = UNKNOWN_COUNT
        self.offsets: dict[int, tuple[int, int]] = {}

    @property
    def batches(self) -> list[StateBatch]:
        found: list[StateBatch] = []
        for offset, (state, count) in sorted(self.offsets.items()):
            if found and found[-1].last_offset + 1 == offset and found[-1][2:] == (state, count):
                found[-1] = found[-1]._replace(last_offset=offset)
            else:
                found.append(StateBatch(offset, offset, state, count))
        return found


class MemoryPersister:
    def __init__(self) -> None:
        self.kept: dict[SharePartitionKey, KeptState] = {}
        self.fails: ErrorCode = ErrorCode.NONE
        self.held = False
        self.waiting: list[Callable[[], None]] = []
        self.writes = 0

    def answer_all(self) -> None:
        waiting, self.waiting = self.waiting, []
        for each in waiting:
            each()

    def initialize(self, key: SharePartitionKey, *, state_epoch: int, start_offset: int) -> Promise[ErrorCode]:
        state = self.kept[key] = KeptState()
        state.state_epoch, state.start_offset = state_epoch, start_offset
        return Promise.kept(ErrorCode.NONE)

    def read(self, key: SharePartitionKey, *, leader_epoch: int) -> Promise[ShareState | ErrorCode]:
        promise: Promise[ShareState | ErrorCode] = Promise()

        def answer() -> None:
            state = self.kept.setdefault(key, KeptState())
            if self.fails:
                promise.resolve(self.fails)
            elif leader_epoch < state.leader_epoch:
                promise.resolve(ErrorCode.FENCED_LEADER_EPOCH)
            else:
                state.leader_epoch = leader_epoch
                promise.resolve(ShareState(state.state_epoch, state.start_offset, state.batches))

        self._later(answer)
        return promise

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
        promise: Promise[ErrorCode] = Promise()

        def answer() -> None:
            self.writes += 1
            state = self.kept.setdefault(key, KeptState())
            if self.fails:
                promise.resolve(self.fails)
            elif leader_epoch < state.leader_epoch:
                promise.resolve(ErrorCode.FENCED_LEADER_EPOCH)
            elif state_epoch < state.state_epoch:
                promise.resolve(ErrorCode.FENCED_STATE_EPOCH)
            else:
                if start_offset != NO_START_OFFSET:
                    state.start_offset = start_offset
                for first, last, kind, count in batches:
                    state.offsets.update(dict.fromkeys(range(first, last + 1), (kind, count)))
                state.offsets = {offset: each for offset, each in state.offsets.items() if offset >= state.start_offset}
                state.complete_count = delivery_complete_count
                promise.resolve(ErrorCode.NONE)

        self._later(answer)
        return promise

    def read_summary(self, key: SharePartitionKey, *, leader_epoch: int) -> Promise[ShareSummary | ErrorCode]:
        state = self.kept.setdefault(key, KeptState())
        return Promise.kept(ShareSummary(state.state_epoch, state.leader_epoch, state.start_offset, state.complete_count))

    def delete(self, key: SharePartitionKey) -> Promise[ErrorCode]:
        self.kept.pop(key, None)
        return Promise.kept(ErrorCode.NONE)

    def _later(self, answer: Callable[[], None]) -> None:
        if self.held:
            self.waiting.append(answer)
        else:
            answer()
