"""The fetches of a follower: its requests, its use of the answers, and the answers it refuses."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.records.batch_header import assign_offset, seal
from barnabas.records.control_batch import ControlType
from barnabas.replication.follower_fetch import FetchLimits, FollowerFetch, TieredStart
from barnabas.simulation.disk import Operation
from barnabas.storage.checkpoints import RECOVERY_POINTS, read_offsets
from barnabas.storage.leader_epochs import EpochStart
from barnabas.wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tests.unit.records.made import with_header
from tests.unit.replication.made import ME, NOW_MS, TOPIC_ID, World, led_by
from tests.unit.storage.logs import all_batches, data, marker, sent

LEADER = 2
BACKOFF_MS = 1000


def batches(*epochs: int, start: int = 0) -> bytes:
    """One record for each of these leader epochs."""
    return b"".join(stamped(data(), offset, epoch) for offset, epoch in enumerate(epochs, start))


def stamped(batch: bytearray, offset: int, epoch: int) -> bytes:
    assign_offset(batch, offset, epoch)
    return bytes(batch)


class Follower:
    """Node 1 follows node 2."""

    def __init__(self, *epochs: int, leader_epoch: int = 3, world: World | None = None) -> None:
        """The log holds one record of each of ``epochs``."""
        self.world = world or World()
        self.events: list[str] = []
        self.throttled = False
        self.skips_tiered = False
        self.tiered_starts: list[tuple[TieredStart, Callable[[bool], None]]] = []
        self.partition = self.world.partition(image=led_by(LEADER, replicas=(ME, LEADER), epoch=leader_epoch))
        if epochs:
            self.partition.append_as_follower(batches(*epochs), leader_epoch=leader_epoch, now_ms=NOW_MS)
        self.core = FollowerFetch(
            ME,
            FetchLimits(backoff_ms=BACKOFF_MS),
            replica_epoch=lambda: 77,
            on_disk_failure=lambda partition, error: self.world.replicas.disk_failed(partition.directory, error),
            on_event=lambda what, _, __: self.events.append(what),
            throttled=lambda _: self.throttled,
            on_tiered=lambda _, start, built: self.tiered_starts.append((start, built)),
            skips_tiered=lambda: self.skips_tiered,
        )
        self.core.follow(self.partition)

    def asks(self, now_ms: int = 0) -> Any:
        return self.core.next_request(now_ms)

    def asked(self, now_ms: int = 0) -> tuple[int, int, int]:
        """Epoch, offset and last epoch of the one partition in a full fetch."""
        request = self.core.next_request(now_ms)
        assert isinstance(request, FetchRequest)
        (asked,) = request.topics[0].partitions
        return asked.current_leader_epoch, asked.fetch_offset, asked.last_fetched_epoch

    def answered(self, now_ms: int = 0, *, session_id: int = 0, **told: Any) -> None:
        """The leader's answer to a fetch."""
        facts: dict[str, Any] = {"error_code": 0, "high_watermark": 0, "log_start_offset": 0, "aborted_transactions": None, "records": b""}
        data = PartitionData(partition_index=0, **(facts | told))
        topic = FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[data])
        self.core.answered(FetchResponse(throttle_time_ms=0, session_id=session_id, responses=[topic]), now_ms, wall_ms=NOW_MS)

    def located(self, offset: int, *, error: ErrorCode = ErrorCode.NONE, epoch: int = -1) -> None:
        answer = ListOffsetsPartitionResponse(partition_index=0, error_code=error, offset=offset, leader_epoch=epoch)
        topic = ListOffsetsTopicResponse(name="t", partitions=[answer])
        self.core.answered(ListOffsetsResponse(throttle_time_ms=0, topics=[topic]), 0, wall_ms=NOW_MS)

    @property
    def end(self) -> int:
        return self.partition.log.log_end_offset


def test_a_fetch_carries_offset_epoch_and_replica_id() -> None:
    follower = Follower(1, 1, 2)
    request = follower.asks()
    assert (request.replica_state.replica_id, request.replica_state.replica_epoch) == (ME, 77)
    asked = request.topics[0].partitions[0]
    assert (asked.current_leader_epoch, asked.fetch_offset, asked.last_fetched_epoch) == (3, 3, 2)
    assert request.topics[0].topic_id == TOPIC_ID


def test_an_empty_log_has_no_last_epoch() -> None:
    assert Follower().asked() == (3, 0, -1)


