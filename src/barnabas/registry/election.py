"""A member of the group that elects the registry's leader, on a thread of its own.

    find the coordinator -> join -> sync -> heartbeats -> a rebalance -> join ...

Whatever goes wrong ends the membership as this instance sees it: it stops leading, and joins again.
A leader that does not notice in time cannot do harm, since the next one fences its writes
(:mod:`~.schemas_topic`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from barnabas.direct_requests.broker_connection import BrokerConnection
from barnabas.direct_requests.errors import RequestRefused
from barnabas.model.errors import ErrorCode
from barnabas.registry.core.election import PROTOCOL_NAME, PROTOCOL_TYPE, Assignment, Identity, elect
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse

# The shortest session that brokers allow by default: a leader that dies is replaced after it.
SESSION_MS: Final = 6_000
REBALANCE_MS: Final = 60_000
# A member learns of a rebalance with its next heartbeat.
HEARTBEAT_SECONDS: Final = 1.0
BACKOFF_SECONDS: Final = 0.5
ANSWER_SECONDS_MAX: Final = 15.0
# JoinGroup is answered when all members have joined or the rebalance has timed out.
JOIN_SECONDS_MAX: Final = REBALANCE_MS / 1000 + ANSWER_SECONDS_MAX
_GROUP_KEY_TYPE: Final = 0

OnLeader = Callable[[Identity | None, bool], None]


class _MembershipEnded(Exception):
    """The member must join again."""


class Election:
    def __init__(
        self, addresses: Sequence[str], properties: Mapping[str, str], group_id: str, identity: Identity, on_leader: OnLeader
    ) -> None:
        """``on_leader(leader, is_self)`` is called on the thread of the election; the leader is
        None while none is known."""
        self._addresses = addresses
        self._properties = properties
        self._group_id = group_id
        self._identity = identity
        self._on_leader = on_leader
        self._member_id = ""
        self._stopped = threading.Event()
        self._renounced = threading.Event()
        self._thread = threading.Thread(target=self._run, name="registry-election", daemon=True)
        self.last_error: str | None = None
        """Why there is no membership at the moment, for the health page."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Leaves the group, so that another instance leads at once."""
        self._stopped.set()
        self._thread.join(ANSWER_SECONDS_MAX)

    def renounce(self) -> None:
        """Join again without a claim to lead, within a heartbeat."""
        self._renounced.set()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                with self._coordinator() as connection:
                    self._be_member(connection)
            except (RequestRefused, _MembershipEnded) as error:
                self.last_error = str(error)
            self._identity = replace(self._identity, leads=False)
            self._on_leader(None, False)
            self._stopped.wait(BACKOFF_SECONDS)

    # -- one membership ----------------------------------------------------------------------------

    def _be_member(self, connection: BrokerConnection) -> None:
        while not self._stopped.is_set():
            joined = self._join(connection)
            assignment = self._sync(connection, joined)
            self.last_error = None
            self._take(assignment)
            self._beat(connection, joined.generation_id)
        if self._member_id:
            connection.ask(LeaveGroupRequest(group_id=self._group_id, members=[MemberIdentity(member_id=self._member_id)]))

    def _join(self, connection: BrokerConnection) -> JoinGroupResponse:
        while True:
            request = JoinGroupRequest(
                group_id=self._group_id,
                session_timeout_ms=SESSION_MS,
                rebalance_timeout_ms=REBALANCE_MS,
                member_id=self._member_id,
                protocol_type=PROTOCOL_TYPE,
                protocols=[JoinGroupRequestProtocol(name=PROTOCOL_NAME, metadata=self._identity.encode())],
            )
            response: JoinGroupResponse = connection.ask(request, seconds_max=JOIN_SECONDS_MAX)
            if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                self._member_id = response.member_id
                continue
            self._check(response.error_code, "join")
            self._member_id = response.member_id
            return response

    def _sync(self, connection: BrokerConnection, joined: JoinGroupResponse) -> Assignment:
        assignments = []
        if joined.leader == joined.member_id:
            # Kafka's "leader" of a group only decides; it need not become the registry's.
            members = {each.member_id: Identity.decode(bytes(each.metadata)) for each in joined.members}
            encoded = elect({member: identity for member, identity in members.items() if identity is not None}).encode()
            assignments = [SyncGroupRequestAssignment(member_id=member, assignment=encoded) for member in members]
        request = SyncGroupRequest(
            group_id=self._group_id,
            generation_id=joined.generation_id,
            member_id=self._member_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=PROTOCOL_NAME,
            assignments=assignments,
        )
        response: SyncGroupResponse = connection.ask(request, seconds_max=JOIN_SECONDS_MAX)
        self._check(response.error_code, "sync")
        assignment = Assignment.decode(bytes(response.assignment))
        if assignment is None:
            raise _MembershipEnded("The group's leader sent an assignment that is none.")
        if assignment.duplicate_urls:
            raise _MembershipEnded(f"Two instances have the same address; this one has {self._identity.url}.")
        return assignment

    def _take(self, assignment: Assignment) -> None:
        mine = assignment.leader_id is not None and assignment.leader_id == self._member_id
        self._identity = replace(self._identity, leads=mine)
        self._on_leader(assignment.leader, mine)

    def _beat(self, connection: BrokerConnection, generation: int) -> None:
        """Returns when the group rebalances, or this instance stops."""
        due = time.monotonic()
        while not self._stopped.wait(max(0.0, due - time.monotonic())):
            due = time.monotonic() + HEARTBEAT_SECONDS
            if self._renounced.is_set():
                self._renounced.clear()
                raise _MembershipEnded("This instance cannot write, and gives up its leadership.")
            request = HeartbeatRequest(group_id=self._group_id, generation_id=generation, member_id=self._member_id)
            response: HeartbeatResponse = connection.ask(request)
            if response.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
                return
            self._check(response.error_code, "heartbeat")

    def _check(self, code: int, deed: str) -> None:
        if code == ErrorCode.NONE:
            return
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            self._member_id = ""
        name = ErrorCode(code).name if code in ErrorCode._value2member_map_ else str(code)
        raise _MembershipEnded(f"The coordinator refuses the {deed} of the group {self._group_id}: {name}.")

    def _coordinator(self) -> BrokerConnection:
        refused: RequestRefused | None = None
        for address in self._addresses:
            try:
                with BrokerConnection(address, self._properties, seconds_max=ANSWER_SECONDS_MAX) as connection:
                    request = FindCoordinatorRequest(key_type=_GROUP_KEY_TYPE, coordinator_keys=[self._group_id])
                    response: FindCoordinatorResponse = connection.ask(request)
                found = response.coordinators[0]
                if found.error_code == ErrorCode.NONE:
                    return BrokerConnection(f"{found.host}:{found.port}", self._properties, seconds_max=ANSWER_SECONDS_MAX)
                refused = RequestRefused(f"{address} knows no coordinator of the group {self._group_id} yet.")
            except RequestRefused as error:
                refused = error
        raise refused if refused is not None else RequestRefused("No broker is known.")
