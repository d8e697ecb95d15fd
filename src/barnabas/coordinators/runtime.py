"""The shards of a coordinator: one for each partition of its internal topic that this node leads.

    leader of the partition -> loading (its log is replayed) -> active
    active -> no longer leader: unloaded, its state discarded

An operation on an active shard runs at once and to its end, so operations never see each other's
intermediate state:

    decide (records, answer) -> append the records -> replay them into the state
    -> committed -> perform the effects, answer

All state is in the log, except what may be lost with the leader: sessions, waiting requests,
timers. An operation that writes nothing still waits for the commit of the records it may have seen,
so that no client learns of a state that a new leader does not have.

There is no clock and no loop here: every call brings the time, and
:attr:`CoordinatorRuntime.next_deadline_ms` says when to call :meth:`CoordinatorRuntime.tick`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar, cast

from barnabas.coordinators.outcome import Outcome, ProducerIdentity
from barnabas.coordinators.record import CoordinatorRecord, RecordTypes, decode_record
from barnabas.coordinators.timers import Timers
from barnabas.model.buffers import Buffer
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.records.batch_builder import build_batch, join_records
from barnabas.records.batch_header import NO_SEQUENCE, read_header
from barnabas.records.compression import Codec
from barnabas.records.control_batch import ControlType, read_end_transaction
from barnabas.records.record import Record, open_batch

# The most timers of a shard that run in one tick; if there are more, the next tick is due at once.
# Thousands of sessions may end together, and a timer that sets itself again for now would otherwise
# block the loop for ever.
TIMERS_PER_TICK_MAX = 500
NO_LIMIT_MS = 2**62

R = TypeVar("R")


class Machine(Protocol):
    """The state of one shard. It is deterministic: its decisions follow from the replayed records,
    the requests and the given time.
    """

    timers: Timers

    def replay(self, record: CoordinatorRecord, transaction: ProducerIdentity | None, offset: int) -> None:
        """Apply the record at ``offset`` of the log. Records of a ``transaction`` count only once
        its end is replayed.
        """

    def replay_end(self, transaction: ProducerIdentity, *, committed: bool) -> None: ...

    def loaded(self, now_ms: int) -> None:
        """Called when the log is replayed: set the timers that follow from it."""

    def unloaded(self) -> None:
        """Called when this node no longer leads: answer all waiting requests."""


M = TypeVar("M", bound=Machine)


ContraM = TypeVar("ContraM", bound=Machine, contravariant=True)


class Prepared(Protocol[ContraM]):
    """An operation that always writes one record, which is encoded except for a few numbers."""

    @property
    def record(self) -> CoordinatorRecord:
        """The record of the last decision."""

    def decide(self, machine: ContraM, now_ms: int) -> bool:
        """Whether to write the record; False if the operation must run the normal way."""

    def encode_at(self, offset_delta: int) -> bytearray:
        """The record, as it stands at this place in an uncompressed batch of one time."""


class CoordinatorLog(Protocol):
    """The partitions of the internal topic that this node leads."""

    def append(self, partition: int, batch: bytearray) -> int | ErrorCode:
        """Append to the leader's log; the offset after the batch."""

    def replicated(self, partition: int, end_offset: int) -> Promise[ErrorCode]:
        """NONE once everything below ``end_offset`` is committed; another code if this node stops
        leading before that.
        """


class _Shard(Generic[M]):
    __slots__ = ("active", "epoch", "machine", "waiting_end", "waiting_promise", "written_end")

    def __init__(self, machine: M, epoch: int) -> None:
        self.machine = machine
        self.epoch = epoch
        self.active = False
        self.written_end = 0
        # All requests that wait for the same commit share one promise.
        self.waiting_end = -1
        self.waiting_promise: Promise[ErrorCode] | None = None


class _WaitingRequest:
    """A request that waits for a commit."""

    __slots__ = ("answer", "deadline_ms", "waits")

    def __init__(self, answer: Promise[Any], deadline_ms: int) -> None:
        self.answer = answer
        self.deadline_ms = deadline_ms
        self.waits = True


