"""The follower's work: fetch from the leader, truncate where the logs diverge, and fetch a snapshot
when the leader no longer has the log.

The offset of a voter's fetch acknowledges everything below it as flushed, so a voter fetches again
only when the last batches are on its disk. Observers that can never vote need not wait. Truncation
is always by epoch, and never below the high watermark: committed records are never given up.
"""

from __future__ import annotations

from barnabas.model.errors import ErrorCode
from barnabas.quorum.core.effects import Complain, Flush, InstallSnapshot, Truncate, WriteFetched, WriteSnapshotPiece
from barnabas.quorum.core.elections import settle
from barnabas.quorum.core.events import SnapshotInstalled, SnapshotRefused, Truncated
from barnabas.quorum.core.fetched import check_fetched
from barnabas.quorum.core.in_flight import Address
from barnabas.quorum.core.log_outline import OffsetAndEpoch
from barnabas.quorum.core.messages import endpoints_in, fetch_request, one_fetch_answer, one_snapshot_partition, snapshot_request
from barnabas.quorum.core.quorum import Quorum
from barnabas.quorum.core.roles import Follower, SnapshotDownload
from barnabas.quorum.core.settings import FETCH_WAIT_MS_MAX, SNAPSHOT_BYTES_MAX
from barnabas.quorum.core.transitions import to_prospective
from barnabas.quorum.core.voter_changes import keep_voter_entry_current
from barnabas.quorum.core.voters import address_of
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse, PartitionData
from barnabas.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse

# -- requests ---------------------------------------------------------------------------------


def poll_follower(quorum: Quorum, role: Follower) -> None:
    if quorum.stopping:
        return
    if quorum.may_stand and quorum.now_ms >= role.fetch_deadline_ms:
        to_prospective(quorum)
        return
    if role.busy or (quorum.identity.may_vote and quorum.log.flushed_offset < quorum.log.end_offset):
        return
    found = address_of(role.leader_endpoints, quorum.identity.listener_name)
    leader = Address(*found) if found is not None else None
    if leader is None or quorum.in_flight.backing_off(leader, quorum.now_ms):
        # The leader does not answer. Another one may have been elected, and a voter may know it.
        fetch_from_anyone(quorum)
    elif not quorum.in_flight.any and not keep_voter_entry_current(quorum, role, leader):
        quorum.send(leader, _next_request(quorum, role), node_id=role.leader_id)


def _next_request(quorum: Quorum, role: Follower) -> FetchRequest | FetchSnapshotRequest:
    if role.download is None:
        return _fetch_request(quorum)
    return snapshot_request(
        quorum.identity.cluster_id,
        replica=quorum.me,
        epoch=quorum.epoch,
        snapshot=role.download.snapshot,
        position=role.download.position,
        size_bytes_max=quorum.settings.fetch_snapshot_max_bytes,
    )


def _fetch_request(quorum: Quorum) -> FetchRequest:
    return fetch_request(
        quorum.identity.cluster_id,
        replica=quorum.me,
        epoch=quorum.epoch,
        end_of_log=quorum.log.end,
        log_start_offset=quorum.log.start_offset,
        high_watermark=quorum.high_watermark if quorum.high_watermark > 0 else -1,
        wait_ms_max=FETCH_WAIT_MS_MAX,
        size_bytes_max=quorum.settings.fetch_max_bytes,
    )


def fetch_from_anyone(quorum: Quorum) -> None:
    """Fetch from any voter: its response names the leader, if it knows one."""
    if quorum.in_flight.any:
        return
    ready = [address for address in quorum.bootstrap_addresses() if quorum.in_flight.ready(address, quorum.now_ms)]
    if ready:
        quorum.send(ready[quorum.entropy.below(len(ready))], _fetch_request(quorum))


# -- responses --------------------------------------------------------------------------------


def on_fetch_answer(quorum: Quorum, request: FetchRequest, response: FetchResponse) -> bool:
    """Returns whether the peer gave a usable response, so that the next fetch needs no pause."""
    partition = one_fetch_answer(response)
    if response.error_code != ErrorCode.NONE or partition is None:
        return False
    before = quorum.role
    current = partition.current_leader
    endpoints = endpoints_in(response.node_endpoints, current.leader_id, quorum.identity.listener_name)
    settled = settle(quorum, partition.error_code, current.leader_id, current.leader_epoch, endpoints)
    role = quorum.role
    if settled is not None or partition.error_code != ErrorCode.NONE or not isinstance(role, Follower):
        # Without a pause, two nodes that both know no leader would ask each other as fast as they
        # can.
        return bool(settled) and role is not before
    asked = request.topics[0].partitions[0]
    if (asked.fetch_offset, asked.current_leader_epoch) != (quorum.log.end_offset, quorum.epoch):
        return True
    usable = _take(quorum, role, partition)
    if usable:
        _extend_fetch_deadline(quorum, role)
    return usable


