"""Committed offsets are read back, by this coordinator and by the next."""

from __future__ import annotations

import pytest

from barnabas.coordinators.group.settings import GroupSettings
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.wire.coordinator_records.legacy_offset_commit import LegacyOffsetCommitKey, LegacyOffsetCommitValue
from barnabas.wire.messages.offset_fetch import OffsetFetchResponseGroup
from tests.unit.coordinators.offsets.desk import NOW_MS, TOPIC_ID, Desk

OTHER_ID = Uuid(b"another topic id")


def test_an_offset_is_remembered_with_its_leader_epoch_and_metadata() -> None:
    desk = Desk()
    assert desk.commit(("t", 0, 42, "where I was")) == {("t", 0): ErrorCode.NONE}
    for _ in range(2):
        answer = desk.fetched({"t": [0]})
        assert isinstance(answer, OffsetFetchResponseGroup)
        (partition,) = answer.topics[0].partitions
        assert (partition.committed_offset, partition.committed_leader_epoch, partition.metadata) == (42, 2, "where I was")
        desk.restart()


def test_records_are_those_of_kafka_4_3() -> None:
    desk = Desk()
    desk.commit(("t", 0, 42, None))
    (record,) = desk.log.records()
    assert record.value is not None
    assert (record.version, record.value.topic_id, record.value.commit_timestamp, record.value.metadata) == (4, TOPIC_ID, NOW_MS, "")


def test_a_commit_with_an_expiry_is_written_in_the_version_that_has_one() -> None:
    desk = Desk()
    desk.commit(("t", 0, 42), version=4, retention_time_ms=60_000)
    (record,) = desk.log.records()
    assert record.value is not None
    assert (record.version, record.value.expire_timestamp, record.value.topic_id) == (1, NOW_MS + 60_000, ZERO_UUID)


def test_the_last_commit_counts_even_when_it_goes_back() -> None:
    desk = Desk()
    desk.commit(("t", 0, 42))
    desk.commit(("t", 0, 7))
    assert desk.fetch({"t": [0]}) == {("t", 0): 7}


def test_a_commit_without_a_group_makes_a_simple_group() -> None:
    desk = Desk()
    desk.commit(("t", 0, 1), group="mine", generation_id_or_member_epoch=-1)
    assert desk.groups == ["mine"]
    desk.restart()
    assert desk.groups == ["mine"]


@pytest.mark.parametrize(("version", "error"), [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)])
def test_a_commit_of_a_member_of_a_missing_group_has_an_error_of_its_protocol(version: int, error: ErrorCode) -> None:
    desk = Desk()
    assert desk.commit(("t", 0, 1), version=version, generation_id_or_member_epoch=3, member_id="m") is error
    assert desk.groups == []
    assert desk.log.records() == []


def test_the_group_decides_which_members_may_commit() -> None:
    desk = Desk()
    group = desk.group(on_commit=ErrorCode.FENCED_INSTANCE_ID)
    refused = desk.commit(("t", 0, 1), member_id="m", group_instance_id="i", generation_id_or_member_epoch=5)
    assert refused is ErrorCode.FENCED_INSTANCE_ID
    assert group.asked == [{"member_id": "m", "instance_id": "i", "epoch": 5, "transactional": False}]
    assert group.heartbeats == []
    assert desk.fetch({"t": [0]}) == {("t", 0): -1}


def test_a_commit_is_as_good_as_a_heartbeat() -> None:
    desk = Desk()
    group = desk.group()
    desk.commit(("t", 0, 1), member_id="m")
    assert group.heartbeats == [("m", NOW_MS)]


def test_too_much_metadata_refuses_its_partition_and_no_other() -> None:
    desk = Desk(GroupSettings(offset_metadata_bytes_max=10))
    assert desk.commit(("t", 0, 1, "x" * 11), ("t", 1, 2, "x" * 10)) == {("t", 0): ErrorCode.OFFSET_METADATA_TOO_LARGE, ("t", 1): 0}
    assert desk.fetch() == {("t", 1): 2}


@pytest.mark.parametrize(("metadata", "error"), [("é" * 10, 0), ("😀" * 5, 0), ("😀" * 6, ErrorCode.OFFSET_METADATA_TOO_LARGE)])
def test_metadata_is_counted_as_java_counts_characters(metadata: str, error: int) -> None:
    desk = Desk(GroupSettings(offset_metadata_bytes_max=10))
    assert desk.commit(("t", 0, 1, metadata)) == {("t", 0): error}


def test_a_commit_that_the_log_refuses_is_not_remembered() -> None:
    desk = Desk()
    desk.commit(("t", 0, 1))
    desk.log.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    assert desk.commit(("t", 0, 2)) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert desk.fetch() == {("t", 0): 1}


