"""How a transcript words the messages, roles and effects of quorum nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE
from barnabas.records.batches import walk
from barnabas.records.control_batch import ControlType, read_control_type
from barnabas.records.record import open_batch
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest, BeginQuorumEpochResponse
from barnabas.wire.messages.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse
from barnabas.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from barnabas.wire.messages.update_raft_voter import UpdateRaftVoterRequest, UpdateRaftVoterResponse
from barnabas.wire.messages.vote import VoteRequest, VoteResponse
from tests.scenarios.quorum.core import effects, node, quorum_state, roles

_CONTROL_NAMES: dict[int, str] = {
    ControlType.LEADER_CHANGE: "LeaderChange",
    ControlType.KRAFT_VERSION: "KRaftVersion",
    ControlType.KRAFT_VOTERS: "KRaftVoters",
}


def offsets(base_offset: int, end_offset: int) -> str:
    return f"{base_offset}" if end_offset - base_offset == 1 else f"{base_offset}-{end_offset - 1}"


def listed(numbers: Iterable[int]) -> str:
    return ",".join(str(each) for each in numbers) or "none"


def known_offset(offset: int) -> str:
    return "unknown" if offset < 0 else str(offset)


# -- nodes -----------------------------------------------------------------------------------------


def role_of(core: node.QuorumNode) -> str:
    quorum = core.quorum
    match quorum.role:
        case roles.Leader():
            shown = "leader"
        case roles.Follower(leader_id=leader_id):
            shown = f"follower of {leader_id}"
        case roles.Prospective():
            shown = "prospective"
        case roles.Candidate():
            shown = "candidate"
        case roles.LeaderResigned():
            shown = "resigned"
        case roles.Unattached():
            shown = "unattached"
    return f"{shown}, epoch {core.epoch}" + ("" if quorum.is_voter else " (observer)")


def state_of(state: quorum_state.QuorumState) -> str:
    voted = f", voted for {state.voted_id}" if state.voted_id != NO_NODE else ""
    led = f", led by {state.leader_id}" if state.leader_id != NO_NODE else ""
    return f"epoch {state.epoch}{voted}{led}"


def batch_of(data: bytes) -> str:
    """A batch as its log has it: offsets, what is in it, and its leader epoch."""
    ((_, header),) = walk(data)
    where = offsets(header.base_offset, header.last_offset + 1)
    records = open_batch(data)
    if header.control:
        what = "+".join(_CONTROL_NAMES.get(read_control_type(each), "?") for each in records)
    else:
        what = " ".join((each.value or b"").decode() for each in records)
    return f"{where} {what} @{header.leader_epoch}"


def deed_of(effect: effects.Effect) -> str | None:
    """What a node does to its disk or decides; None for effects that show elsewhere."""
    match effect:
        case effects.Persist(state):
            return f"persists {state_of(state)}"
        case effects.WriteControl(epoch, base_offset, records):
            names = "+".join(_CONTROL_NAMES[kind] for kind, _ in records)
            return f"appends {offsets(base_offset, base_offset + len(records))} {names} @{epoch}"
        case effects.WriteBatch(epoch, base_offset, payloads):
            text = " ".join(each.decode() for each in payloads)
            return f"appends {offsets(base_offset, base_offset + len(payloads))} {text} @{epoch}"
        case effects.WriteFetched(base_offset, batches):
            ends = [header.last_offset + 1 for _, header in walk(batches)]
            return f"appends {offsets(base_offset, ends[-1])} as fetched"
        case effects.Truncate(end_offset):
            return f"truncates its log to {end_offset}"
        case effects.Committed(high_watermark):
            return f"high watermark {high_watermark}"
        case effects.WriteSnapshotPiece(snapshot, position, data):
            return f"writes bytes {position}-{position + len(data) - 1} of snapshot {snapshot.offset}@{snapshot.epoch}"
        case effects.InstallSnapshot(snapshot):
            return f"installs snapshot {snapshot.offset}@{snapshot.epoch}"
        case effects.Complain(problem):
            return f"complains: {problem}"
    return None


# -- messages --------------------------------------------------------------------------------------


def request_text(request: Any) -> str:
    match request:
        case VoteRequest():
            asked = request.topics[0].partitions[0]
            name = "PreVote" if asked.pre_vote else "Vote"
            return f"{name} epoch={asked.replica_epoch} end={asked.last_offset}@{asked.last_offset_epoch}"
        case BeginQuorumEpochRequest():
            begun = request.topics[0].partitions[0]
            return f"BeginQuorumEpoch epoch={begun.leader_epoch} leader={begun.leader_id}"
        case EndQuorumEpochRequest():
            ended = request.topics[0].partitions[0]
            return f"EndQuorumEpoch epoch={ended.leader_epoch} successors={listed(ended.preferred_successors)}"
        case FetchRequest():
            fetched = request.topics[0].partitions[0]
            end = f"{fetched.fetch_offset}@{fetched.last_fetched_epoch}"
            return f"Fetch epoch={fetched.current_leader_epoch} end={end} hw={known_offset(fetched.high_watermark)}"
        case FetchSnapshotRequest():
            piece = request.topics[0].partitions[0]
            return f"FetchSnapshot {piece.snapshot_id.end_offset}@{piece.snapshot_id.epoch} from byte {piece.position}"
        case AddRaftVoterRequest():
            return f"AddRaftVoter {request.voter_id}"
        case RemoveRaftVoterRequest():
            return f"RemoveRaftVoter {request.voter_id}"
        case UpdateRaftVoterRequest():
            return f"UpdateRaftVoter {request.voter_id} at {request.listeners[0].host}"
        case ApiVersionsRequest():
            return "ApiVersions"
    raise AssertionError(f"{type(request).__name__} is no request of the quorum")


def response_text(request: Any, response: Any) -> str:
    """Empty when there is nothing to show.

    That is so when no answer came, and for a fetch that timed out or asked a node that knows no
    leader either.
    """
    name = type(request).__name__.removesuffix("Request")
    match response:
        case ErrorCode():
            return ""
        case VoteResponse():
            pre_vote = request.topics[0].partitions[0].pre_vote
            return f"{'PreVote' if pre_vote else name}: {_vote(response)}"
        case FetchResponse():
            shown = _fetched(request, response)
            return f"{name}: {shown}" if shown else ""
        case FetchSnapshotResponse():
            return f"{name}: {_piece(response)}"
        case BeginQuorumEpochResponse() | EndQuorumEpochResponse():
            partition = response.topics[0].partitions[0]
            return f"{name}: {_error(partition.error_code) or 'ok'}{_leader(partition) if partition.error_code else ''}"
        case AddRaftVoterResponse() | RemoveRaftVoterResponse() | UpdateRaftVoterResponse():
            message = getattr(response, "error_message", None)
            return f"{name}: {_error(response.error_code) or 'ok'}" + (f": {message}" if message else "")
        case ApiVersionsResponse():
            return f"{name}: " + ", ".join(f"{each.name} {each.min_version}-{each.max_version}" for each in response.supported_features)
    raise AssertionError(f"{type(response).__name__} is no response of the quorum")


def _error(code: int) -> str:
    return ErrorCode(code).name if code else ""


def _leader(partition: Any) -> str:
    return (
        f", {partition.leader_id} leads epoch {partition.leader_epoch}" if partition.leader_id >= 0 else f", epoch {partition.leader_epoch}"
    )


def _vote(response: VoteResponse) -> str:
    partition = response.topics[0].partitions[0]
    if partition.vote_granted:
        return "granted"
    return (_error(partition.error_code) or "refused") + _leader(partition)


def _fetched(request: FetchRequest, response: FetchResponse) -> str:
    partition = response.responses[0].partitions[0]
    asked = request.topics[0].partitions[0]
    current = partition.current_leader
    if partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER and (current.leader_id, current.leader_epoch) == (
        -1,
        asked.current_leader_epoch,
    ):
        return ""
    if partition.error_code:
        return _error(partition.error_code) + _leader(current)
    if partition.diverging_epoch.epoch >= 0:
        return f"diverging, epoch {partition.diverging_epoch.epoch} ends at {partition.diverging_epoch.end_offset}"
    if partition.snapshot_id.end_offset >= 0:
        return f"begin with snapshot {partition.snapshot_id.end_offset}@{partition.snapshot_id.epoch}"
    high_watermark = f"hw={known_offset(partition.high_watermark)}"
    if partition.records:
        assert isinstance(partition.records, bytes), "records of this response were read from memory"
        ends = [header.last_offset + 1 for _, header in walk(partition.records)]
        return f"records {offsets(asked.fetch_offset, ends[-1])}, {high_watermark}"
    return high_watermark if partition.high_watermark > asked.high_watermark else ""


def _piece(response: FetchSnapshotResponse) -> str:
    piece = response.topics[0].partitions[0]
    if piece.error_code:
        return _error(piece.error_code) + _leader(piece.current_leader)
    return f"bytes {piece.position}-{piece.position + len(piece.unaligned_records) - 1} of {piece.size}"
