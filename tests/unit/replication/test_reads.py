"""Reads of a partition: the checks before them, their limits, and their answers."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.replication.partition import Partition
from barnabas.replication.reads import READ_COMMITTED, READ_UNCOMMITTED, PartitionRead, check_leader, read_partition
from barnabas.storage.leader_epochs import EpochStart
from tests.unit.replication.made import ME, World, led_by
from tests.unit.storage.logs import BATCH_BYTES, data

NOW_MS = 1_700_000_000_000


def filled(batches: int = 3, *, epoch: int = 0) -> Partition:
    partition = World().partition(image=led_by(ME, epoch=epoch))
    for _ in range(batches):
        partition.append(memoryview(data()), 1, NOW_MS)
    return partition


def read(partition: Partition | None, offset: int = 0, **options: int) -> PartitionRead:
    given = {"size_bytes_max": 10**6, "isolation": READ_UNCOMMITTED, "at_least_one": 1, **options}
    return read_partition(partition, offset=offset, **given)  # type: ignore[arg-type]


# -- checks -----------------------------------------------------------------------------------


def test_a_missing_partition_is_unknown() -> None:
    assert check_leader(None, -1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert read(None).error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("believed", "error"),
    [(-1, ErrorCode.NONE), (5, ErrorCode.NONE), (4, ErrorCode.FENCED_LEADER_EPOCH), (6, ErrorCode.UNKNOWN_LEADER_EPOCH)],
)
def test_the_leader_answers_requests_of_its_epoch(believed: int, error: ErrorCode) -> None:
    assert check_leader(filled(epoch=5), believed) == error


def test_the_epoch_is_checked_before_the_leadership() -> None:
    """A client with a newer epoch gets UNKNOWN_LEADER_EPOCH and is not sent elsewhere."""
    partition = World().partition(image=led_by(2, epoch=5, replicas=(ME, 2)))
    assert check_leader(partition, -1) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert check_leader(partition, 6) == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert check_leader(partition, 4) == ErrorCode.FENCED_LEADER_EPOCH


def test_a_failed_directory_is_checked_before_everything_else() -> None:
    world = World()
    partition = world.partition()
    world.replicas.disk_failed(partition.directory, OSError("gone"))
    assert check_leader(partition, 99) == ErrorCode.KAFKA_STORAGE_ERROR


# -- records and limits -----------------------------------------------------------------------


def test_a_read_returns_batches_from_the_offset_to_the_end() -> None:
    found = read(filled(), 1)
    assert (found.error, found.high_watermark, found.last_stable_offset, found.log_start_offset) == (0, 3, 3, 0)
    assert (found.size_bytes, found.aborted) == (2 * BATCH_BYTES, None)


def test_a_read_at_the_end_returns_nothing_and_no_error() -> None:
    found = read(filled(), 3)
    assert (found.error, found.region, found.size_bytes) == (0, None, 0)


@pytest.mark.parametrize("offset", [4, -1, 2**62, -(2**63)])
def test_a_read_outside_of_the_log_is_out_of_range(offset: int) -> None:
    assert read(filled(), offset).error == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_read_below_the_log_start_is_out_of_range() -> None:
    partition = filled()
    partition.delete_records(2)
    assert read(partition, 1).error == ErrorCode.OFFSET_OUT_OF_RANGE
    assert read(partition, 2).log_start_offset == 2


def test_a_read_stops_at_the_high_watermark() -> None:
    partition = World().partition(image=led_by(ME, replicas=(ME, 2)))
    for _ in range(3):
        partition.append(memoryview(data()), 1, NOW_MS)
    partition.progress.high_watermark = 2
    assert read(partition).size_bytes == 2 * BATCH_BYTES
    assert read(partition, 2).region is None


@pytest.mark.parametrize(("limit", "at_least_one", "size"), [(300, 0, 300), (99, 1, 100), (0, 1, 100), (0, 0, 0)])
def test_a_read_returns_up_to_its_limit_or_one_whole_batch(limit: int, at_least_one: int, size: int) -> None:
    assert read(filled(), size_bytes_max=limit, at_least_one=at_least_one).size_bytes == size


def test_a_read_of_several_batches_stays_within_its_limit() -> None:
    """The last batch may be cut off, as in Kafka: readers drop incomplete batches."""
    assert 2 * BATCH_BYTES <= read(filled(), size_bytes_max=250).size_bytes <= 250


def test_committed_reads_name_the_aborted_transactions() -> None:
    partition = filled()
    assert read(partition, isolation=READ_COMMITTED).aborted == []
    assert read(partition, 3, isolation=READ_COMMITTED).aborted == []
    assert read(partition, isolation=77).aborted is None


# -- divergence -------------------------------------------------------------------------------


def led_again() -> Partition:
    """Three batches of epoch 2, two of epoch 5."""
    partition = filled(3, epoch=2)
    partition.follow_metadata(led_by(ME, epoch=5))
    for _ in range(2):
        partition.append(memoryview(data()), 1, NOW_MS)
    return partition


@pytest.mark.parametrize(("offset", "epoch"), [(1, 2), (3, 2), (4, 5), (5, 5)])
def test_a_reader_that_shares_our_history_reads_on(offset: int, epoch: int) -> None:
    found = read(led_again(), offset, last_fetched_epoch=epoch)
    assert (found.error, found.diverging) == (0, None)


@pytest.mark.parametrize(("offset", "epoch", "end"), [(4, 2, (2, 3)), (4, 3, (2, 3)), (9, 5, (5, 5)), (3, 4, (2, 3))])
def test_a_diverged_reader_is_answered_with_the_diverging_epoch(offset: int, epoch: int, end: tuple[int, int]) -> None:
    found = read(led_again(), offset, last_fetched_epoch=epoch)
    assert (found.error, found.diverging, found.region) == (0, EpochStart(*end), None)


def test_a_reader_with_only_older_epochs_shares_nothing_with_us() -> None:
    found = read(led_again(), 1, last_fetched_epoch=1)
    assert (found.error, found.diverging) == (0, EpochStart(1, 0))