class CoordinatorRuntime(Generic[M]):
    def __init__(
        self,
        make: Callable[[int], M],
        types: RecordTypes,
        log: CoordinatorLog,
        *,
        on_effect: Callable[[int, Any], None],
        on_deadline: Callable[[int], None],
        codec: Codec = Codec.NONE,
        base_sequence: int = NO_SEQUENCE,
        commit_ms_max: int = NO_LIMIT_MS,
    ) -> None:
        """``make`` creates an empty machine for a partition. ``on_effect(partition, effect)``
        performs an effect of a machine. ``on_deadline`` receives the latest time for the next
        :meth:`tick`. No reader checks the sequence of a coordinator's batches, but Kafka sets
        ``base_sequence`` in those of groups. A request that waits for a commit longer than
        ``commit_ms_max`` gets REQUEST_TIMED_OUT, although the commit may still happen.
        """
        self._make = make
        self._types = types
        self._log = log
        self._on_effect = on_effect
        self._on_deadline = on_deadline
        self._codec = codec
        self._base_sequence = base_sequence
        self._shards: dict[int, _Shard[M]] = {}
        self._commit_ms_max = commit_ms_max
        self._unanswered: deque[_WaitingRequest] = deque()

    # -- leadership --------------------------------------------------------------------------------

    def begin_loading(self, partition: int, epoch: int) -> bool:
        """Whether the epoch is new. If so, the caller must pass the log to :meth:`replay_batch`
        from its start, and then call :meth:`finish_loading`.
        """
        known = self._shards.get(partition)
        if known is not None:
            if known.epoch >= epoch:
                return False
            self.unload(partition)
        self._shards[partition] = _Shard(self._make(partition), epoch)
        return True

    def replay_batch(self, partition: int, epoch: int, batch: Buffer) -> bool:
        """Replay one batch of the log. False if the shard is no longer being loaded in this epoch,
        so that the caller can stop reading.
        """
        shard = self._shards.get(partition)
        if shard is None or shard.epoch != epoch or shard.active:
            return False
        header = read_header(batch)
        transaction = ProducerIdentity(header.producer_id, header.producer_epoch) if header.transactional else None
        if header.control:
            ended = read_end_transaction(batch)
            if ended is not None and transaction is not None:
                shard.machine.replay_end(transaction, committed=ended[0] is ControlType.COMMIT)
            return True
        for record in open_batch(batch):
            if record.key is None:
                continue
            decoded = decode_record(self._types, record.key, record.value)
            if decoded is not None:
                shard.machine.replay(decoded, transaction, record.offset)
        return True

    def finish_loading(self, partition: int, epoch: int, end_offset: int, now_ms: int) -> None:
        shard = self._shards.get(partition)
        if shard is not None and shard.epoch == epoch and not shard.active:
            shard.written_end = end_offset
            shard.machine.loaded(now_ms)
            shard.active = True
            self._announce_deadline(shard)

    def unload(self, partition: int) -> None:
        shard = self._shards.pop(partition, None)
        if shard is not None:
            shard.active = False
            shard.machine.timers.clear()
            shard.machine.unloaded()

    def why_not(self, partition: int) -> ErrorCode:
        """NONE for a shard that is active here."""
        shard = self._shards.get(partition)
        if shard is None:
            return ErrorCode.NOT_COORDINATOR
        return ErrorCode.NONE if shard.active else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    @property
    def loading(self) -> bool:
        return any(not shard.active for shard in self._shards.values())

    def count_shards(self) -> tuple[int, int]:
        """The number of active shards, and of shards that are being loaded."""
        shards = list(self._shards.values())
        active = sum(shard.active for shard in shards)
        return active, len(shards) - active

    @property
    def active_partitions(self) -> list[int]:
        return [partition for partition, shard in self._shards.items() if shard.active]

    def machines(self) -> Iterator[M]:
        for shard in list(self._shards.values()):
            if shard.active:
                yield shard.machine

    def epoch_of(self, partition: int) -> int:
        """The leader epoch of a shard on this node; -1 for any other shard."""
        shard = self._shards.get(partition)
        return shard.epoch if shard is not None else -1

    # -- operations --------------------------------------------------------------------------------

    def run(self, partition: int, now_ms: int, operation: Callable[[M], Outcome[R]]) -> Promise[R | ErrorCode]:
        """Run an operation. The result is its answer, or an error code: NOT_COORDINATOR,
        COORDINATOR_LOAD_IN_PROGRESS, or the code of the log.
        """
        unavailable = self.why_not(partition)
        if unavailable:
            return Promise.kept(unavailable)
        shard = self._shards[partition]
        outcome = operation(shard.machine)
        answer: Promise[R | ErrorCode] = Promise()
        refused = self._write(partition, shard, outcome.records, outcome.transaction, now_ms) if outcome.records else ErrorCode.NONE
        self._announce_deadline(shard)
        if refused:
            self._settle(partition, shard, outcome, refused, answer)
            return answer
        if isinstance(outcome.answer, Promise):
            answer.if_abandoned(outcome.answer.abandon)
        committed = self._committed(partition, shard)
        if committed.done:
            self._settle(partition, shard, outcome, committed.value, answer)
            return answer
        waiting = self._wait(answer, now_ms)

        def settle(code: ErrorCode) -> None:
            waiting.waits = False
            self._settle(partition, shard, outcome, code, answer)

        committed.then(settle)
        return answer

    def _wait(self, answer: Promise[Any], now_ms: int) -> _WaitingRequest:
        unanswered = self._unanswered
        while unanswered and not unanswered[0].waits:
            unanswered.popleft()
        waiting = _WaitingRequest(answer, now_ms + self._commit_ms_max)
        unanswered.append(waiting)
        if len(unanswered) == 1 and waiting.deadline_ms < NO_LIMIT_MS:
            self._on_deadline(waiting.deadline_ms)
        return waiting

    def _time_out_requests(self, now_ms: int) -> None:
        """Only the requests are answered. The operations continue: a transaction whose end was
        decided ends when the decision is committed.
        """
        unanswered = self._unanswered
        while unanswered and (not unanswered[0].waits or unanswered[0].deadline_ms <= now_ms):
            waiting = unanswered.popleft()
            if waiting.waits and not waiting.answer.done:
                waiting.answer.resolve(ErrorCode.REQUEST_TIMED_OUT)

    def _settle(self, partition: int, shard: _Shard[M], outcome: Outcome[R], code: ErrorCode, answer: Promise[R | ErrorCode]) -> None:
        """The records are committed (``code`` is NONE), or never will be."""
        if code:
            if outcome.if_refused is not None:
                outcome.if_refused(code)
                self._announce_deadline(shard)
            _resolve(answer, code)
            return
        if outcome.if_committed is not None:
            outcome.if_committed()
            self._announce_deadline(shard)
        for effect in outcome.effects:
            self._on_effect(partition, effect)
        given = outcome.answer
        if isinstance(given, Promise):
            given.then(lambda value: _resolve(answer, value))
        else:
            _resolve(answer, given)

    def run_prepared(self, partition: int, now_ms: int, operations: Sequence[Prepared[M]]) -> Sequence[Promise[ErrorCode] | None]:
        """Run operations that are already encoded, and write their records as one batch.

        The result of each is NONE once it is committed. It is None if the operation must run the
        normal way, which finds out why; then nothing of it has been written. No operation may
        depend on another one of the same call.
        """
        shard = self._shards.get(partition)
        if shard is None or not shard.active:
            return [None] * len(operations)
        encoded: list[bytearray] = []
        written: list[Prepared[M] | None] = []
        for each in operations:
            if each.decide(shard.machine, now_ms):
                encoded.append(each.encode_at(len(encoded)))
                written.append(each)
            else:
                written.append(None)
        if not encoded:
            return [None] * len(operations)
        end_offset = self._log.append(partition, join_records(encoded, timestamp=now_ms, base_sequence=self._base_sequence))
        if isinstance(end_offset, ErrorCode):
            return [None] * len(operations)
        shard.written_end = end_offset
        offset = end_offset - len(encoded)
        for operation in written:
            if operation is not None:
                shard.machine.replay(operation.record, None, offset)
                offset += 1
        self._announce_deadline(shard)
        committed = self._committed(partition, shard)
        return [self._when_committed(committed, now_ms) if operation is not None else None for operation in written]

    def _when_committed(self, committed: Promise[ErrorCode], now_ms: int) -> Promise[ErrorCode]:
        """The same code, or that of a request that has waited too long."""
        if committed.done:
            return committed
        answer: Promise[ErrorCode] = Promise()
        waiting = self._wait(answer, now_ms)

        def settle(code: ErrorCode) -> None:
            waiting.waits = False
            _resolve(answer, code)

        committed.then(settle)
        return answer

    @property
    def compresses(self) -> bool:
        return self._codec is not Codec.NONE

    def encode(self, records: Sequence[CoordinatorRecord], now_ms: int, transaction: ProducerIdentity | None = None) -> bytearray:
        """The batch that contains these records."""
        if transaction is None and self._codec is Codec.NONE:
            encoded = [record.encode_at(index) for index, record in enumerate(records)]
            return join_records(encoded, timestamp=now_ms, base_sequence=self._base_sequence)
        return build_batch(
            (Record(index, now_ms, *record.encode()) for index, record in enumerate(records)),
            codec=self._codec,
            producer_id=transaction.producer_id if transaction is not None else -1,
            producer_epoch=transaction.producer_epoch if transaction is not None else -1,
            base_sequence=self._base_sequence,
            transactional=transaction is not None,
        )

    def _write(
        self,
        partition: int,
        shard: _Shard[M],
        records: Sequence[CoordinatorRecord],
        transaction: ProducerIdentity | None,
        now_ms: int,
    ) -> ErrorCode:
        end_offset = self._log.append(partition, self.encode(records, now_ms, transaction))
        if isinstance(end_offset, ErrorCode):
            return end_offset
        shard.written_end = end_offset
        for offset, record in enumerate(records, end_offset - len(records)):
            shard.machine.replay(record, transaction, offset)
        return ErrorCode.NONE

    def _committed(self, partition: int, shard: _Shard[M]) -> Promise[ErrorCode]:
        if shard.waiting_promise is None or shard.waiting_end < shard.written_end:
            shard.waiting_end = shard.written_end
            shard.waiting_promise = self._log.replicated(partition, shard.written_end)
        return shard.waiting_promise

    def replay_end(self, partition: int, transaction: ProducerIdentity, end_offset: int, *, committed: bool) -> None:
        """A marker was appended to the shard's log outside of :meth:`run`, up to ``end_offset``."""
        shard = self._shards.get(partition)
        if shard is not None and shard.active:
            shard.written_end = max(shard.written_end, end_offset)
            shard.machine.replay_end(transaction, committed=committed)

    # -- time --------------------------------------------------------------------------------------

    @property
    def next_deadline_ms(self) -> int | None:
        deadlines = [shard.machine.timers.next_deadline_ms for shard in self._shards.values() if shard.active]
        if self._unanswered and self._unanswered[0].deadline_ms < NO_LIMIT_MS:
            deadlines.append(self._unanswered[0].deadline_ms)
        return min((each for each in deadlines if each is not None), default=None)

    def _announce_deadline(self, shard: _Shard[M]) -> None:
        deadline_ms = shard.machine.timers.next_deadline_ms
        if deadline_ms is not None:
            self._on_deadline(deadline_ms)

    def tick(self, now_ms: int) -> None:
        """Run the timers that are due, up to :data:`TIMERS_PER_TICK_MAX` of each shard;
        :attr:`next_deadline_ms` covers the rest.
        """
        self._time_out_requests(now_ms)
        for partition, shard in list(self._shards.items()):
            for _ in range(TIMERS_PER_TICK_MAX):
                if not shard.active or (expire := shard.machine.timers.take_due(now_ms)) is None:
                    break
                self.run(partition, now_ms, cast(Callable[[M], Outcome[Any]], lambda _, expire=expire: expire(now_ms)))


def _resolve(answer: Promise[Any], value: Any) -> None:
    """Does nothing if the request has already timed out."""
    if not answer.done:
        answer.resolve(value)
