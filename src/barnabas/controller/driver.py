"""The controller inside this node: it takes requests, appends records to the quorum, and sends
responses when the records are committed.

A node that leads the quorum is the active controller once it has applied everything that was
written before its own epoch. When it loses the quorum it is inactive at once: requests whose
records are not committed get NOT_CONTROLLER, because those records may never be committed.

Heartbeats keep brokers alive, so no slow work may delay them. A response to any other request waits
until this node has published the decision, because the client is likely to ask this node next;
publishing creates files, and takes as long as the disk takes. A response to a heartbeat waits for
the commit only. After a decision about many partitions the event loop turns before the next one is
made, and heartbeats overtake the requests that wait for that turn. Sessions of brokers are measured
in the time that this node spends listening (:mod:`barnabas.controller.listening_clock`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from barnabas.controller.core.controller import Controller
from barnabas.controller.error_responses import error_response
from barnabas.controller.listening_clock import GAP_MS_MAX, ListeningClock
from barnabas.env.clock import Clock
from barnabas.env.slices import ITEMS_PER_SLICE
from barnabas.metadata.applier import MetadataApplier
from barnabas.metadata.cluster import BrokerImage
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.network.connection import Connection
from barnabas.quorum.driver import NEWEST_VERSION, QuorumDriver
from barnabas.security.principal import ANONYMOUS, Principal
from barnabas.security.quotas.client_quotas import ClientQuotas
from barnabas.security.quotas.mutation_quota import MutationQuota
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest
from barnabas.wire.messages.create_topics import CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest
from barnabas.wire.metadata_records import AbortTransactionRecord, MetadataRecord, NoOpRecord

# Requests that wait while an elected controller still reads the log; further ones get
# NOT_CONTROLLER and are sent again.
WAITING_UNTIL_ACTIVE_MAX = 1000
# Requests that wait for the loop to turn. A connection has a handful in flight; beyond this limit,
# NOT_CONTROLLER makes clients ask again.
POSTPONED_MAX = 10_000
NOT_ELECTED = -1
# A gap in listening counts for at most this fraction of a session, however short the session is.
GAPS_PER_SESSION = 4
# A decision with more records than this took the loop a few milliseconds, so the next decision is
# made in another turn.
RECORDS_PER_TURN = ITEMS_PER_SLICE
# Requests about the quorum itself, which the quorum answers rather than the controller.
_QUORUM_REQUESTS = (DescribeQuorumRequest, AddRaftVoterRequest, RemoveRaftVoterRequest)


# From these versions on clients know the error for a topic that is over the quota (KIP-599). Older
# ones get what they ask for, and wait afterwards.
_STRICT_FROM = {CreateTopicsRequest: 6, DeleteTopicsRequest: 5, CreatePartitionsRequest: 3}


class _Asked(NamedTuple):
    """A request that waits for its decision."""

    request: Any
    principal: Principal
    answer: Promise[Any]
    mutations: MutationQuota | None


class _Parked(NamedTuple):
    end_offset: int
    request: Any
    response: Any
    answer: Promise[Any]


class ControllerDriver:
    def __init__(
        self,
        controller: Controller,
        quorum: QuorumDriver,
        applier: MetadataApplier,
        clock: Clock,
        bootstrap: Sequence[MetadataRecord],
        quotas: ClientQuotas | None = None,
    ) -> None:
        """``quotas`` limit how fast clients create and delete partitions."""
        self._quotas = quotas or ClientQuotas()
        self._controller = controller
        self._quorum = quorum
        self._applier = applier
        self._clock = clock
        self._listening = ListeningClock(clock, gap_ms_max=max(1, min(GAP_MS_MAX, controller.session_timeout_ms // GAPS_PER_SESSION)))
        self._bootstrap = bootstrap
        self._parked: deque[_Parked] = deque()
        self._alarm: asyncio.TimerHandle | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._last_append_ms = 0
        self._elected_epoch = NOT_ELECTED
        self._waiting: list[_Asked] = []  # until this controller is active
        self._postponed: deque[_Asked] = deque()  # until the loop has turned
        self._next_turn: asyncio.Handle | None = None
        self.active = False
        self.on_active: Callable[[int], None] = lambda _: None
        self.on_heartbeat: Callable[[BrokerHeartbeatRequest, Connection], None] = lambda *_: None

    # -- becoming active and resigning ------------------------------------------------------------

    def elected(self, epoch: int, epoch_start_offset: int) -> None:
        self._elected_epoch = epoch
        self._applier.read(epoch_start_offset).then(lambda _: self._activate(epoch))

    def _activate(self, epoch: int) -> None:
        if epoch != self._elected_epoch or not self._quorum.leading:
            return  # lost the quorum while it read the log
        self.active = True
        self._listening.start()
        if self._applier.in_transaction:
            # An earlier controller began this transaction and is gone, so no controller would ever
            # end it.
            self._append([AbortTransactionRecord(reason="The controller that began it is gone.")])
        records = self._controller.activate(
            self._applier.loaded, self._bootstrap, next_offset=self._quorum.end_offset, now_ms=self._listening.now_ms()
        )
        if records and self._leads():
            self._append(records)
        if not self._leads():
            return  # lost the quorum with the first records
        self._set_alarm()
        self.on_active(epoch)
        waiting, self._waiting = self._waiting, []
        for asked in waiting:
            self._decide_in_turn(asked)

    def _leads(self) -> bool:
        """False also between the loss of the quorum and :meth:`resigned`.

        Every append is a step of the quorum, and a leader that finds in it that its followers have
        been silent for too long resigns. The effects of that step may be performed later.
        """
        return self.active and self._quorum.leading

    def resigned(self) -> None:
        self.active = False
        self._elected_epoch = NOT_ELECTED
        waiting, self._waiting = [*self._waiting, *self._postponed], []
        self._forget_postponed()
        for asked in waiting:
            _refuse(asked)
        self._cancel_alarm()
        self._listening.stop()
        parked, self._parked = self._parked, deque()
        for each in parked:
            each.answer.resolve(error_response(each.request, ErrorCode.NOT_CONTROLLER))

    # -- requests ----------------------------------------------------------------------------------

    def submit(self, request: Any, caller: Caller | None = None) -> Promise[Any]:
        if isinstance(request, _QUORUM_REQUESTS):
            return self._quorum.serve(request, caller.version if caller is not None else NEWEST_VERSION)
        principal = ANONYMOUS if caller is None else caller.principal
        asked = _Asked(request, principal, Promise(), self._mutation_quota(request, caller))
        if caller is not None and isinstance(request, BrokerHeartbeatRequest):
            self.on_heartbeat(request, caller.connection)
        if self.active:
            self._decide_in_turn(asked)
        elif self._elected_epoch != NOT_ELECTED and len(self._waiting) < WAITING_UNTIL_ACTIVE_MAX:
            self._waiting.append(asked)
        else:
            _refuse(asked)
        return asked.answer

    def _mutation_quota(self, request: Any, caller: Caller | None) -> MutationQuota | None:
        strict_from = _STRICT_FROM.get(type(request))
        if strict_from is None or caller is None or not self._quotas.in_force:
            return None
        now_ms = self._clock.monotonic_ms()
        return self._quotas.mutation_quota(
            caller.principal.name, caller.client_id or "", strict=caller.version >= strict_from, now_ms=now_ms
        )

    @property
    def brokers(self) -> Mapping[int, BrokerImage]:
        """All registered brokers, with the decisions that are not committed yet."""
        return self._controller.image.cluster.brokers

    def broker_gone(self, broker_id: int, epoch: int) -> bool:
        """Fences a broker whose process has ended; returns whether it was to be fenced."""
        if not self._leads():
            return False
        records = self._controller.broker_gone(broker_id, epoch, next_offset=self._quorum.end_offset)
        if records:
            self._append(records)
            self._set_alarm()
        return bool(records)

    def _decide_in_turn(self, asked: _Asked) -> None:
        if self._next_turn is None or isinstance(asked.request, BrokerHeartbeatRequest):
            self._decide(asked)
        elif len(self._postponed) < POSTPONED_MAX:
            self._postponed.append(asked)
        else:
            _refuse(asked)

    def _decide_postponed(self) -> None:
        self._next_turn = None
        while self._postponed and self._next_turn is None:
            self._decide(self._postponed.popleft())

    def _forget_postponed(self) -> None:
        self._postponed.clear()
        if self._next_turn is not None:
            self._next_turn.cancel()
            self._next_turn = None

    def _decide(self, asked: _Asked) -> None:
        if not self._leads():
            _refuse(asked)
            return
        mutations = asked.mutations
        outcome = self._controller.step(
            asked.request,
            next_offset=self._quorum.end_offset,
            now_ms=self._listening.now_ms(),
            wall_ms=self._clock.wall_ms(),
            principal=asked.principal,
            mutations=mutations,
        )
        if mutations is not None:
            # The broker that forwarded the request makes its client wait.
            outcome.response.throttle_time_ms = mutations.throttle_ms
        if outcome.kraft_version is not None:
            self._quorum.upgrade_kraft_version(outcome.kraft_version)
        if outcome.records and self._leads():
            self._append(outcome.records)
            if len(outcome.records) > RECORDS_PER_TURN and self._next_turn is None:
                self._next_turn = asyncio.get_running_loop().call_soon(self._decide_postponed)
        if not self._leads():
            # The next leader decides whether the records count. Parked now, the response would be
            # sent when the log of that leader has reached the same offset.
            _refuse(asked)
            return
        # A response without records also waits, because the decision may rest on records of earlier
        # requests that are not committed yet.
        self._parked.append(_Parked(self._quorum.end_offset, asked.request, outcome.response, asked.answer))
        self._set_alarm()
        self.committed(self._quorum.high_watermark)

    def committed(self, high_watermark: int) -> None:
        while self._parked and self._parked[0].end_offset <= high_watermark:
            self._answer(self._parked.popleft())

    def _answer(self, parked: _Parked) -> None:
        """A client that asks this node is likely to look here next, and should see the decision, so
        its response waits for the image. Before its first image this node serves no client. A
        broker sends no second heartbeat while one is unanswered, so that response must not wait for
        files to be created."""
        if not self._applier.began or isinstance(parked.request, BrokerHeartbeatRequest):
            parked.answer.resolve(parked.response)
            return
        self._applier.applied(parked.end_offset - 1).then(lambda _: parked.answer.resolve(parked.response))

    # -- time --------------------------------------------------------------------------------------

    def keep_log_moving(self, idle_ms: int) -> None:
        """Append a no-op record after ``idle_ms`` without a write, so that followers and operators
        see the log move."""
        if idle_ms > 0:
            self._idle = asyncio.get_running_loop().call_later(idle_ms / 1000, self._write_no_op, idle_ms)

    def _write_no_op(self, idle_ms: int) -> None:
        self.keep_log_moving(idle_ms)
        if self._leads() and self._clock.monotonic_ms() - self._last_append_ms >= idle_ms:
            self._controller.note(self._quorum.end_offset)
            self._append([NoOpRecord()])

    def _set_alarm(self) -> None:
        deadline_ms = self._controller.next_deadline_ms
        self._cancel_alarm()
        delay_ms = max(0, deadline_ms - self._listening.now_ms())
        self._alarm = asyncio.get_running_loop().call_later(delay_ms / 1000, self._ring)

    def _cancel_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _ring(self) -> None:
        self._alarm = None
        if not self._leads():
            return
        records = self._controller.tick(next_offset=self._quorum.end_offset, now_ms=self._listening.now_ms(), wall_ms=self._clock.wall_ms())
        if records:
            self._append(records)
        self._set_alarm()

    def _append(self, records: Sequence[MetadataRecord]) -> None:
        self._last_append_ms = self._clock.monotonic_ms()
        self._quorum.append(records)

    def stop(self) -> None:
        self._cancel_alarm()
        self._listening.stop()
        self._forget_postponed()
        if self._idle is not None:
            self._idle.cancel()


def _refuse(asked: _Asked) -> None:
    asked.answer.resolve(error_response(asked.request, ErrorCode.NOT_CONTROLLER))
