"""The way to the active controller, wherever it is: in this node, or over the wire to the quorum's leader.

A request is sent again, after a pause, while nobody is known to lead, the leader cannot be reached, or whoever was asked says that
it does not lead; and at once when somebody else has come to lead in the meantime, because the one who was asked may be dead or
paused for ever. It ends in a response of its own API: when the time is over, one that says REQUEST_TIMED_OUT.

A request can so be carried out twice, as with Kafka: a creation whose answer was lost is then told that the topic exists.

Clients' requests travel in an Envelope, with who they are and where they come from; the broker's own travel plainly. The two do not
hold each other up, and neither holds up heartbeats.
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
from barnabas.telemetry.logs import Log
from barnabas.wire.apis import ApiKey
from barnabas.wire.compiler import DECODE_ERRORS, FieldNotInVersion
from barnabas.wire.declare import declaration_of
from barnabas.wire.messages.envelope import EnvelopeResponse

# Kafka looks every 100 ms whether there is a controller; an election takes about as long as two of these.
RETRY_BACKOFF_MS = 50
# Clients' requests that wait for a controller; those behind are told at once that there is none. A broker that lost the quorum must
# not collect all that its clients try, and looks after each of these as often as the pause above says.
REQUESTS_WAITING_MAX = 1000
_HEARTBEATS, _OWN, _CLIENTS = "heartbeats", "to the controller", "forwarding"
_ALIVE = frozenset({ApiKey.BROKER_REGISTRATION, ApiKey.BROKER_HEARTBEAT, ApiKey.CONTROLLER_REGISTRATION})
# What the quorum itself answers, and how it says that it is not the one to ask.
_QUORUM_APIS = frozenset({ApiKey.DESCRIBE_QUORUM, ApiKey.ADD_RAFT_VOTER, ApiKey.REMOVE_RAFT_VOTER, ApiKey.UPDATE_RAFT_VOTER})
_NOBODY_ANSWERED = frozenset({ErrorCode.NETWORK_EXCEPTION, ErrorCode.REQUEST_TIMED_OUT})


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
        log: Log,
        *,
        local: ControllerPort | None,
        timeout_ms: int,
    ) -> None:
        """``local`` is None in a node that is no controller; ``timeout_ms`` is what requests get that name no time."""
        self.node_id = node_id
        self.quorum = quorum
        self.peers = peers
        self.local = local
        self._log = log
        self._timeout_ms = timeout_ms
        # In the order of their coming, in which they are also asked again.
        self._under_way: dict[_Submission, None] = {}
        self._closed = False

    def submit(self, request: Any, caller: Caller | None = None, timeout_ms: int | None = None) -> Promise[Any]:
        """``caller`` is that of the client in whose name it is asked; None when this node asks for itself.

        A request that says how long its sender waits is answered by then: what the controller has decided happens all the same."""
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
        """Somebody else leads the quorum, or nobody is known to."""
        for submission in list(self._under_way):
            submission.leader_changed()

    def ended(self, submission: _Submission) -> None:
        self._under_way.pop(submission, None)

    def refused(self, submission: _Submission, reason: ErrorCode) -> None:
        self._log.warning("controller does not take a request", api=submission.key.api_name, error=reason.name)

    def close(self) -> None:
        """Whoever waits is told that the time is over."""
        self._closed = True
        for submission in list(self._under_way):
            submission.give_up()


class _Submission:
    """One request on its way."""

    def __init__(self, channel: ControllerChannel, request: Any, caller: Caller | None, timeout_ms: int) -> None:
        key = declaration_of(type(request)).key
        assert key is not None
        self.key = ApiKey(key)
        self.answer: Promise[Any] = Promise()
        self._channel = channel
        self._request = request
        self._client = caller
        # What clients may not have forwarded, this broker asks in its own name.
        self._caller = caller if self.key in FORWARDABLE else None
        self._deadline = asyncio.get_running_loop().time() + timeout_ms / 1000
        self._asked: Leader | None = None
        self._pending: Promise[Any] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self.answer.if_abandoned(self._abandon)

    # -- asking ---------------------------------------------------------------------------------------------------------------

    def attempt(self) -> None:
        self._alarm = None
        left_ms = int((self._deadline - asyncio.get_running_loop().time()) * 1000)
        if left_ms <= 0:
            self.give_up()
            return
        leader = self._asked = self._channel.quorum.leader
        pending = self._ask(leader, left_ms) if leader is not None else None
        if pending is None:
            self._pause()
            return
        self._pending = pending
        pending.then(lambda outcome: self._heard(pending, outcome))
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
        purpose = _HEARTBEATS if self.key in _ALIVE else _OWN if self._caller is None else _CLIENTS
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

    # -- hearing --------------------------------------------------------------------------------------------------------------

    def _heard(self, pending: Promise[Any], outcome: Any) -> None:
        if self._pending is not pending:
            return  # another one was asked meanwhile, or nobody waits any more
        self._pending = None
        if isinstance(outcome, EnvelopeResponse):
            outcome = self._unwrapped(outcome)
        if isinstance(outcome, ErrorCode):
            if outcome in _NOBODY_ANSWERED or outcome is ErrorCode.NOT_CONTROLLER:
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
        """The client is not told what is wrong between the nodes, since it can do nothing about it."""
        if envelope.error_code in (ErrorCode.NOT_CONTROLLER, ErrorCode.UNSUPPORTED_VERSION):
            return ErrorCode(envelope.error_code)
        caller = self._caller
        if envelope.error_code != ErrorCode.NONE or envelope.response_data is None or caller is None:
            return ErrorCode.UNKNOWN_SERVER_ERROR
        try:
            return read_response(envelope.response_data, self._request, caller.version, caller.correlation_id)
        except DECODE_ERRORS:
            return ErrorCode.UNKNOWN_SERVER_ERROR

    # -- waiting --------------------------------------------------------------------------------------------------------------

    def _pause(self) -> None:
        self._set_alarm(RETRY_BACKOFF_MS / 1000, self.attempt)

    def _out_of_time(self) -> None:
        self._alarm = None
        self.give_up()

    def leader_changed(self) -> None:
        """The one who was asked may be dead, or paused for ever: whoever leads now is asked at once."""
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

    # -- the end --------------------------------------------------------------------------------------------------------------

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
