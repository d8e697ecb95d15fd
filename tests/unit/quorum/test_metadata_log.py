"""``__cluster_metadata-0`` on a simulated disk: batches, quorum state, snapshots and power cuts."""

from __future__ import annotations

from random import Random

import pytest

from barnabas.metadata.applier import MetadataBatch
from barnabas.metadata.snapshot import SnapshotDamaged, SnapshotId
from barnabas.model.ids import LeaderEpoch, NodeId
from barnabas.quorum.core.control_history import KRaftVersionAt, VotersAt, kraft_version_value, voters_value
from barnabas.quorum.core.log_outline import EpochStart, OffsetAndEpoch
from barnabas.quorum.core.quorum_state import QuorumState, QuorumStateDamaged
from barnabas.quorum.core.voters import configured_voters
from barnabas.quorum.metadata_log import MetadataLog
from barnabas.records.control_batch import ControlType
from barnabas.simulation.disk import PowerCut, SimulatedDisk
from barnabas.storage.log_settings import LogSettings
from barnabas.wire.metadata_records import MetadataRecord, NoOpRecord, encode_metadata_record
from tests.unit.metadata.made import topic

ME = NodeId(1)
NOW_MS = 1_700_000_000_000


def new_disk() -> SimulatedDisk:
    disk = SimulatedDisk(Random(0))
    disk.make_directory("/data")
    return disk


def open_log(disk: SimulatedDisk, *, clean: bool = True, segment_bytes: int = 1 << 20) -> MetadataLog:
    return MetadataLog(disk, "/data", LogSettings(segment_bytes=segment_bytes), clean=clean, now_ms=NOW_MS)


def write(log: MetadataLog, *records: MetadataRecord, epoch: int = 1) -> None:
    log.write_batch([encode_metadata_record(record) for record in records], epoch=epoch, now_ms=NOW_MS)


def flush(log: MetadataLog) -> None:
    end_offset, segments = log.flushable()
    for segment in segments:
        segment.sync()
    log.flushed(end_offset)


def all_batches(log: MetadataLog) -> list[MetadataBatch]:
    return list(log.batches(log.start_offset, log.end_offset))


def test_batches_are_read_back_as_written_with_their_provenance() -> None:
    log = open_log(new_disk())
    log.write_control([(ControlType.LEADER_CHANGE, b"")], epoch=1, now_ms=NOW_MS)
    write(log, *topic(1, "t", [1]))
    write(log, NoOpRecord(), epoch=2)
    change, made, nothing = all_batches(log)
    assert (change.records, change.provenance.offset, change.provenance.epoch) == ((), 0, 1)
    assert (list(made.records), made.provenance.offset) == (topic(1, "t", [1]), 2)
    assert (nothing.provenance.offset, nothing.provenance.epoch, nothing.provenance.timestamp_ms) == (3, 2, NOW_MS)
    assert log.end_offset == 4


def test_reading_begins_and_ends_at_the_given_offsets() -> None:
    log = open_log(new_disk())
    for _ in range(5):
        write(log, NoOpRecord(), NoOpRecord())
    assert [batch.provenance.offset for batch in log.batches(4, 8)] == [5, 7]
    assert list(log.batches(10, 10)) == []


def test_many_large_batches_are_read_across_segments() -> None:
    log = open_log(new_disk(), segment_bytes=20_000)
    records = [list(topic(number, "x" * 200, *([[1]] * 50))) for number in range(1, 10)]
    for each in records:
        write(log, *each)
    assert [list(batch.records) for batch in all_batches(log)] == records


def test_flushed_batches_survive_a_power_cut_and_others_are_whole_or_gone() -> None:
    for seed in range(30):
        disk = SimulatedDisk(Random(seed))
        disk.make_directory("/data")
        disk.sync_directory("/")
        log = open_log(disk)
        for _ in range(3):
            write(log, NoOpRecord())
        flush(log)
        for _ in range(3):
            write(log, NoOpRecord(), NoOpRecord())
        again = open_log(disk.crash(), clean=False)
        offsets = [batch.provenance.offset for batch in all_batches(again)]
        assert offsets[:3] == [0, 1, 2]
        assert offsets[3:] == [4, 6, 8][: len(offsets) - 3]


def test_the_quorum_state_is_durable_when_it_is_written() -> None:
    disk = new_disk()
    log = open_log(disk)
    assert log.read_quorum_state() == QuorumState()
    disk.sync_directory("/data")
    disk.sync_directory("/")
    state = QuorumState(LeaderEpoch(4), ME)
    log.write_quorum_state(state, [ME])
    assert open_log(disk.crash(), clean=False).read_quorum_state() == state


def test_a_damaged_quorum_state_is_not_taken_for_a_new_one() -> None:
    disk = new_disk()
    log = open_log(disk)
    log.write_quorum_state(QuorumState(LeaderEpoch(4), ME), [ME])
    disk.open(f"{log.directory}/quorum-state").truncate(3)
    with pytest.raises(QuorumStateDamaged):
        log.read_quorum_state()


