"""A share partition that this broker leads: the machine, its log, its timer, and the fetches that
wait for it.

    INITIALIZING -- the state is read through the persister --> ACTIVE
    INITIALIZING -- it cannot be read --> FAILED: fetches get the error, the next one reads again
    ACTIVE -- this broker stops leading, or a newer leader fences it, or the group goes --> FENCED

The state belongs to one leader epoch. A broker that loses the leadership and gets it back reads the
state again, because another leader may have changed it in between.

One timer serves all locks: it is set for the earliest end that the machine knows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from barnabas.coordinators.share.persister import NO_START_OFFSET, SharePartitionKey, SharePersister, ShareState, StateBatch
from barnabas.env.clock import Clock
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.partition import Partition
from barnabas.replication.waiting_fetch import WaitingFetch
from barnabas.sharing.core.acknowledging import AcknowledgedRange, Refusal
from barnabas.sharing.core.delivery_change import DeliveryChange
from barnabas.sharing.core.record_state import PartitionState
from barnabas.sharing.core.settings import ShareGroupSettings
from barnabas.sharing.core.share_partition import NEVER_MS, InvalidShareState, SharePartition
from barnabas.sharing.dead_letters.dead_letter_writer import DeadLetterWriter, Letters
from barnabas.sharing.start_offset import start_offset
from barnabas.telemetry.logs import EventLog

if TYPE_CHECKING:
    from barnabas.tiered.remote_log import RemoteLog

# A lock may end this much late, so that locks of about the same time end together.
TIMER_SECONDS_MIN = 0.005
# The wait before dead letters are written again, doubling up to the maximum: a topic that is
# missing or forbidden stays so until an operator changes it.
LETTERS_RETRY_SECONDS, LETTERS_RETRY_SECONDS_MAX = 0.1, 10.0

_FENCING = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})


class SharingPorts(NamedTuple):
    """What every share partition of a broker needs."""

    persister: SharePersister
    dead_letters: DeadLetterWriter
    replicas: LocalReplicas
    remote_log: RemoteLog | None
    clock: Clock
    loop: asyncio.AbstractEventLoop
    log: EventLog


class Verdict(NamedTuple):
    """The outcome of an acknowledgement."""

    error: ErrorCode
    message: str | None = None


_NOT_WRITTEN = "The share coordinator did not write the new state of the records."
ACCEPTED = Verdict(ErrorCode.NONE)


class Waiter(Protocol):
    def try_again(self) -> object:
        """There may be records now. The waiter leaves the partition when it got some."""


class LocalSharePartition:
    __slots__ = (
        "_end",
        "_ports",
        "_settings",
        "_state_epoch",
        "_timer",
        "_timer_ms",
        "_waiting",
        "_waking",
        "_watch",
        "error",
        "key",
        "leader_epoch",
        "machine",
        "reading",
        "replica",
        "state",
    )

    def __init__(
        self,
        key: SharePartitionKey,
        replica: Partition,
        settings: ShareGroupSettings,
        ports: SharingPorts,
        on_end: Callable[[LocalSharePartition], None],
    ) -> None:
        """``on_end`` is called once, when it has failed or is fenced."""
        self.key = key
        self.replica = replica
        self.leader_epoch = replica.leader_epoch
        self.state = PartitionState.EMPTY
        self.error = ErrorCode.NONE
        # Whether a read from remote storage is on its way; two at once would fetch the same.
        self.reading = False
        self.machine = SharePartition(0, (), settings)
        self._settings = settings
        self._ports = ports
        self._end = on_end
        self._state_epoch = 0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = NEVER_MS
        self._waiting: dict[Waiter, None] = {}
        self._watch: WaitingFetch | None = None
        self._waking = False

    # -- beginning and ending ----------------------------------------------------------------------

    def begin(self) -> None:
        self.state = PartitionState.INITIALIZING
        self._ports.persister.read(self.key, leader_epoch=self.leader_epoch).then(self._read)

    def _read(self, state: ShareState | ErrorCode) -> None:
        if self.state is not PartitionState.INITIALIZING:
            return
        if isinstance(state, ErrorCode):
            self._fail(persister_error(state))
            return
        self._state_epoch = state.state_epoch
        if state.start_offset != NO_START_OFFSET:
            self._activate(state.start_offset, state.batches)
            return
        try:
            start = start_offset(
                self.replica,
                self._settings.auto_offset_reset,
                wall_ms=self._ports.clock.wall_ms(),
                remote_log=self._ports.remote_log,
            )
        except OSError as error:
            self._ports.replicas.disk_failed(self.replica.directory, error)
            self._fail(ErrorCode.KAFKA_STORAGE_ERROR)
            return
        if isinstance(start, Promise):
            start.then(self._keep_start)
        else:
            self._keep_start(start)

    def _keep_start(self, start: int | ErrorCode) -> None:
        """Write down where a new group begins, before its first delivery. Otherwise the next leader
        would choose again, and with ``latest`` skip the records that came in between."""
        if isinstance(start, ErrorCode):
            self._fail(start)
            return
        written = self._ports.persister.write(
            self.key,
            state_epoch=self._state_epoch,
            leader_epoch=self.leader_epoch,
            start_offset=start,
            delivery_complete_count=0,
            batches=(),
        )
        written.then(lambda code: self._fail(persister_error(code)) if code else self._activate(start, ()))

    def _activate(self, start: int, batches: Sequence[StateBatch]) -> None:
        if self.state is not PartitionState.INITIALIZING:
            return
        try:
            self.machine = SharePartition(start, batches, self._settings)
        except InvalidShareState as error:
            self._ports.log.error("the state of a share partition is invalid", share_partition=self.key.coordinator_key, reason=str(error))
            self._fail(ErrorCode.UNKNOWN_SERVER_ERROR)
            return
        self.state = PartitionState.ACTIVE
        self.wake()

    def _fail(self, error: ErrorCode) -> None:
        if self.state is not PartitionState.INITIALIZING:
            return
        self.state, self.error = PartitionState.FAILED, error
        self._ended()

    def fence(self, error: ErrorCode = ErrorCode.NOT_LEADER_OR_FOLLOWER) -> None:
        if self.state is not PartitionState.FENCED:
            self.state, self.error = PartitionState.FENCED, error
            self._ended()

    def _ended(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._watch is not None:
            self._watch.cancel()
        self._end(self)
        waiting, self._waiting = self._waiting, {}
        for each in waiting:
            each.try_again()

    @property
    def active(self) -> bool:
        return self.state is PartitionState.ACTIVE and not self.outdated

    @property
    def outdated(self) -> bool:
        """Whether this broker does not lead the partition any more, or leads it in a later
        epoch."""
        return not self.replica.leads or self.replica.leader_epoch != self.leader_epoch

    @property
    def settings(self) -> ShareGroupSettings:
        return self._settings

    @settings.setter
    def settings(self, settings: ShareGroupSettings) -> None:
        self._settings = self.machine.settings = settings

    # -- changes -----------------------------------------------------------------------------------

    def acknowledge(self, member_id: str, ranges: Iterable[AcknowledgedRange]) -> Verdict | Promise[Verdict]:
        if not self.active:
            return Verdict(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The share partition is not ready on this leader.")
        change = self.machine.acknowledge(member_id, ranges, self._ports.clock.monotonic_ms())
        if isinstance(change, Refusal):
            return Verdict(change.error, change.message)
        if change.empty:
            return ACCEPTED
        return self._perform(change).map(lambda error: ACCEPTED if not error else Verdict(error, _NOT_WRITTEN))

    def release(self, member_id: str) -> Promise[ErrorCode]:
        """The session of the member has ended."""
        if not self.active:
            return Promise.kept(ErrorCode.NONE)
        return self._perform(self.machine.release(member_id))

    def set_timer(self) -> None:
        """After every call that may lock or hide records."""
        alarm_ms = self.machine.alarm_ms
        if alarm_ms >= self._timer_ms or self.state is not PartitionState.ACTIVE:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = alarm_ms
        wait_ms = alarm_ms - self._ports.clock.monotonic_ms()
        self._timer = self._ports.loop.call_later(max(wait_ms / 1000, TIMER_SECONDS_MIN), self._alarm)

    def _alarm(self) -> None:
        self._timer, self._timer_ms = None, NEVER_MS
        if not self.active:
            return
        for change in self.machine.end_locks(self._ports.clock.monotonic_ms()):
            self._perform(change)
        self.set_timer()
        self.wake()

    def _perform(self, change: DeliveryChange) -> Promise[ErrorCode]:
        """Write a change down, dead letters first, and finish it. Returns the error for the
        member."""
        done: Promise[ErrorCode] = Promise()
        if change.empty:
            done.resolve(ErrorCode.NONE)
        elif change.letters:
            self._write_letters(change, done)
        else:
            self._write_state(change, done)
        return done

    def _write_letters(self, change: DeliveryChange, done: Promise[ErrorCode], wait_seconds: float = LETTERS_RETRY_SECONDS) -> None:
        if not self.active:
            done.resolve(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return

        def written(error: ErrorCode) -> None:
            if not error:
                self._write_state(change, done)
            elif change.certain:
                # No member waits for an answer, and no member may get these records: try again for
                # as long as this broker leads.
                longer = min(2 * wait_seconds, LETTERS_RETRY_SECONDS_MAX)
                self._ports.loop.call_later(wait_seconds, self._write_letters, change, done, longer)
            else:
                self._finish(change, written=False)
                done.resolve(ErrorCode.UNKNOWN_SERVER_ERROR)

        letters = Letters(self.key.group_id, self.replica, change.letters, self._settings)
        self._ports.dead_letters.write(letters).then(written)

    def _write_state(self, change: DeliveryChange, done: Promise[ErrorCode]) -> None:
        def written(code: ErrorCode) -> None:
            error = persister_error(code)
            self._finish(change, written=not error)
            if error in _FENCING:
                self.fence(error)
            done.resolve(error)

        self._ports.persister.write(
            self.key,
            state_epoch=self._state_epoch,
            leader_epoch=self.leader_epoch,
            start_offset=self.machine.start_offset,
            delivery_complete_count=self.machine.complete_count,
            batches=change.batches,
        ).then(written)

    def _finish(self, change: DeliveryChange, *, written: bool) -> None:
        if self.state is not PartitionState.ACTIVE:
            return
        news = self.machine.finish(change, written=written)
        self.set_timer()
        if news:
            self.wake()

    # -- waiting fetches ---------------------------------------------------------------------------

    def wait(self, waiter: Waiter) -> None:
        self._waiting[waiter] = None
        if self._watch is None and self.active:
            self._watch_log()

    def stop_waiting(self, waiter: Waiter) -> None:
        self._waiting.pop(waiter, None)

    @property
    def has_records(self) -> bool:
        """Whether a fetch would get records now."""
        if not self.active or self.reading:
            return False
        machine = self.machine
        offset = machine.next_fetch_offset(self._ports.clock.monotonic_ms())
        return offset < self.visible_end and machine.can_acquire(offset)

    @property
    def visible_end(self) -> int:
        return self.replica.last_stable_offset if self._settings.read_committed else self.replica.high_watermark

    def wake(self) -> None:
        """Serve waiting fetches, in the order in which they came, while there are records."""
        if self._waking:
            # A fetch that is being served acknowledged or read here: the loop below goes on.
            return
        self._waking = True
        try:
            for waiter in list(self._waiting):
                if not self.has_records:
                    break
                waiter.try_again()
        finally:
            self._waking = False
        if self._waiting and self._watch is None and self.active:
            self._watch_log()

    def _watch_log(self) -> None:
        self._watch = WaitingFetch([self.replica], missing_bytes=1, complete=self._grew, committed_only=self._settings.read_committed)

    def _grew(self) -> None:
        self._watch = None
        self.wake()


def persister_error(code: ErrorCode) -> ErrorCode:
    """The error that a client sees when the state could not be read or written."""
    match code:
        case ErrorCode.NONE | ErrorCode.GROUP_ID_NOT_FOUND | ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return code
        case ErrorCode.NOT_COORDINATOR | ErrorCode.COORDINATOR_NOT_AVAILABLE | ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        case ErrorCode.FENCED_LEADER_EPOCH | ErrorCode.FENCED_STATE_EPOCH:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        case _:
            return ErrorCode.UNKNOWN_SERVER_ERROR