def test_offsets_of_the_oldest_records_are_read() -> None:
    desk = Desk()
    key = LegacyOffsetCommitKey(group="g", topic="t", partition=0)
    value = LegacyOffsetCommitValue(offset=5, metadata="old", commit_timestamp=NOW_MS)
    desk.machine.replay(CoordinatorRecord(key, value), None, 0)
    assert desk.fetch() == {("t", 0): 5}


# -- reads -----------------------------------------------------------------------------------------


def test_a_missing_offset_is_minus_one_even_in_a_missing_group() -> None:
    desk = Desk()
    assert desk.fetch({"t": [0, 3]}, group="nobody") == {("t", 0): -1, ("t", 3): -1}
    assert desk.fetch(None, group="nobody") == {}
    desk.commit(("t", 0, 1))
    assert desk.fetch({"t": [0, 1], "other": [0]}) == {("t", 0): 1, ("t", 1): -1, ("other", 0): -1}


def test_a_fetch_without_topics_answers_all_topics() -> None:
    desk = Desk()
    desk.commit(("t", 0, 1), ("u", 4, 2), ("t", 1, 3))
    desk.commit(("t", 0, 99), group="another")
    assert desk.fetch(None) == {("t", 0): 1, ("t", 1): 3, ("u", 4): 2}
    assert desk.fetch({}) == {}


def test_a_reader_that_names_itself_is_checked() -> None:
    desk = Desk()
    group = desk.group(on_fetch=ErrorCode.STALE_MEMBER_EPOCH)
    assert desk.fetch(None, member_id="m", member_epoch=3) is ErrorCode.STALE_MEMBER_EPOCH
    assert group.asked == [{"member_id": "m", "epoch": 3}]


def test_an_offset_of_a_topic_that_was_created_again_does_not_count() -> None:
    desk = Desk()
    desk.commit(("t", 0, 9))
    assert desk.fetch({"t": [0]}, topic_id=TOPIC_ID) == {("t", 0): 9}
    assert desk.fetch({"t": [0]}, topic_id=OTHER_ID) == {("t", 0): -1}


# -- deletions -------------------------------------------------------------------------------------


def test_deleted_offsets_are_gone_for_good() -> None:
    desk = Desk()
    desk.commit(("t", 0, 1), ("t", 1, 2))
    assert desk.delete(("t", 1), ("u", 0)) == {("t", 1): 0, ("u", 0): 0}
    desk.restart()
    assert desk.fetch() == {("t", 0): 1}
    assert len(desk.log.records()) == 3  # Nothing is written about an offset that did not exist.


def test_offsets_of_a_subscribed_topic_are_not_deleted() -> None:
    desk = Desk()
    desk.group(protocol_type="consumer", state_name="Stable", empty_since_ms=None, topics=frozenset({"t"}))
    desk.commit(("t", 0, 1), ("u", 0, 2))
    assert desk.delete(("t", 0), ("u", 0)) == {("t", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, ("u", 0): 0}
    assert desk.fetch() == {("t", 0): 1}


def test_offsets_of_other_protocols_are_deleted_only_in_an_empty_group() -> None:
    desk = Desk()
    desk.group(protocol_type="connect", state_name="Stable", empty_since_ms=None)
    assert desk.delete(("t", 0)) is ErrorCode.NON_EMPTY_GROUP
    assert desk.delete(("t", 0), group="nobody") is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_deleted_topic_takes_its_offsets_along() -> None:
    desk = Desk()
    desk.commit(("t", 0, 1), ("u", 0, 2))
    desk.commit(("t", 3, 1), group="another")
    desk.commit_in_transaction(("t", 5, 1), group="third")
    desk.delete_topic("t")
    desk.end()
    desk.restart()
    assert desk.fetch() == {("u", 0): 2}
    assert desk.fetch(group="another") == desk.fetch(group="third") == {}


def test_a_topic_that_has_the_name_of_a_deleted_one_keeps_its_offsets() -> None:
    desk = Desk()
    desk.commit(("t", 0, 1), topic_id=OTHER_ID)
    desk.delete_topic("t", TOPIC_ID)
    assert desk.fetch() == {("t", 0): 1}


def test_many_offsets_are_deleted_in_several_batches() -> None:
    desk = Desk()
    topic = "t" * 249
    for start in range(0, 2_000, 500):
        desk.commit(*((topic, index, 1) for index in range(start, start + 500)))
    written = len(desk.log.batches)
    desk.delete_topic(topic)
    desk.pass_time(10_000)
    assert desk.fetch() == {}
    deletions = desk.log.batches[written:]
    assert len(deletions) > 1
    assert max(len(batch) for batch in deletions) < 1_000_000


def test_a_deleted_group_has_no_offsets() -> None:
    desk = Desk()
    desk.commit(("t", 0, 1))
    desk.commit_in_transaction(("t", 1, 1))
    desk.delete_group()
    desk.end()
    desk.restart()
    assert desk.groups == []
    assert desk.fetch() == {}
