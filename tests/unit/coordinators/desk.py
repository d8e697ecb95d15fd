"""A desk at which a test drives one shard of groups: the test controls time, the log, its commits
and refusals.

Records go through a real :class:`~barnabas.coordinators.runtime.CoordinatorRuntime`: they are
encoded, put into batches, decoded and replayed, live and again after :meth:`Desk.restart`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from barnabas.coordinators.group.machine import GroupMachine
from barnabas.coordinators.group.record_types import GROUP_RECORD_TYPES
from barnabas.coordinators.group.settings import GroupSettings, SettingsOfGroup
from barnabas.coordinators.group.shard import GroupShard
from barnabas.coordinators.outcome import Outcome, ProducerIdentity
from barnabas.coordinators.record import CoordinatorRecord, decode_record
from barnabas.coordinators.runtime import CoordinatorRuntime
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.records.batch_header import assign_offset, read_header
from barnabas.records.control_batch import ControlType, build_end_transaction
from barnabas.records.record import open_batch
from tests.unit.controller.core.deciding import Dice
from tests.unit.metadata.made import after

SHARD = 0
NOW_MS = 1_700_000_000_000
R = TypeVar("R")


class MemoryLog:
    """One partition. Appends are committed at once, unless the log lags or refuses them."""

    def __init__(self) -> None:
        self.batches: list[bytearray] = []
        self.end_offset = 0
        self.refusal = ErrorCode.NONE
        self.lagging = False
        self._waiting: list[Promise[ErrorCode]] = []

    def append(self, partition: int, batch: bytearray) -> int | ErrorCode:
        assert partition == SHARD
        if self.refusal:
            return self.refusal
        assign_offset(batch, self.end_offset, 0)
        self.batches.append(batch)
        self.end_offset += read_header(batch).record_count
        return self.end_offset

    def replicated(self, partition: int, end_offset: int) -> Promise[ErrorCode]:
        assert partition == SHARD
        assert end_offset == self.end_offset
        if not self.lagging:
            return Promise.kept(ErrorCode.NONE)
        promise: Promise[ErrorCode] = Promise()
        self._waiting.append(promise)
        return promise

    def catch_up(self, code: ErrorCode = ErrorCode.NONE) -> None:
        self.lagging = False
        waiting, self._waiting = self._waiting, []
        for promise in waiting:
            promise.resolve(code)


class Desk:
    def __init__(self, settings: GroupSettings | None = None, *, image: MetadataImage | None = None, seed: int = 0) -> None:
        self.now_ms = NOW_MS
        self.log = MemoryLog()
        self.image = image if image is not None else after([])
        self.settings_of_groups: dict[str, SettingsOfGroup] = {}
        self.effects: list[Any] = []
        self._settings = settings if settings is not None else GroupSettings()
        self._dice = Dice(seed)
        self._epoch = 0
        self.machine: GroupMachine
        self.runtime: CoordinatorRuntime[GroupMachine] = CoordinatorRuntime(
            self._make,
            GROUP_RECORD_TYPES,
            self.log,
            on_effect=lambda _, effect: self.effects.append(effect),
            on_deadline=lambda _: None,
        )
        self._load()

    def _make(self, partition: int) -> GroupMachine:
        self.machine = GroupMachine(
            GroupShard(
                partition=partition,
                settings=self._settings,
                entropy=self._dice,
                image=lambda: self.image,
                settings_of=lambda group_id: self.settings_of_groups.get(group_id, {}),
            )
        )
        return self.machine

    def _load(self) -> None:
        self._epoch += 1
        assert self.runtime.begin_loading(SHARD, self._epoch)
        for batch in self.log.batches:
            assert self.runtime.replay_batch(SHARD, self._epoch, batch)
        self.runtime.finish_loading(SHARD, self._epoch, self.log.end_offset, self.now_ms)

    def unload(self) -> None:
        self.runtime.unload(SHARD)

    def restart(self) -> None:
        """Another node, or the same one again, leads the shard and has only the log."""
        self.unload()
        self._load()

    def run(self, operation: Callable[[GroupMachine, int], Outcome[R]]) -> Promise[R | ErrorCode]:
        return self.runtime.run(SHARD, self.now_ms, lambda machine: operation(machine, self.now_ms))

    def ask(self, operation: Callable[[GroupMachine, int], Outcome[R]]) -> R | ErrorCode:
        """The answer of an operation that completes at once."""
        return self.run(operation).value

    def wait(self, milliseconds: int) -> None:
        """Let time pass; every timer runs at its own time."""
        end_ms = self.now_ms + milliseconds
        while (deadline_ms := self.runtime.next_deadline_ms) is not None and deadline_ms <= end_ms:
            self.now_ms = max(self.now_ms, deadline_ms)
            self.runtime.tick(self.now_ms)
        self.now_ms = end_ms

    def end_transaction(self, transaction: ProducerIdentity, *, committed: bool) -> None:
        """Write the marker of a transaction into the shard's log."""
        marker = build_end_transaction(
            ControlType.COMMIT if committed else ControlType.ABORT,
            coordinator_epoch=0,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            timestamp=self.now_ms,
        )
        end_offset = self.log.append(SHARD, marker)
        assert not isinstance(end_offset, ErrorCode)
        self.runtime.replay_end(SHARD, transaction, end_offset, committed=committed)

    def records(self, since: int = 0) -> list[CoordinatorRecord]:
        """The records of the log from the batch with this number on, without markers."""
        found = []
        for batch in self.log.batches[since:]:
            if read_header(batch).control:
                continue
            for record in open_batch(batch):
                assert record.key is not None
                decoded = decode_record(GROUP_RECORD_TYPES, record.key, record.value)
                assert decoded is not None
                found.append(decoded)
        return found