# -- snapshots --------------------------------------------------------------------------------


def snapshot(log: MetadataLog, end_offset: int, *records: MetadataRecord, epoch: int = 1) -> SnapshotId:
    made = SnapshotId(end_offset, epoch)
    log.write_snapshot(made, records, last_timestamp=7, now_ms=NOW_MS)
    return made


def test_the_newest_snapshot_is_read() -> None:
    log = open_log(new_disk())
    assert log.read_latest_snapshot() is None
    snapshot(log, 3, NoOpRecord())
    latest = snapshot(log, 20, *topic(1, "t", [1]), epoch=2)
    assert log.snapshots() == [SnapshotId(3, 1), latest]
    assert log.read_latest_snapshot() == (latest, topic(1, "t", [1]), 7)


def test_a_damaged_snapshot_is_ignored_where_the_log_still_has_its_records() -> None:
    disk = new_disk()
    log = open_log(disk)
    for _ in range(30):
        write(log, NoOpRecord())
    older = snapshot(log, 3, NoOpRecord())
    latest = snapshot(log, 20, NoOpRecord())
    file = disk.open(f"{log.directory}/{latest.file_name}")
    file.truncate(file.size_bytes() - 1)
    found = log.read_latest_snapshot()
    assert found is not None
    assert found[0] == older
    assert log.snapshots() == [older]


def test_a_damaged_snapshot_that_replaced_the_log_stops_the_node() -> None:
    """No other file holds its records; a node that started without it would invent a new
    cluster."""
    disk = new_disk()
    log = open_log(disk)
    latest = snapshot(log, 20, NoOpRecord())
    again = open_log(disk)
    assert (again.start_offset, again.end_offset) == (20, 20)
    disk.open(f"{log.directory}/{latest.file_name}").truncate(5)
    with pytest.raises(SnapshotDamaged):
        again.read_latest_snapshot()


def test_unfinished_snapshots_are_removed_at_start() -> None:
    disk = new_disk()
    log = open_log(disk)
    part = f"{log.directory}/{SnapshotId(5, 1).file_name}.part"
    disk.open(part).write_at(0, b"half")
    open_log(disk)
    assert not disk.exists(part)


def test_a_snapshot_is_there_whole_or_not_at_all_after_a_power_cut() -> None:
    for seed in range(30):
        disk = SimulatedDisk(Random(seed))
        disk.make_directory("/data")
        log = open_log(disk)
        for directory in (log.directory, "/data", "/"):
            disk.sync_directory(directory)
        made = snapshot(log, 9, *topic(1, "t", [1]))
        again = open_log(disk.crash(), clean=False)
        assert again.read_latest_snapshot() == (made, topic(1, "t", [1]), 7)


def test_old_snapshots_go_first_and_then_the_log_that_the_newest_covers() -> None:
    log = open_log(new_disk(), segment_bytes=2000)
    for number in range(1, 60):
        write(log, *topic(number, "t", [1]))
    for end_offset in (10, 20, 90):
        snapshot(log, end_offset, NoOpRecord())
    size = log.size_bytes()
    assert log.retain(size_bytes_max=10**9, older_than_ms=0) == 0
    freed = log.retain(size_bytes_max=size, older_than_ms=0)
    assert freed > 0
    assert log.snapshots()[-1] == SnapshotId(90, 1)
    log.retain(size_bytes_max=0, older_than_ms=0)
    assert log.snapshots() == [SnapshotId(90, 1)]
    assert 0 < log.start_offset <= 90
    assert log.size_bytes() < size
    # All batches after the snapshot are still there.
    assert [batch.provenance.offset for batch in log.batches(90, log.end_offset)][-1] == log.end_offset - 1


def test_old_snapshots_go_by_their_age_and_the_newest_never_does() -> None:
    log = open_log(new_disk())
    for end_offset, written_ms in ((10, 100), (20, 200), (30, 300)):
        log.write_snapshot(SnapshotId(end_offset, 1), [NoOpRecord()], last_timestamp=written_ms, now_ms=NOW_MS)
    log.retain(size_bytes_max=10**9, older_than_ms=150)
    assert [each.end_offset for each in log.snapshots()] == [20, 30]
    log.retain(size_bytes_max=10**9, older_than_ms=NOW_MS)
    assert [each.end_offset for each in log.snapshots()] == [30]


# -- as a replica -----------------------------------------------------------------------------


def copied(source: MetadataLog, target: MetadataLog) -> None:
    target.write_fetched(source.read(target.end_offset, size_bytes_max=1 << 20), now_ms=NOW_MS)


def test_a_fetched_log_equals_the_original() -> None:
    leader, follower = open_log(new_disk()), open_log(new_disk())
    write(leader, NoOpRecord(), NoOpRecord(), epoch=1)
    write(leader, NoOpRecord(), epoch=4)
    copied(leader, follower)
    assert all_batches(follower) == all_batches(leader)
    assert follower.outline().epochs == [EpochStart(1, 0), EpochStart(4, 2)]