def _take(quorum: Quorum, role: Follower, partition: PartitionData) -> bool:
    diverging, snapshot = partition.diverging_epoch, partition.snapshot_id
    if diverging.epoch >= 0 and diverging.end_offset >= 0:
        return _truncate(quorum, role, OffsetAndEpoch(diverging.end_offset, diverging.epoch))
    if snapshot.epoch >= 0 or snapshot.end_offset >= 0:
        return _begin_download(quorum, role, OffsetAndEpoch(snapshot.end_offset, snapshot.epoch))
    if diverging.epoch >= 0 or diverging.end_offset >= 0:
        return False
    records = partition.records or b""
    assert isinstance(records, bytes | bytearray | memoryview), "records of a response are in its frame"
    fetched = check_fetched(records, end_of_log=quorum.log.end, leader_epoch=quorum.epoch)
    if fetched.problem is not None:
        quorum.emit(Complain(f"leader {role.leader_id} sent {fetched.problem}"))
    if fetched.end_offset > quorum.log.end_offset:
        quorum.emit(WriteFetched(quorum.log.end_offset, fetched.batches))
        quorum.log.extend(fetched.end_offset, fetched.epochs)
        quorum.history.add(fetched.changes)
        if quorum.identity.may_vote:
            quorum.emit(Flush(quorum.log.end_offset, quorum.log.generation))
        else:
            quorum.log.flushed_offset = quorum.log.end_offset
    quorum.commit(partition.high_watermark)
    return fetched.problem is None


def _truncate(quorum: Quorum, role: Follower, leader_end: OffsetAndEpoch) -> bool:
    end_offset = quorum.log.truncation_point(leader_end)
    if end_offset < max(quorum.high_watermark, quorum.log.start_offset):
        quorum.emit(
            Complain(
                f"leader {role.leader_id} asks for a truncation to {end_offset}, but everything below {quorum.high_watermark} is committed"
            )
        )
        return False
    if end_offset < quorum.log.end_offset:
        role.busy = True
        quorum.emit(Truncate(end_offset))
        return True
    # There is nothing to truncate, and still the logs diverge: asking again would only repeat this.
    return False


def on_truncated(quorum: Quorum, event: Truncated) -> None:
    quorum.log.truncate(event.end_offset)
    quorum.history.truncate_end(event.end_offset)
    if quorum.log.flushed_offset < quorum.log.end_offset:
        # A flush in flight belongs to the log before the truncation.
        quorum.emit(Flush(quorum.log.end_offset, quorum.log.generation))
    if isinstance(quorum.role, Follower):
        quorum.role.busy = False


def _begin_download(quorum: Quorum, role: Follower, snapshot: OffsetAndEpoch) -> bool:
    if snapshot.offset <= quorum.high_watermark or snapshot.epoch < 0 or snapshot.epoch > quorum.epoch:
        # The snapshot is older than what this node knows to be committed: it could only lose
        # records.
        quorum.emit(Complain(f"leader {role.leader_id} offers the snapshot of offset {snapshot.offset} and epoch {snapshot.epoch}"))
        return False
    role.download = SnapshotDownload(snapshot)
    return True


def on_snapshot_answer(quorum: Quorum, response: FetchSnapshotResponse) -> bool:
    piece = one_snapshot_partition(response.topics)
    if response.error_code != ErrorCode.NONE or piece is None:
        return False
    before = quorum.role
    current = piece.current_leader
    endpoints = endpoints_in(response.node_endpoints, current.leader_id, quorum.identity.listener_name)
    settled = settle(quorum, piece.error_code, current.leader_id, current.leader_epoch, endpoints)
    role = quorum.role
    if settled is not None or not isinstance(role, Follower) or role.download is None:
        return bool(settled) and role is not before
    download = role.download
    if piece.error_code == ErrorCode.SNAPSHOT_NOT_FOUND or piece.snapshot_id.end_offset < 0 or piece.snapshot_id.epoch < 0:
        # A newer snapshot has replaced it; the next fetch names that one.
        role.download = None
        _extend_fetch_deadline(quorum, role)
        return bool(piece.error_code == ErrorCode.SNAPSHOT_NOT_FOUND)
    data = piece.unaligned_records
    received = (OffsetAndEpoch(piece.snapshot_id.end_offset, piece.snapshot_id.epoch), piece.position)
    end = download.position + len(data)
    if piece.error_code != ErrorCode.NONE or received != (download.snapshot, download.position) or not data:
        role.download = None
        return False
    if piece.size > SNAPSHOT_BYTES_MAX or piece.size < end or download.size_bytes not in (None, piece.size):
        # A snapshot that never ends, or changes its size, would only fill the disk.
        quorum.emit(Complain(f"leader {role.leader_id} sent bytes {download.position} to {end} of a snapshot of {piece.size} bytes"))
        role.download = None
        return False
    quorum.emit(WriteSnapshotPiece(download.snapshot, download.position, data))
    download.position, download.size_bytes = end, piece.size
    _extend_fetch_deadline(quorum, role)
    if download.position >= piece.size:
        role.busy = True
        role.download = None
        quorum.emit(InstallSnapshot(download.snapshot))
    return True


def on_snapshot_installed(quorum: Quorum, event: SnapshotInstalled) -> None:
    quorum.log.restart_at(event.snapshot)
    quorum.history.reset(event.changes)
    quorum.high_watermark = max(quorum.high_watermark, event.snapshot.offset)
    if isinstance(quorum.role, Follower):
        quorum.role.busy = False


def on_snapshot_refused(quorum: Quorum, event: SnapshotRefused) -> None:
    if isinstance(quorum.role, Follower):
        quorum.role.busy = False
        quorum.emit(Complain(f"the snapshot of offset {event.snapshot.offset} from leader {quorum.role.leader_id} is damaged"))


def _extend_fetch_deadline(quorum: Quorum, role: Follower) -> None:
    role.fetch_deadline_ms = quorum.fetch_deadline()
    role.has_fetched = True