def test_one_request_is_under_way_at_a_time() -> None:
    follower = Follower()
    assert follower.asks() is not None
    assert follower.asks() is None


def test_fetched_batches_are_appended_unchanged_with_their_epochs() -> None:
    follower = Follower()
    follower.asks()
    follower.answered(records=batches(0, 0, 3), high_watermark=2)
    assert b"".join(all_batches(follower.partition.log)) == batches(0, 0, 3)
    assert follower.partition.log.leader_epochs.entries == [EpochStart(0, 0), EpochStart(3, 2)]
    assert follower.partition.high_watermark == 2
    assert follower.asked() == (3, 3, 3)


def test_the_high_watermark_is_the_leaders_as_far_as_the_log_reaches_and_never_goes_back() -> None:
    follower = Follower(3, 3)
    for told, known in ((9, 2), (1, 2)):
        follower.asks()
        follower.answered(high_watermark=told)
        assert follower.partition.high_watermark == known


def test_the_log_start_follows_the_leaders() -> None:
    follower = Follower(3, 3, 3)
    follower.asks()
    follower.answered(high_watermark=3, log_start_offset=2)
    assert follower.partition.log.log_start_offset == 2


def test_a_follower_that_becomes_leader_knows_the_producers() -> None:
    follower = Follower()
    follower.asks()
    follower.answered(records=stamped(sent(5, 0), 0, 3), high_watermark=1)
    follower.partition.follow_metadata(led_by(ME, replicas=(ME, LEADER), epoch=4))
    again = follower.partition.append(memoryview(sent(5, 0)), 1, NOW_MS)
    assert getattr(again, "duplicate", False)


def test_readers_of_committed_data_wait_at_a_transaction_whose_end_is_not_committed() -> None:
    follower = Follower()
    follower.asks()
    begun = stamped(sent(5, 0, transactional=True), 0, 3)
    ended = stamped(marker(5, ControlType.COMMIT), 1, 3)
    follower.answered(records=begun + ended, high_watermark=1)
    assert follower.partition.last_stable_offset == 0
    follower.partition.follow_metadata(led_by(ME, replicas=(ME, LEADER), isr=(ME,), epoch=4))
    assert follower.partition.last_stable_offset == 2


# -- truncation -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("log", "diverging", "left"),
    [
        ((1, 1, 2, 2), (2, 3), 3),  # The same epoch ended earlier at the leader.
        # The follower does not know this epoch: it goes back to the end of the one before.
        ((1, 1, 3, 3), (2, 4), 2),
        ((1, 1, 1, 1), (1, 2), 2),
        ((2, 2), (1, 1), 0),  # The follower has no epoch that old, so the logs share nothing.
    ],
)
def test_a_log_is_truncated_where_the_epochs_diverge(log: tuple[int, ...], diverging: tuple[int, int], left: int) -> None:
    follower = Follower(*log, leader_epoch=4)
    follower.asks()
    follower.answered(diverging_epoch=EpochEndOffset(epoch=diverging[0], end_offset=diverging[1]), high_watermark=99)
    assert follower.end == left
    assert all(entry.start_offset < left for entry in follower.partition.log.leader_epochs.entries)
    # Nothing else in that answer counts.
    assert follower.partition.high_watermark == 0
    assert follower.asked()[1] == left


def test_an_epoch_in_which_the_replica_led_and_wrote_nothing_is_forgotten() -> None:
    follower = Follower(1, leader_epoch=2)
    follower.partition.follow_metadata(led_by(ME, replicas=(ME, LEADER), epoch=3))
    follower.partition.follow_metadata(led_by(LEADER, replicas=(ME, LEADER), epoch=4))
    follower.core.follow(follower.partition)
    assert follower.asked() == (4, 1, 3)
    follower.answered(diverging_epoch=EpochEndOffset(epoch=2, end_offset=2))
    assert follower.asked() == (4, 1, 1)


def test_the_lower_recovery_point_is_on_the_disk_before_anything_is_appended() -> None:
    follower = Follower(1, 1, 1)
    follower.partition.log.flush()
    follower.partition.directory.write_recovery_points()
    follower.asks()
    follower.answered(diverging_epoch=EpochEndOffset(epoch=1, end_offset=1))
    disk = follower.world.disk
    assert read_offsets(disk, f"/d0/{RECOVERY_POINTS}") == {TopicPartition("t", 0): 1}


