"""The way to the active controller: in this node, or over the wire to the leader of the quorum.

A request is sent again after a pause while no leader is known, while the leader is unreachable, or
after a node answers that it is not the leader. It is sent again at once when another node becomes
the leader, because the node that has the request may be dead or paused. It always ends in a
response of its own API: REQUEST_TIMED_OUT when the time is over.

A request may therefore be carried out twice, as with Kafka: when the response to a CreateTopics was
lost, the second attempt answers that the topic exists.

Requests of clients travel in an Envelope, with the client's principal and address; the broker's own
requests travel without one. The two kinds use different connections and do not delay each other,
and neither delays heartbeats.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from barnabas.controller.envelopes import FORWARDABLE, envelope_of, read_response
from barnabas.controller.error_responses import carries, error_response
from barnabas.controller.port import ControllerPort
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NodeId
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.network.peers import Peers
from barnabas.telemetry.logs import EventLog
from barnabas.wire.apis import ApiKey
from barnabas.wire.compiler import DECODE_ERRORS, FieldNotInVersion
from barnabas.wire.declare import declaration_of
from barnabas.wire.messages.envelope import EnvelopeResponse

# Kafka looks for a controller every 100 ms; an election takes about two of these pauses.
RETRY_BACKOFF_MS = 50
# Requests of clients that wait for a controller. Further ones get REQUEST_TIMED_OUT at once: a
# broker that has lost the quorum must not collect everything that its clients try, and each waiting
# request is tried again after every pause.
REQUESTS_WAITING_MAX = 1000
_HEARTBEATS, _OWN, _CLIENTS = "heartbeats", "to the controller", "forwarding"
_ALIVE = frozenset({ApiKey.BROKER_REGISTRATION, ApiKey.BROKER_HEARTBEAT, ApiKey.CONTROLLER_REGISTRATION})
# Requests that the quorum itself answers. It refuses them with NOT_LEADER_OR_FOLLOWER rather than
# with NOT_CONTROLLER.
_QUORUM_APIS = frozenset({ApiKey.DESCRIBE_QUORUM, ApiKey.ADD_RAFT_VOTER, ApiKey.REMOVE_RAFT_VOTER, ApiKey.UPDATE_RAFT_VOTER})
_NO_RESPONSE = frozenset({ErrorCode.NETWORK_EXCEPTION, ErrorCode.REQUEST_TIMED_OUT})


class Leader(Protocol):
    @property
    def node_id(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def endpoint(self) -> tuple[str, int] | None: ...


class LeaderView(Protocol):
    @property
    def leader(self) -> Leader | None: ...


class ControllerChannel:
    def __init__(
        self,
        node_id: NodeId,
        quorum: LeaderView,
        peers: Peers,
        log: EventLog,
        *,
        local: ControllerPort | None,
        timeout_ms: int,
        session_timeout_ms: int,
    ) -> None:
        """``local`` is None in a node without the controller role. ``timeout_ms`` applies to
        requests that name no time of their own.

        A heartbeat, or a registration, gets half of a broker's session for its response. Then it is
        sent again on a new connection: a firewall may have silenced the old one without closing it,
        and the session of a healthy broker would end.
        """
        self.node_id = node_id
        self.quorum = quorum
        self.peers = peers
        self.local = local
        self._log = log
        self._timeout_ms = timeout_ms
        self.alive_timeout_ms = max(1, session_timeout_ms // 2)
        # In the order of arrival, which is also the order in which they are sent again.
        self._under_way: dict[_Submission, None] = {}
        self._closed = False

    def submit(self, request: Any, caller: Caller | None = None, timeout_ms: int | None = None) -> Promise[Any]:
        """``caller`` is the client that made the request; None when this node asks for itself.

        A request with a timeout of its own gets a response within that time. The controller's
        decision takes effect even if the response comes too late.
        """
        if timeout_ms is None:
            named_ms = getattr(request, "timeout_ms", 0)
            timeout_ms = named_ms if named_ms > 0 else self._timeout_ms
        submission = _Submission(self, request, caller, timeout_ms)
        if self._closed or (caller is not None and len(self._under_way) >= REQUESTS_WAITING_MAX):
            submission.give_up()
        else:
            self._under_way[submission] = None
            submission.attempt()
        return submission.answer

    def leader_changed(self) -> None:
        """Another node leads the quorum, or no leader is known."""
        for submission in list(self._under_way):
            submission.leader_changed()

    def ended(self, submission: _Submission) -> None:
        self._under_way.pop(submission, None)

    def refused(self, submission: _Submission, reason: ErrorCode) -> None:
        self._log.warning("controller does not take a request", api=submission.key.api_name, error=reason.name)

    def close(self) -> None:
        """Every waiting request gets REQUEST_TIMED_OUT."""
        self._closed = True
        for submission in list(self._under_way):
            submission.give_up()


class _Submission:
    """One request in flight."""

    def __init__(self, channel: ControllerChannel, request: Any, caller: Caller | None, timeout_ms: int) -> None:
        key = declaration_of(type(request)).key
        assert key is not None
        self.key = ApiKey(key)
        self.answer: Promise[Any] = Promise()
        self._channel = channel
        self._request = request
        self._client = caller
        # Requests of APIs that cannot be forwarded are sent in the broker's own name.
        self._caller = caller if self.key in FORWARDABLE else None
        self._deadline = asyncio.get_running_loop().time() + timeout_ms / 1000
        self._attempted = False
        self._asked: Leader | None = None
        self._pending: Promise[Any] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self.answer.if_abandoned(self._abandon)

    # -- sending ----------------------------------------------------------------------------------

    def attempt(self) -> None:
        self._alarm = None
        left_ms = int((self._deadline - asyncio.get_running_loop().time()) * 1000)
        if left_ms <= 0 and self._attempted:
            self.give_up()
            return
        # However short its time is, a request reaches the controller once if there is one: a client
        # with a timeout of a millisecond gets its answer in time and its topic later, as with
        # Kafka.
        self._attempted = True
        left_ms = max(1, left_ms)
        leader = self._asked = self._channel.quorum.leader
        pending = self._ask(leader, left_ms) if leader is not None else None
        if pending is None:
            self._pause()
            return
        self._pending = pending
        pending.then(lambda outcome: self._received(pending, outcome))
        if self._pending is pending:
            self._set_alarm(left_ms / 1000, self._out_of_time)

    def _ask(self, leader: Leader, left_ms: int) -> Promise[Any] | None:
        if leader.node_id == self._channel.node_id:
            return self._channel.local.submit(self._request, self._client) if self._channel.local is not None else None
        if leader.endpoint is None:
            return None
        request = self._wrapped()
        if isinstance(request, ErrorCode):
            return Promise.kept(request)
        purpose = _OWN if self._caller is None else _CLIENTS
        if self.key in _ALIVE:
            purpose, left_ms = _HEARTBEATS, min(left_ms, self._channel.alive_timeout_ms)
        return self._channel.peers.at(*leader.endpoint, purpose).send(request, timeout_ms=left_ms)

    def _wrapped(self) -> Any:
        caller = self._caller
        if caller is None:
            return self._request
        try:
            return envelope_of(
                self._request,
                caller.version,
                correlation_id=caller.correlation_id,
                client_id=caller.client_id,
                principal=caller.principal,
                client_host=caller.address,
            )
        except FieldNotInVersion:
            return ErrorCode.UNSUPPORTED_VERSION

    # -- receiving --------------------------------------------------------------------------------

    def _received(self, pending: Promise[Any], outcome: Any) -> None:
        if self._pending is not pending:
            return  # the request has gone to another leader, or no caller waits any more
        self._pending = None
        if isinstance(outcome, EnvelopeResponse):
            outcome = self._unwrapped(outcome)
        if isinstance(outcome, ErrorCode):
            if outcome in _NO_RESPONSE or outcome is ErrorCode.NOT_CONTROLLER:
                self._pause()
            else:
                self._channel.refused(self, outcome)
                self._finish(self._error(outcome))
        elif carries(outcome, ErrorCode.NOT_CONTROLLER) or (
            self.key in _QUORUM_APIS and carries(outcome, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        ):
            self._pause()
        else:
            self._finish(outcome)

    def _unwrapped(self, envelope: EnvelopeResponse) -> Any:
        """The client gets UNKNOWN_SERVER_ERROR for a fault between nodes, since it can do nothing
        about it."""
        if envelope.error_code in (ErrorCode.NOT_CONTROLLER, ErrorCode.UNSUPPORTED_VERSION):
            return ErrorCode(envelope.error_code)
        caller = self._caller
        if envelope.error_code != ErrorCode.NONE or envelope.response_data is None or caller is None:
            return ErrorCode.UNKNOWN_SERVER_ERROR
        try:
            return read_response(envelope.response_data, self._request, caller.version, caller.correlation_id)
        except DECODE_ERRORS:
            return ErrorCode.UNKNOWN_SERVER_ERROR

    # -- waiting -----------------------------------------------------------------------------------

    def _pause(self) -> None:
        self._set_alarm(RETRY_BACKOFF_MS / 1000, self.attempt)

    def _out_of_time(self) -> None:
        self._alarm = None
        self.give_up()

    def leader_changed(self) -> None:
        """Ask the new leader at once: the node that has the request may be dead or paused."""
        leader, asked = self._channel.quorum.leader, self._asked
        if leader is None or (asked is not None and (leader.node_id, leader.epoch) == (asked.node_id, asked.epoch)):
            return
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.abandon()
        self._stop_alarm()
        self.attempt()

    def _set_alarm(self, seconds: float, job: Callable[[], None]) -> None:
        self._stop_alarm()
        self._alarm = asyncio.get_running_loop().call_later(seconds, job)

    def _stop_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    # -- the end -----------------------------------------------------------------------------------

    def _abandon(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.abandon()
        self._end()

    def give_up(self) -> None:
        self._abandon()
        self._finish(self._error(ErrorCode.REQUEST_TIMED_OUT))

    def _error(self, code: ErrorCode) -> Any:
        return error_response(self._request, code, version=self._client.version if self._client is not None else None)

    def _finish(self, response: Any) -> None:
        self._end()
        if not self.answer.done:
            self.answer.resolve(response)

    def _end(self) -> None:
        self._stop_alarm()
        self._channel.ended(self)
