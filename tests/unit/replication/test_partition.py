"""A replica in its roles: the records a leader takes and shows, and the end of its leadership."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.records.validation import Refused
from barnabas.replication.partition import Partition
from barnabas.storage.log import Appended
from barnabas.storage.log_settings import LogSettings
from barnabas.telemetry.catalogue import TOPIC_BATCHES_REFUSED, TOPIC_BYTES_IN, TOPIC_RECORDS_IN
from tests.unit.replication.made import ME, World, led_by
from tests.unit.storage.logs import data, sent

NOW_MS = 1_700_000_000_000


def offer(partition: Partition, batch: bytearray | None = None, *, acks: int = 1) -> Appended | Refused:
    return partition.append(memoryview(data() if batch is None else batch), acks, NOW_MS)


def refusal(outcome: Appended | Refused) -> ErrorCode:
    assert isinstance(outcome, Refused)
    return outcome.code


def test_a_leader_alone_in_the_isr_shows_its_own_append_at_once() -> None:
    partition = World().partition()
    assert offer(partition, data(3)) == Appended(0, 2, -1)
    assert (partition.high_watermark, partition.last_stable_offset, partition.log.log_end_offset) == (3, 3, 3)


def test_a_leader_with_followers_does_not_show_records_that_only_it_has() -> None:
    partition = World().partition(image=led_by(ME, replicas=(ME, 2)))
    offer(partition)
    assert (partition.high_watermark, partition.log.log_end_offset) == (0, 1)


def test_a_leader_alone_in_the_isr_shows_every_record() -> None:
    partition = World().partition(image=led_by(ME, replicas=(ME, 2)))
    offer(partition)
    partition.follow_metadata(led_by(ME, replicas=(ME, 2), isr=(ME,)))
    assert partition.high_watermark == 1


def test_a_follower_refuses_records_of_producers() -> None:
    partition = World().partition(image=led_by(2, replicas=(ME, 2)))
    assert refusal(offer(partition)) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.log.log_end_offset == 0


def test_a_new_leader_writes_its_epoch_down_before_it_accepts_records() -> None:
    partition = World().partition(image=led_by(2, replicas=(ME, 2), epoch=4))
    partition.follow_metadata(led_by(ME, replicas=(ME, 2), epoch=5))
    assert partition.log.leader_epochs.latest == 5
    offer(partition)
    partition.follow_metadata(led_by(ME, replicas=(ME, 2), epoch=6))
    assert partition.log.leader_epochs.end_offset_for(5, 1) == (5, 1)
    assert partition.log.leader_epochs.latest == 6


def test_metadata_that_changes_nothing_about_the_leader_writes_nothing() -> None:
    world = World()
    partition = world.partition(image=led_by(ME, replicas=(ME, 2), epoch=5))
    before = partition.log.leader_epochs.text()
    partition.follow_metadata(led_by(ME, replicas=(ME, 2), epoch=5, isr=(ME,)))
    assert partition.log.leader_epochs.text() == before
    assert partition.isr == (ME,)


def test_an_isr_below_the_minimum_refuses_only_acks_all() -> None:
    partition = World().partition(image=led_by(ME, replicas=(ME, 2), isr=(ME,)), settings=LogSettings(min_insync_replicas=2))
    assert refusal(offer(partition, acks=-1)) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert isinstance(offer(partition, acks=1), Appended)


def test_min_insync_replicas_is_at_most_the_number_of_replicas() -> None:
    partition = World().partition(settings=LogSettings(min_insync_replicas=2))
    assert isinstance(offer(partition, acks=-1), Appended)
    assert partition.high_watermark == 1


def test_transactions_without_their_coordinator_are_refused() -> None:
    partition = World().partition()
    assert refusal(offer(partition, sent(5, 0, transactional=True))) == ErrorCode.INVALID_TXN_STATE
    assert partition.log.log_end_offset == 0


def test_a_retry_is_answered_like_the_first_time_and_counted_once() -> None:
    world = World()
    partition = world.partition()
    first = offer(partition, sent(5, 0))
    again = offer(partition, sent(5, 0))
    assert isinstance(first, Appended)
    assert again == first._replace(duplicate=True)
    assert world.metrics.counter(TOPIC_RECORDS_IN, "t").value == 1


def test_a_partition_counts_records_bytes_and_refusals() -> None:
    world = World()
    partition = world.partition()
    offer(partition, data(3))
    offer(partition, bytearray(10))
    read = {metric.name: world.metrics.counter(metric, "t").value for metric in (TOPIC_BYTES_IN, TOPIC_RECORDS_IN, TOPIC_BATCHES_REFUSED)}
    assert read == {
        "barnabas_topic_bytes_in_total": len(data(3)),
        "barnabas_topic_records_in_total": 3,
        "barnabas_topic_batches_refused_total": 1,
    }


def test_a_partition_in_a_failed_directory_refuses_records() -> None:
    world = World()
    partition = world.partition()
    world.replicas.disk_failed(partition.directory, OSError("the end"))
    assert refusal(offer(partition)) == ErrorCode.KAFKA_STORAGE_ERROR
    assert not partition.online


def test_metadata_does_not_revive_a_replica_in_a_failed_directory() -> None:
    """The controller may not know of the failure yet, and may even name this node leader again;
    nothing is written to a failed disk."""
    world = World()
    partition = world.partition()
    world.replicas.disk_failed(partition.directory, OSError("the end"))
    partition.follow_metadata(led_by(ME, epoch=1))
    assert not partition.leads
    assert refusal(offer(partition)) == ErrorCode.KAFKA_STORAGE_ERROR
    assert partition.log.leader_epochs.latest == 0


@pytest.mark.parametrize(("asked", "start"), [(0, 0), (2, 2), (3, 3), (-1, 3)])
def test_records_are_deleted_up_to_the_high_watermark(asked: int, start: int) -> None:
    partition = World().partition()
    offer(partition, data(3))
    assert partition.delete_records(asked) == start
    assert partition.log.log_start_offset == start


@pytest.mark.parametrize("asked", [4, -2, 2**62])
def test_records_that_are_not_there_cannot_be_deleted(asked: int) -> None:
    partition = World().partition()
    offer(partition, data(3))
    with pytest.raises(ValueError, match="not between 0 and the high watermark 3"):
        partition.delete_records(asked)


def test_the_log_start_never_moves_back() -> None:
    partition = World().partition()
    offer(partition, data(3))
    partition.delete_records(2)
    assert partition.delete_records(1) == 2