def test_a_checkpoint_taken_before_the_truncation_and_written_after_it_is_ignored() -> None:
    follower = Follower(1, 1, 1)
    follower.partition.log.flush()
    stale = follower.partition.directory.recovery_point_checkpoint()
    assert stale is not None
    follower.partition.truncate_to(1)
    stale()
    assert read_offsets(follower.world.disk, f"/d0/{RECOVERY_POINTS}") == {TopicPartition("t", 0): 1}


# -- out of range -----------------------------------------------------------------------------


def out_of_range(*epochs: int) -> tuple[Follower, ListOffsetsRequest]:
    follower = Follower(*epochs)
    follower.asks()
    follower.answered(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    request = follower.asks()
    assert isinstance(request, ListOffsetsRequest)
    assert request.replica_id == ME
    assert request.topics[0].partitions[0].timestamp == -1
    return follower, request


def test_a_log_that_is_longer_than_the_leaders_is_truncated() -> None:
    follower, _ = out_of_range(1, 1, 1)
    follower.located(2)
    assert follower.end == 2
    assert follower.asked()[1] == 2


def test_a_follower_below_the_log_start_of_the_leader_drops_its_log() -> None:
    follower, _ = out_of_range(1, 1, 1)
    follower.located(90)
    request = follower.asks()
    assert request.topics[0].partitions[0].timestamp == -2
    follower.located(50)
    log = follower.partition.log
    assert (log.log_start_offset, log.log_end_offset, follower.partition.high_watermark) == (50, 50, 50)
    assert follower.asked() == (3, 50, -1)


def test_a_follower_that_is_in_range_after_all_backs_off() -> None:
    follower, _ = out_of_range(1, 1, 1)
    follower.located(90)
    follower.asks()
    follower.located(0)
    assert follower.end == 3
    assert follower.asks() is None
    assert isinstance(follower.asks(BACKOFF_MS), FetchRequest)


def test_a_log_begins_with_the_batch_that_holds_the_leaders_start() -> None:
    """Records were deleted up to the middle of a batch."""
    follower, _ = out_of_range()
    follower.located(90)
    follower.asks()
    follower.located(2)
    follower.asks()
    follower.answered(records=stamped(data(4), 0, 3), log_start_offset=2, high_watermark=4)
    assert (follower.partition.log.log_start_offset, follower.end) == (2, 4)


# -- refused answers --------------------------------------------------------------------------


def damaged() -> bytes:
    batch = bytearray(batches(3))
    batch[-1] ^= 1
    return bytes(batch)


@pytest.mark.parametrize(
    ("records", "end"),
    [
        (damaged(), 1),
        (batches(3, start=1) + damaged(), 2),  # The batch that came whole stays.
        (batches(3, start=0), 1),  # The log has this batch already.
        (batches(0, start=1), 1),  # The batch has an epoch before the last one.
        (b"\xff" * 100, 1),
    ],
)
def test_corrupt_batches_are_not_appended_and_are_fetched_again_later(records: bytes, end: int) -> None:
    follower = Follower(2)
    follower.asks()
    follower.answered(records=records, high_watermark=9)
    assert follower.end == end
    assert follower.events == ["a leader sent a damaged batch"]
    assert follower.asks(0) is None
    assert follower.asked(BACKOFF_MS)[1] == end


def test_a_batch_that_is_cut_off_is_left_for_the_next_fetch() -> None:
    follower = Follower()
    follower.asks()
    follower.answered(records=batches(3, 3)[:-5], high_watermark=9)
    assert (follower.end, follower.events) == (1, [])


def test_a_batch_of_a_later_epoch_than_the_requests_is_left_out() -> None:
    follower = Follower()
    follower.asks()
    follower.answered(records=batches(3, 4))
    assert follower.end == 1


def test_a_follower_keeps_the_gaps_that_compaction_left() -> None:
    follower = Follower()
    follower.asks()
    follower.answered(records=batches(3) + batches(3, start=100))
    assert follower.end == 101


def test_an_answer_to_an_outdated_request_is_ignored() -> None:
    follower = Follower()
    follower.asks()
    follower.partition.follow_metadata(led_by(LEADER, replicas=(ME, LEADER), epoch=4))
    follower.core.follow(follower.partition)
    follower.answered(records=batches(3))
    assert follower.end == 0


def test_a_partition_that_is_no_longer_followed_ignores_answers() -> None:
    follower = Follower()
    follower.asks()
    follower.core.forget(follower.partition)
    follower.answered(records=batches(3))
    assert follower.end == 0
    assert follower.asks(10**6) is None


# -- waiting ----------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.UNKNOWN_TOPIC_ID, 9999])
def test_a_follower_backs_off_after_an_error_and_longer_after_the_next(code: int) -> None:
    follower = Follower()
    waits, now_ms = [], 0
    for _ in range(8):
        assert follower.asks(now_ms) is not None
        follower.answered(now_ms, error_code=code)
        resumes_ms = follower.core.resumes_ms(now_ms)
        assert resumes_ms is not None
        assert follower.asks(resumes_ms - 1) is None
        waits.append(resumes_ms - now_ms)
        now_ms = resumes_ms
    assert waits == sorted(waits)
    assert waits[0] < BACKOFF_MS / 10
    assert waits[-1] == BACKOFF_MS


def test_a_follower_waits_for_the_metadata_of_a_newer_leader_epoch() -> None:
    follower = Follower()
    follower.asks()
    follower.answered(error_code=ErrorCode.FENCED_LEADER_EPOCH)
    assert follower.asks(10**6) is None
    follower.partition.follow_metadata(led_by(LEADER, replicas=(ME, LEADER), epoch=4))
    follower.core.follow(follower.partition)
    assert follower.asked() == (4, 0, -1)


def test_a_failed_disk_is_given_up_and_nothing_is_fetched_for_it() -> None:
    follower = Follower()
    follower.asks()
    follower.world.disk.fail_with(errno.EIO, [Operation.WRITE])
    follower.answered(records=batches(3))
    assert not follower.partition.online
    assert follower.asks(10**6) is None


def test_a_full_disk_is_tried_again() -> None:
    follower = Follower()
    follower.asks()
    follower.world.disk.fail_with(errno.ENOSPC, [Operation.WRITE])
    follower.answered(records=batches(3))
    assert follower.partition.online
    assert follower.asks() is None, "it backs off"
    follower.world.disk.stop_failing()
    assert follower.asks(10**6) is not None
    follower.answered(records=batches(3))
    assert follower.partition.log.log_end_offset > 0


def test_a_throttled_follower_sends_no_fetch() -> None:
    follower = Follower()
    follower.throttled = True
    assert follower.asks() is None
    assert follower.core.resumes_ms(0) is not None
    follower.throttled = False
    assert follower.asks() is not None


# -- sessions ---------------------------------------------------------------------------------


def test_a_session_request_names_only_changed_partitions() -> None:
    follower = Follower()
    other = follower.world.partition(index=1, image=led_by(LEADER, replicas=(ME, LEADER), epoch=3))
    follower.core.follow(other)
    request = follower.asks()
    assert (request.session_id, request.session_epoch, len(request.topics[0].partitions)) == (0, 0, 2)
    follower.answered(session_id=5, records=batches(3))
    request = follower.asks()
    assert (request.session_id, request.session_epoch) == (5, 1)
    assert [each.partition for each in request.topics[0].partitions] == [0]
    follower.answered(session_id=5)
    follower.core.forget(other)
    request = follower.asks()
    assert (request.session_epoch, request.topics) == (2, [])
    assert [(each.topic_id, each.partitions) for each in request.forgotten_topics_data] == [(TOPIC_ID, [1])]


@pytest.mark.parametrize("lost", [ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH])
def test_a_session_that_the_leader_forgot_starts_again_at_once(lost: ErrorCode) -> None:
    follower = Follower()
    follower.asks()
    follower.answered(session_id=5)
    follower.asks()
    follower.core.answered(FetchResponse(throttle_time_ms=0, error_code=lost, responses=[]), 0, wall_ms=NOW_MS)
    request = follower.asks()
    assert (request.session_epoch, len(request.topics)) == (0, 1)


def test_the_session_starts_again_after_a_backoff_when_an_answer_is_lost() -> None:
    follower = Follower()
    follower.asks()
    follower.answered(session_id=5)
    follower.asks()
    follower.core.answered(ErrorCode.NETWORK_EXCEPTION, 0, wall_ms=NOW_MS)
    assert follower.asks() is None
    request = follower.asks(BACKOFF_MS)
    assert (request.session_id, request.session_epoch, len(request.topics)) == (5, 0, 1)


def test_a_divergence_that_truncates_nothing_is_not_asked_about_again_at_once() -> None:
    follower = Follower(1, 3)
    follower.asks()
    follower.answered(diverging_epoch=EpochEndOffset(epoch=3, end_offset=2**63 - 1))
    assert follower.end == 2
    assert follower.asks() is None
    assert follower.asks(BACKOFF_MS) is not None


def test_a_batch_that_never_arrives_whole_is_not_asked_for_again_at_once() -> None:
    follower = Follower()
    follower.asks()
    follower.answered(records=batches(3)[:-1])
    assert follower.asks() is None


def test_a_partition_left_out_of_the_answer_about_offsets_pauses() -> None:
    follower = Follower(3)
    follower.asks()
    follower.answered(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    follower.asks()
    follower.core.answered(ListOffsetsResponse(throttle_time_ms=0, topics=[]), 0, wall_ms=NOW_MS)
    assert follower.asks() is None


def test_an_empty_marker_and_a_batch_without_a_next_offset_are_refused() -> None:
    for wrong, offset in ((with_header(data(), attributes=0x30, producer_id=7), 0), (data(), 2**63 - 1)):
        seal(wrong)
        follower = Follower()
        follower.asks()
        follower.answered(records=stamped(wrong, offset, 3))
        assert (follower.end, follower.events) == (0, ["a leader sent a damaged batch"])


# -- a leader with tiered storage -------------------------------------------------------------


def moved(follower: Follower, *, leader_start: int = 2) -> None:
    follower.asks()
    follower.answered(error_code=ErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE, log_start_offset=leader_start)


def test_a_follower_asks_for_the_local_start_when_its_offset_is_in_remote_storage() -> None:
    follower = Follower()
    moved(follower)
    request = follower.asks()
    assert isinstance(request, ListOffsetsRequest)
    assert request.topics[0].partitions[0].timestamp == -4


def test_a_follower_of_a_tiered_log_starts_with_the_state_of_remote_storage() -> None:
    follower = Follower()
    moved(follower)
    follower.asks()
    follower.located(9, epoch=3)
    start, built = follower.tiered_starts.pop()
    assert (start.offset, start.leader_epoch, start.log_start_offset) == (9, 3, 2)
    assert follower.asks() is None, "until it is built, there is nothing to ask"
    follower.partition.restart_tiered(9, log_start_offset=2, leader_epochs=[EpochStart(1, 0), EpochStart(2, 5)], producers=[])
    built(True)
    assert follower.asked() == (3, 9, 2)
    log = follower.partition.log
    assert (log.log_start_offset, log.local_start_offset, log.log_end_offset) == (2, 9, 9)
    assert log.leader_epochs.entries == [EpochStart(1, 0), EpochStart(2, 5)]


def test_a_new_replica_may_begin_after_the_last_remote_offset() -> None:
    follower = Follower()
    follower.skips_tiered = True
    moved(follower)
    assert follower.asks().topics[0].partitions[0].timestamp == -6
    follower.located(-1)
    assert follower.asks().topics[0].partitions[0].timestamp == -4, "its leader does not know yet what is remote"
    follower.located(9, epoch=3)
    assert follower.tiered_starts.pop()[0].offset == 9


def test_a_replica_that_was_interrupted_while_it_began_there_begins_again() -> None:
    """Its log is empty, begins at 2 and continues at 9, and it knows no earlier leader."""
    follower = Follower()
    log = follower.partition.log
    log.settings = replace(log.settings, remote_enabled=True)
    follower.partition.restart_at(9)
    log.log_start_offset = 2
    follower.core.forget(follower.partition)
    follower.core.follow(follower.partition)
    assert follower.asks().topics[0].partitions[0].timestamp == -4
    follower.located(9, epoch=3)
    start, built = follower.tiered_starts.pop()
    assert (start.offset, start.log_start_offset) == (9, 2)
    follower.partition.restart_tiered(9, log_start_offset=2, leader_epochs=[EpochStart(1, 2)], producers=[])
    built(True)
    assert follower.asked() == (3, 9, 1)


def test_a_follower_retries_later_when_remote_storage_fails() -> None:
    follower = Follower()
    moved(follower)
    follower.asks()
    follower.located(9, epoch=3)
    _, built = follower.tiered_starts.pop()
    built(False)
    assert follower.asks(0) is None
    assert follower.asked(BACKOFF_MS) == (3, 0, -1)
