"""The delivery state of share partitions, kept by their share coordinators on whichever broker.

    the shard is here      the operation runs at once
    on another broker      the operations of one turn of the loop go together, one request for each
                           kind and group; while a broker has not answered, later ones wait and then
                           go together again
    nowhere, or moving     the operation waits and is tried again

An operation that could not run at once goes into the *lane* of its share partition, where no later
operation overtakes it: a write that arrived late would move the start offset backwards. Writes that
wait in a lane become one write. A call resolves after :data:`CALL_MS_MAX` at the latest, or that
long after a commit on this broker timed out (``share.coordinator.write.timeout.ms``). The write of
a call that timed out may still happen, as it may in Kafka.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, cast

from barnabas.controller.internal_topics import InternalTopics
from barnabas.coordinators.coordinator import Coordinator
from barnabas.coordinators.share.operations import Delete, Initialize, Operation, Read, ReadSummary, Result, Write
from barnabas.coordinators.share.persister import SharePartitionKey, ShareState, ShareSummary, StateBatch
from barnabas.coordinators.share.refusal import Refusal
from barnabas.coordinators.share.requests import request_of, results_in
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE, TopicPartition
from barnabas.model.promise import Promise, all_of
from barnabas.network.outboxes import Outboxes
from barnabas.replication.other_brokers import OtherBrokers

if TYPE_CHECKING:
    from barnabas.coordinators.share.machine import ShareMachine

# The longest time that a call may take, with all its attempts. Kafka's persister gives up after
# five attempts with backoffs of 15 seconds together.
CALL_MS_MAX = 15_000
# A coordinator that moves is back within a second; one whose topic is being created a bit later.
RETRY_MS, RETRY_MS_MAX = 50, 1_000
# Calls that wait for one share partition; the next is refused. Its leader waits for each write of a
# member, and a group has far fewer members.
CALLS_WAITING_MAX = 10_000
# Batches in one request, of 20 bytes each: far below the size that a broker accepts.
BATCHES_PER_REQUEST_MAX = 100_000

_PURPOSE = "share states"
# The codes that are the coordinator's own; after the last attempt any other code of this set would
# puzzle a caller.
_COORDINATOR_CODES = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS})
_RETRIED = _COORDINATOR_CODES | {
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.KAFKA_STORAGE_ERROR,
}


class Loop(Protocol):
    """The part of an event loop that the persister uses."""

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any) -> asyncio.TimerHandle: ...


class CoordinatedPersister:
    """A :class:`~barnabas.coordinators.share.persister.SharePersister`."""

    def __init__(
        self, node_id: int, coordinator: Coordinator[ShareMachine], others: OtherBrokers, internal_topics: InternalTopics, loop: Loop
    ) -> None:
        self._node_id = node_id
        self._coordinator = coordinator
        self._others = others
        self._internal_topics = internal_topics
        self.loop = loop
        self._lanes: dict[SharePartitionKey, _Lane] = {}
        self._outboxes: Outboxes[_Call] = Outboxes(self._send, key=lambda call: (type(call.operation), call.operation.key))
        self._stopped = False

    # -- the port ----------------------------------------------------------------------------------

    def initialize(self, key: SharePartitionKey, *, state_epoch: int, start_offset: int) -> Promise[ErrorCode]:
        return self._call(Initialize(key, state_epoch, start_offset))

    def read(self, key: SharePartitionKey, *, leader_epoch: int) -> Promise[ShareState | ErrorCode]:
        return self._call(Read(key, leader_epoch))

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
        return self._call(Write(key, state_epoch, leader_epoch, start_offset, delivery_complete_count, batches))

    def read_summary(self, key: SharePartitionKey, *, leader_epoch: int) -> Promise[ShareSummary | ErrorCode]:
        return self._call(ReadSummary(key, leader_epoch))

    def delete(self, key: SharePartitionKey) -> Promise[ErrorCode]:
        return self._call(Delete(key))

    def stop(self) -> None:
        """All waiting calls fail: their callers stop too."""
        self._stopped = True
        for lane in list(self._lanes.values()):
            lane.close()

    # -- calls -------------------------------------------------------------------------------------

    def _call(self, operation: Operation) -> Promise[Any]:
        if self._stopped:
            return Promise.kept(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        answer: Promise[Any] = Promise()
        if operation.key not in self._lanes and self._leader_of(operation.key) == self._node_id:
            self._run_here(operation).then(lambda result: self._ran_here(operation, result, answer))
        else:
            self._queue(operation, answer)
        return answer

    def _ran_here(self, operation: Operation, result: Result, answer: Promise[Any]) -> None:
        if _may_succeed_later(result):
            self._queue(operation, answer)
        else:
            answer.resolve(result)

    def _queue(self, operation: Operation, answer: Promise[Any]) -> None:
        lane = self._lanes.get(operation.key)
        if self._stopped or (lane is not None and len(lane) >= CALLS_WAITING_MAX):
            answer.resolve(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        if lane is None:
            lane = self._lanes[operation.key] = _Lane(self, operation.key)
        lane.add(operation, answer)

    def empty(self, lane: _Lane) -> None:
        """The last call of a lane is resolved."""
        self._lanes.pop(lane.key, None)

    # -- attempts ----------------------------------------------------------------------------------

    def attempt(self, operation: Operation) -> Promise[Result]:
        """One try; the code of a try that may succeed later is one of ``_RETRIED``."""
        leader = self._leader_of(operation.key)
        if leader == self._node_id:
            return self._run_here(operation)
        if leader == NO_NODE:
            return Promise.kept(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        call = _Call(operation)
        self._outboxes.put(leader, call)
        return call.result

    def _leader_of(self, key: SharePartitionKey) -> int:
        """The broker with the shard of a share partition. Without the internal topic there is none,
        and the topic is requested.
        """
        shard = self._coordinator.partition_of(key.coordinator_key)
        if shard is None:
            self._internal_topics.create(self._coordinator.topic)
            return NO_NODE
        return self._others.leader_of(TopicPartition(self._coordinator.topic, shard))

    def _run_here(self, operation: Operation) -> Promise[Result]:
        decide = cast(Any, operation.decide)
        ran: Promise[Any] = self._coordinator.run(operation.key.coordinator_key, decide)
        return ran.map(lambda result: result.code if isinstance(result, Refusal) else result)

    def _send(self, broker_id: int, calls: list[_Call]) -> Promise[Any]:
        """A call that timed out while it waited here is not sent: by now it would undo later ones,
        which may have gone to another broker.
        """
        awaited = [call for call in calls if not call.abandoned]
        return all_of([self._send_together(broker_id, together) for together in _requests(awaited)])

    def _send_together(self, broker_id: int, calls: list[_Call]) -> Promise[None]:
        sent = self._others.send(broker_id, request_of([call.operation for call in calls]), purpose=_PURPOSE)
        if sent is None:
            sent = Promise.kept(ErrorCode.BROKER_NOT_AVAILABLE)
        return sent.map(lambda response: _received(calls, response))


class _Call:
    """An operation on its way to another broker."""

    __slots__ = ("abandoned", "operation", "result")

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.result: Promise[Result] = Promise()
        self.abandoned = False
        self.result.if_abandoned(self._abandon)

    def _abandon(self) -> None:
        self.abandoned = True

    @property
    def weight(self) -> int:
        return 1 + len(self.operation.batches) if isinstance(self.operation, Write) else 1


def _requests(calls: list[_Call]) -> list[list[_Call]]:
    """The calls of each request: one kind, one group, and not too many batches."""
    requests: list[list[_Call]] = []
    open_requests: dict[tuple[type[Operation], str], tuple[list[_Call], int]] = {}
    for call in calls:
        kind = type(call.operation), call.operation.key.group_id
        together, weight = open_requests.get(kind, ([], BATCHES_PER_REQUEST_MAX))
        if weight + call.weight > BATCHES_PER_REQUEST_MAX:
            together, weight = [], 0
            requests.append(together)
        together.append(call)
        open_requests[kind] = together, weight + call.weight
    return requests


def _received(calls: list[_Call], response: Any) -> None:
    failed = response if isinstance(response, ErrorCode) else ErrorCode.UNKNOWN_SERVER_ERROR
    results = {} if isinstance(response, ErrorCode) else results_in(response)
    for call in calls:
        call.result.resolve(results.get((call.operation.key.topic_id, call.operation.key.partition), failed))


class _Waiting:
    """A call in a lane."""

    __slots__ = ("answer", "deadline", "operation")

    def __init__(self, operation: Operation, answer: Promise[Any], deadline: asyncio.TimerHandle) -> None:
        self.operation = operation
        self.answer = answer
        self.deadline = deadline


class _Lane:
    """The waiting calls of one share partition, in order. The first, and the writes that join it,
    are being tried.
    """

    def __init__(self, persister: CoordinatedPersister, key: SharePartitionKey) -> None:
        self.key = key
        self._persister = persister
        self._waiting: deque[_Waiting] = deque()
        self._tried: list[_Waiting] = []
        self._operation: Operation | None = None
        self._attempt = 0
        self._result: Promise[Result] | None = None
        self._backoff_ms = RETRY_MS
        self._last_code = ErrorCode.COORDINATOR_NOT_AVAILABLE

    def __len__(self) -> int:
        return len(self._waiting) + len(self._tried)

    def add(self, operation: Operation, answer: Promise[Any]) -> None:
        deadline = self._persister.loop.call_later(CALL_MS_MAX / 1000, self._timed_out, answer)
        self._waiting.append(_Waiting(operation, answer, deadline))
        if not self._tried:
            self._next()

    def close(self) -> None:
        self._give_up_attempt()
        for each in (*self._tried, *self._waiting):
            _resolve(each, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self._tried, self._waiting = [], deque()
        self._persister.empty(self)

    def _next(self) -> None:
        self._backoff_ms = RETRY_MS
        self._tried = []
        self._operation = self._take()
        if self._operation is None:
            self._persister.empty(self)
        else:
            self._try()

    def _take(self) -> Operation | None:
        """The next operation: of the first call, together with those behind it that can join it."""
        operation: Operation | None = None
        while self._waiting:
            first = self._waiting[0]
            if not first.answer.done:
                joined = first.operation if operation is None else _joined(operation, first.operation)
                if joined is None:
                    break
                operation = joined
                self._tried.append(first)
            self._waiting.popleft()
        return operation

    def _try(self) -> None:
        assert self._operation is not None
        self._attempt += 1
        attempt = self._attempt
        self._result = self._persister.attempt(self._operation)
        self._result.then(lambda result: self._came(attempt, result))

    def _came(self, attempt: int, result: Result) -> None:
        if attempt != self._attempt:
            return
        call_later = self._persister.loop.call_later
        if _may_succeed_later(result):
            self._last_code = result if result in _COORDINATOR_CODES else ErrorCode.COORDINATOR_NOT_AVAILABLE
            call_later(self._backoff_ms / 1000, self._continue, attempt, self._try)
            self._backoff_ms = min(2 * self._backoff_ms, RETRY_MS_MAX)
            return
        for each in self._tried:
            _resolve(each, result)
        # Not at once: a long lane whose operations all run here would recurse deeper and deeper.
        call_later(0, self._continue, attempt, self._next)

    def _continue(self, attempt: int, step: Callable[[], None]) -> None:
        if attempt == self._attempt:
            step()

    def _timed_out(self, answer: Promise[Any]) -> None:
        if not answer.done:
            answer.resolve(self._last_code)
        if self._tried and all(each.answer.done for each in self._tried):
            # A later call need not wait for a request that is on its way.
            self._give_up_attempt()
            self._next()

    def _give_up_attempt(self) -> None:
        self._attempt += 1
        if self._result is not None:
            self._result.abandon()


def _joined(first: Operation, later: Operation) -> Operation | None:
    return first.followed_by(later) if isinstance(first, Write) and isinstance(later, Write) else None


def _may_succeed_later(result: Result) -> TypeGuard[ErrorCode]:
    return isinstance(result, ErrorCode) and result in _RETRIED


def _resolve(waiting: _Waiting, result: Result) -> None:
    waiting.deadline.cancel()
    if not waiting.answer.done:
        waiting.answer.resolve(result)