def test_a_log_that_is_cut_inside_a_batch_loses_all_of_it() -> None:
    log = open_log(new_disk())
    write(log, NoOpRecord(), epoch=1)
    write(log, NoOpRecord(), NoOpRecord(), epoch=2)
    assert log.truncate(2) == 1
    assert log.outline().epochs == [EpochStart(1, 0)]


def test_the_epochs_are_read_from_the_batches_when_their_checkpoint_is_gone() -> None:
    disk = new_disk()
    log = open_log(disk)
    write(log, NoOpRecord(), epoch=1)
    write(log, NoOpRecord(), epoch=3)
    log.close()
    disk.remove(f"{log.directory}/leader-epoch-checkpoint")
    assert open_log(disk).outline().epochs == [EpochStart(1, 0), EpochStart(3, 1)]


def test_voters_are_found_in_the_log_and_in_snapshots() -> None:
    voters = configured_voters("CONTROLLER", [(ME, "localhost", 9093)])
    controls = [(ControlType.KRAFT_VERSION, kraft_version_value(1)), (ControlType.KRAFT_VOTERS, voters_value(voters))]
    log = open_log(new_disk())
    log.write_control(controls, epoch=1, now_ms=NOW_MS)
    assert log.control_changes() == [KRaftVersionAt(0, 1), VotersAt(1, voters)]
    log.write_snapshot(SnapshotId(2, 1), [NoOpRecord()], last_timestamp=NOW_MS, now_ms=NOW_MS, controls=controls)
    assert log.control_changes() == [KRaftVersionAt(1, 1), VotersAt(1, voters)]
    assert log.read_latest_snapshot() == (SnapshotId(2, 1), [NoOpRecord()], NOW_MS)


def fetched_snapshot(source: MetadataLog, target: MetadataLog, snapshot: OffsetAndEpoch) -> None:
    position = 0
    while True:
        found = source.read_snapshot_piece(snapshot, position, size_bytes_max=50)
        assert found is not None
        size, piece = found
        target.write_snapshot_piece(snapshot, position, piece)
        position += len(piece)
        if position >= size:
            return


def leader_with_snapshot() -> tuple[MetadataLog, OffsetAndEpoch]:
    leader = open_log(new_disk())
    for _ in range(4):
        write(leader, NoOpRecord(), epoch=2)
    leader.write_snapshot(SnapshotId(4, 2), [NoOpRecord()] * 3, last_timestamp=NOW_MS, now_ms=NOW_MS)
    return leader, OffsetAndEpoch(4, 2)


def test_a_snapshot_from_the_leader_takes_the_place_of_log_and_older_snapshots() -> None:
    leader, snapshot = leader_with_snapshot()
    disk = new_disk()
    follower = open_log(disk)
    write(follower, NoOpRecord(), epoch=1)
    follower.write_snapshot(SnapshotId(1, 1), [], last_timestamp=NOW_MS, now_ms=NOW_MS)
    fetched_snapshot(leader, follower, snapshot)
    assert follower.install_snapshot(snapshot) == []
    assert (follower.start_offset, follower.end_offset, follower.snapshots()) == (4, 4, [SnapshotId(4, 2)])
    assert follower.outline().last_epoch == 2
    follower.close()
    assert open_log(disk).end_offset == 4


def test_a_damaged_snapshot_is_refused_and_leaves_everything_as_it_was() -> None:
    leader, snapshot = leader_with_snapshot()
    follower = open_log(new_disk())
    write(follower, NoOpRecord(), epoch=1)
    fetched_snapshot(leader, follower, snapshot)
    follower.write_snapshot_piece(snapshot, 100, b"!")
    assert follower.install_snapshot(snapshot) is None
    assert (follower.end_offset, follower.snapshots()) == (1, [])


def test_a_power_cut_while_a_snapshot_is_put_in_place_leaves_the_old_log_or_the_new_one() -> None:
    """Also where the old log is longer than the snapshot, but of an epoch that the quorum has left
    behind."""
    leader, snapshot = leader_with_snapshot()
    outcomes = set()
    for operations in range(1, 60):
        disk = new_disk()
        follower = open_log(disk)
        disk.sync_directory("/data")
        disk.sync_directory("/")
        for _ in range(9):
            write(follower, NoOpRecord(), epoch=1)
        flush(follower)
        disk.sync_directory(follower.directory)
        fetched_snapshot(leader, follower, snapshot)
        disk.crash_after(operations)
        try:
            follower.install_snapshot(snapshot)
        except PowerCut:
            found = open_log(disk.crash(), clean=False)
            outcomes.add((found.end_offset, found.outline().last_epoch))
            continue
        break
    assert operations > 5
    assert outcomes == {(9, 1), (4, 2)}


def test_a_piece_of_a_missing_snapshot_is_none() -> None:
    leader, _ = leader_with_snapshot()
    assert leader.read_snapshot_piece(OffsetAndEpoch(9, 9), 0, size_bytes_max=10) is None
