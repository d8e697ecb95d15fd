"""Voters added, removed and updated (KIP-853): one change at a time, each a record in the log.

Two consecutive voter sets differ in one voter, so every majority of the one shares a voter with
every majority of the other, and the newest set may count from the moment it is written. That holds
only when the previous set is committed, and under a leader that has committed a batch of its own
epoch. Otherwise the response is REQUEST_TIMED_OUT, and the client asks again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NodeId, Uuid
from barnabas.quorum.core.control_history import KRaftVersionAt, VotersAt, kraft_version_value, voters_value
from barnabas.quorum.core.effects import Reply
from barnabas.quorum.core.in_flight import Address
from barnabas.quorum.core.messages import update_voter_response
from barnabas.quorum.core.quorum import Quorum, validate_leader_request
from barnabas.quorum.core.roles import Follower, Leader, VoterChange
from barnabas.quorum.core.voters import (
    SUPPORTED_KRAFT_VERSIONS,
    UNKNOWN_KRAFT_VERSIONS,
    Endpoint,
    ReplicaKey,
    VersionRange,
    Voter,
    VoterSet,
    address_of,
)
from barnabas.records.control_batch import ControlType
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse, Listener as AddedListener
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from barnabas.wire.messages.update_raft_voter import (
    KRaftVersionFeature,
    Listener as UpdatedListener,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)

KRAFT_VERSION = "kraft.version"
_SOFTWARE_NAME = "barnabas"
_SOFTWARE_VERSION = "1"
_BUSY = "The leader is still handling a previous change of the voters."
_NOT_ESTABLISHED = "The leader has not committed anything in its epoch yet."
_UNCOMMITTED = "The last change of the voters is not committed yet."

# -- requests to the leader ---------------------------------------------------------------------


def on_add_request(quorum: Quorum, token: int, request: AddRaftVoterRequest) -> None:
    key = ReplicaKey(NodeId(request.voter_id), Uuid(request.voter_directory_id))
    refusal = _refusal(quorum, request.cluster_id, key)
    if refusal is None and key.node_id in quorum.voters:
        refusal = (ErrorCode.DUPLICATE_VOTER, f"Node {key.node_id} is a voter already.")
    endpoints = _endpoints(request.listeners)
    found = address_of(endpoints, quorum.identity.listener_name)
    if refusal is None and found is None:
        refusal = (ErrorCode.INVALID_REQUEST, f"There is no endpoint for the listener {quorum.identity.listener_name}.")
    role = quorum.role
    if refusal is not None or found is None or not isinstance(role, Leader):
        quorum.emit(Reply(token, _added(*(refusal or (ErrorCode.NOT_LEADER_OR_FOLLOWER, None)))))
        return
    voter = Voter(key, endpoints, UNKNOWN_KRAFT_VERSIONS)
    role.change = VoterChange(token, request, voter, quorum.now_ms + quorum.settings.request_timeout_ms)
    question = ApiVersionsRequest(client_software_name=_SOFTWARE_NAME, client_software_version=_SOFTWARE_VERSION)
    quorum.send(Address(*found), question, node_id=key.node_id, aside=True)


def on_versions_answer(quorum: Quorum, node_id: NodeId, response: ApiVersionsResponse | ErrorCode) -> bool:
    """The versions that a new replica supports arrived. If it supports the kraft.version and has
    caught up, it becomes a voter."""
    role = quorum.role
    change = role.change if isinstance(role, Leader) else None
    if not isinstance(role, Leader) or change is None or change.end_offset is not None or change.voter.key.node_id != node_id:
        return True
    if not isinstance(response, ApiVersionsResponse) or response.error_code != ErrorCode.NONE:
        end_change(quorum, role, ErrorCode.REQUEST_TIMED_OUT, f"Node {node_id} did not answer which versions it supports.")
        return False
    ranges = [VersionRange(each.min_version, each.max_version) for each in response.supported_features if each.name == KRAFT_VERSION]
    supported = ranges[0] if ranges else UNKNOWN_KRAFT_VERSIONS
    if not supported.holds(quorum.history.kraft_version):
        problem = f"Node {node_id} supports kraft.version {supported.lowest} to {supported.highest}, not {quorum.history.kraft_version}."
        end_change(quorum, role, ErrorCode.INVALID_REQUEST, problem)
    elif not role.progress.of(change.voter.key).caught_up(quorum.now_ms):
        end_change(quorum, role, ErrorCode.REQUEST_TIMED_OUT, f"Node {node_id} has not caught up with the log.")
    else:
        change.voter = Voter(change.voter.key, change.voter.endpoints, supported)
        change.end_offset = _write_voters(quorum, role, quorum.voters.with_voter(change.voter))
        if not change.request.ack_when_committed and change.token is not None:
            quorum.emit(Reply(change.token, _added(ErrorCode.NONE)))
            change.token = None
    return True


def on_remove_request(quorum: Quorum, token: int, request: RemoveRaftVoterRequest) -> None:
    key = ReplicaKey(NodeId(request.voter_id), Uuid(request.voter_directory_id))
    refusal = _refusal(quorum, request.cluster_id, key)
    voter = quorum.voters.get(key.node_id)
    if refusal is None and (voter is None or voter.key != key):
        refusal = (ErrorCode.VOTER_NOT_FOUND, f"Node {key.node_id} with that directory is not a voter.")
    if refusal is None and len(quorum.voters) == 1:
        refusal = (ErrorCode.INVALID_REQUEST, "The last voter cannot be removed.")
    role = quorum.role
    if refusal is not None or voter is None or not isinstance(role, Leader):
        quorum.emit(Reply(token, _removed(*(refusal or (ErrorCode.NOT_LEADER_OR_FOLLOWER, None)))))
        return
    role.change = VoterChange(token, request, voter, quorum.now_ms + quorum.settings.request_timeout_ms)
    role.change.end_offset = _write_voters(quorum, role, quorum.voters.without(key.node_id))


def on_update_request(quorum: Quorum, token: int, request: UpdateRaftVoterRequest, listener_name: str | None) -> None:
    error = _update(quorum, request)
    quorum.emit(Reply(token, update_voter_response(error, quorum.leader_info(listener_name))))


def _update(quorum: Quorum, request: UpdateRaftVoterRequest) -> ErrorCode:
    if not quorum.known_cluster(request.cluster_id):
        return ErrorCode.INCONSISTENT_CLUSTER_ID
    error = validate_leader_request(quorum, request.current_leader_epoch)
    role = quorum.role
    if error != ErrorCode.NONE or not isinstance(role, Leader):
        return error
    key = ReplicaKey(NodeId(request.voter_id), Uuid(request.voter_directory_id))
    feature = request.kraft_version_feature
    versions = VersionRange(feature.min_supported_version, feature.max_supported_version)
    endpoints = _endpoints(request.listeners)
    if (
        key.node_id < 0
        or not any(key.directory_id)
        or address_of(endpoints, quorum.identity.listener_name) is None
        or not 0 <= versions.lowest <= versions.highest
    ):
        return ErrorCode.INVALID_REQUEST
    if role.change is not None or not role.established:
        return ErrorCode.REQUEST_TIMED_OUT
    dynamic, latest = quorum.history.dynamic, quorum.history.latest
    if dynamic and (latest is None or latest.offset >= quorum.high_watermark):
        return ErrorCode.REQUEST_TIMED_OUT
    if not versions.holds(quorum.history.kraft_version):
        return ErrorCode.INVALID_REQUEST
    if not quorum.voters.includes(key):
        return ErrorCode.VOTER_NOT_FOUND
    voter = Voter(key, endpoints, versions)
    if dynamic:
        _write_voters(quorum, role, quorum.voters.with_voter(voter))
    else:
        # Nothing is written in a quorum whose voters are configured, but it may become a dynamic
        # one.
        role.updated_voters = role.updated_voters.with_voter(voter)
    return ErrorCode.NONE


def _refusal(quorum: Quorum, cluster_id: str | None, key: ReplicaKey) -> tuple[ErrorCode, str | None] | None:
    """The reason why the voters cannot be changed now; None if they can."""
    if not quorum.known_cluster(cluster_id):
        return ErrorCode.INCONSISTENT_CLUSTER_ID, f"The cluster's id is {quorum.identity.cluster_id}, not {cluster_id}."
    error = validate_leader_request(quorum, quorum.epoch)
    role = quorum.role
    if error != ErrorCode.NONE or not isinstance(role, Leader):
        return error, None
    if key.node_id < 0 or not any(key.directory_id):
        return ErrorCode.INVALID_REQUEST, "A voter is a node id and a directory id."
    if role.change is not None:
        return ErrorCode.REQUEST_TIMED_OUT, _BUSY
    if not role.established:
        return ErrorCode.REQUEST_TIMED_OUT, _NOT_ESTABLISHED
    if not quorum.history.dynamic:
        version = quorum.history.kraft_version
        return ErrorCode.UNSUPPORTED_VERSION, f"The voters are configured, since {KRAFT_VERSION} is {version}: they cannot be changed."
    latest = quorum.history.latest
    if latest is None or latest.offset >= quorum.high_watermark:
        return ErrorCode.REQUEST_TIMED_OUT, _UNCOMMITTED
    return None


def _write_voters(quorum: Quorum, role: Leader, voters: VoterSet) -> int:
    """Returns the offset behind the record. The new set counts at once."""
    quorum.history.add([VotersAt(quorum.log.end_offset, voters)])
    _count_over(quorum, role, voters)
    quorum.write_control((ControlType.KRAFT_VOTERS, voters_value(voters)))
    return quorum.log.end_offset


def _count_over(quorum: Quorum, role: Leader, voters: VoterSet) -> None:
    role.progress.follow(voters)
    # The new majority gets a whole period from now on: a leader that was the only voter has not
    # tracked fetches so far.
    role.fetched_voters.clear()
    role.check_quorum_deadline_ms = quorum.now_ms + quorum.check_quorum_ms


# -- a change in progress ----------------------------------------------------------------------


def finish_change(quorum: Quorum, role: Leader) -> None:
    change = role.change
    if change is not None and change.end_offset is not None and quorum.high_watermark >= change.end_offset:
        end_change(quorum, role, ErrorCode.NONE)


def expire_change(quorum: Quorum, role: Leader) -> None:
    if role.change is not None and quorum.now_ms >= role.change.deadline_ms:
        end_change(quorum, role, ErrorCode.REQUEST_TIMED_OUT)


def end_change(quorum: Quorum, role: Leader, error: ErrorCode, message: str | None = None) -> None:
    """End the change in progress and answer its caller. Once written, it may still take effect."""
    change, role.change = role.change, None
    if change is not None and change.token is not None:
        respond = _added if isinstance(change.request, AddRaftVoterRequest) else _removed
        quorum.emit(Reply(change.token, respond(error, message)))


def _added(error: ErrorCode, message: str | None = None) -> Any:
    return AddRaftVoterResponse(throttle_time_ms=0, error_code=error, error_message=message)


def _removed(error: ErrorCode, message: str | None = None) -> Any:
    return RemoveRaftVoterResponse(throttle_time_ms=0, error_code=error, error_message=message)


# -- from configured voters to dynamic ones --------------------------------------------------------


def upgrade_problem(quorum: Quorum, version: int) -> str | None:
    """The reason why kraft.version cannot become ``version``; None when it can, or already is."""
    role, current = quorum.role, quorum.history.kraft_version
    if version == current:
        return None
    if version < current:
        return f"{KRAFT_VERSION} cannot be lowered from {current} to {version}."
    if not SUPPORTED_KRAFT_VERSIONS.holds(version):
        return f"{KRAFT_VERSION} {version} is not known."
    if not isinstance(role, Leader) or not role.established:
        return _NOT_ESTABLISHED
    without_directory = [voter.key.node_id for voter in role.updated_voters.values() if not any(voter.key.directory_id)]
    if without_directory:
        return f"Voters {without_directory} have not reported their directories yet."
    unable = [voter.key.node_id for voter in role.updated_voters.values() if not voter.kraft_versions.holds(version)]
    return f"Voters {unable} do not support {KRAFT_VERSION} {version}." if unable else None


def upgrade(quorum: Quorum, version: int) -> None:
    role = quorum.role
    if not isinstance(role, Leader) or version == quorum.history.kraft_version or upgrade_problem(quorum, version) is not None:
        return
    offset, voters = quorum.log.end_offset, role.updated_voters
    quorum.history.add([KRaftVersionAt(offset, version), VotersAt(offset + 1, voters)])
    _count_over(quorum, role, voters)
    quorum.write_control((ControlType.KRAFT_VERSION, kraft_version_value(version)), (ControlType.KRAFT_VOTERS, voters_value(voters)))


# -- requests of a follower --------------------------------------------------------------------


def keep_voter_entry_current(quorum: Quorum, role: Follower, leader: Address) -> bool:
    """Check now and then that the voter set describes this node correctly. Returns whether a
    request to the leader was sent."""
    if quorum.now_ms < role.update_voter_ms or not quorum.identity.may_vote or not quorum.identity.endpoints:
        return False
    role.update_voter_ms = quorum.now_ms + quorum.settings.fetch_timeout_ms
    request = _correction(quorum, role)
    return request is not None and quorum.send(leader, request, node_id=role.leader_id)


def _correction(quorum: Quorum, role: Follower) -> UpdateRaftVoterRequest | AddRaftVoterRequest | RemoveRaftVoterRequest | None:
    known = quorum.voters.get(quorum.me.node_id)
    identity, dynamic = quorum.identity, quorum.history.dynamic
    if quorum.is_voter and known is not None:
        if role.has_updated_leader if not dynamic else same_voter(known, quorum.myself_as_voter):
            return None
        return UpdateRaftVoterRequest(
            cluster_id=identity.cluster_id,
            current_leader_epoch=quorum.epoch,
            voter_id=quorum.me.node_id,
            voter_directory_id=quorum.me.directory_id,
            listeners=[UpdatedListener(name=each.name, host=each.host, port=each.port) for each in identity.endpoints],
            kraft_version_feature=KRaftVersionFeature(
                min_supported_version=SUPPORTED_KRAFT_VERSIONS.lowest, max_supported_version=SUPPORTED_KRAFT_VERSIONS.highest
            ),
        )
    if not quorum.settings.auto_join or not dynamic:
        return None
    if known is not None:
        # The voter is this node with a directory that is gone.
        return RemoveRaftVoterRequest(cluster_id=identity.cluster_id, voter_id=known.key.node_id, voter_directory_id=known.key.directory_id)
    return AddRaftVoterRequest(
        cluster_id=identity.cluster_id,
        timeout_ms=quorum.settings.request_timeout_ms,
        voter_id=quorum.me.node_id,
        voter_directory_id=quorum.me.directory_id,
        listeners=[AddedListener(name=each.name, host=each.host, port=each.port) for each in identity.endpoints],
        ack_when_committed=False,
    )


def on_update_answer(quorum: Quorum, response: UpdateRaftVoterResponse) -> bool:
    role = quorum.role
    if not isinstance(role, Follower) or response.current_leader.leader_epoch != quorum.epoch:
        return False
    if response.error_code in (ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION):
        role.has_updated_leader = True
        role.has_fetched = True
        role.fetch_deadline_ms = quorum.fetch_deadline()
    return response.error_code in (ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT)


def same_voter(one: Voter, other: Voter) -> bool:
    """Whether two voters are equal apart from the order of their endpoints, which has no
    meaning."""
    return one.key == other.key and one.kraft_versions == other.kraft_versions and set(one.endpoints) == set(other.endpoints)


def _endpoints(listeners: Iterable[Any]) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(each.name, each.host, each.port) for each in listeners)
