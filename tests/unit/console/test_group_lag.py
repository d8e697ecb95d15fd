from __future__ import annotations

import struct

import pytest

from barnabas.console.core.group import Member, Subtopology, SubtopologyTasks, TopicAssignment, TopologyTopic, owners, partitions_of_tasks
from barnabas.console.core.group_lag import GroupOffset, LagSeconds, lag_seconds, progress, time_of_offset, total_lag
from barnabas.console.core.topic import Bounds, TopicPartition


def _header(base_offset: int, last_delta: int, first_ms: int, last_ms: int, *, attributes: int = 0, magic: int = 2) -> bytes:
    return struct.pack(
        ">qiibIhiqqqhii", base_offset, 49, 0, magic, 0, attributes, last_delta, first_ms, last_ms, -1, -1, -1, last_delta + 1
    )


@pytest.mark.parametrize(
    ("offset", "moment"),
    [(100, 1_000), (110, 2_000), (105, 1_500), (90, 1_000), (500, 2_000)],
    ids=["first", "last", "middle", "gap", "after"],
)
def test_the_time_of_a_record_lies_between_those_of_its_batch(offset: int, moment: int) -> None:
    assert time_of_offset(_header(100, 10, 1_000, 2_000), offset) == moment


def test_the_time_of_a_record_is_that_of_the_broker_where_the_topic_says_so() -> None:
    assert time_of_offset(_header(100, 10, 1_000, 9_000, attributes=0x08), 100) == 9_000


@pytest.mark.parametrize("data", [b"", bytes(60), _header(0, 1, 5, 5, magic=1), _header(0, -1, 5, 5), _header(0, 0, -1, -1)])
def test_bytes_without_a_time_have_none(data: bytes) -> None:
    assert time_of_offset(data, 0) is None


def test_lag_in_seconds_is_the_age_of_the_first_unread_record() -> None:
    assert lag_seconds(5, 10_000, 12_500, now_ms=60_000) == LagSeconds(50.0, 2.5)
    assert lag_seconds(0, None, None, now_ms=60_000) == LagSeconds(0.0, 0.0)
    assert lag_seconds(5, None, 12_500, now_ms=60_000) is None
    assert lag_seconds(None, 10_000, 12_500, now_ms=60_000) is None
    # Clocks of producers differ from ours, and timestamps need not rise.
    assert lag_seconds(5, 70_000, 60_000, now_ms=60_000) == LagSeconds(0.0, 0.0)
    assert lag_seconds(5, 10_000, -1, now_ms=60_000) == LagSeconds(50.0, None)


def test_progress_has_a_row_for_assigned_partitions_and_for_those_with_offsets() -> None:
    reader = Member("id", "client", "host", assignment=[TopicAssignment("t", [0, 1])])
    places = [TopicPartition("t", each) for each in range(4)]
    offsets = {places[0]: GroupOffset(5), places[2]: GroupOffset(1, metadata="m"), places[3]: GroupOffset(2, lag=7)}
    bounds = {places[0]: Bounds(0, 9), places[1]: Bounds(0, 9), places[3]: Bounds(0, 20)}
    rows = progress(offsets, bounds, owners([reader]))
    assert [(each.committed, each.lag, each.client_ids) for each in rows] == [
        (5, 4, ["client"]),
        (None, None, ["client"]),
        (1, None, []),
        (2, 7, []),
    ]
    assert [each.remark for each in rows] == ["", "No offset is committed yet.", "The partition is gone, or has no leader.", ""]
    assert total_lag(rows) is None
    assert total_lag([rows[0], rows[1], rows[3]]) == 11
    # Nothing is known of a group that has not committed an offset.
    assert total_lag([rows[1]]) is None


def test_strange_offsets_have_a_remark() -> None:
    place = TopicPartition("t", 0)
    (behind,) = progress({place: GroupOffset(1)}, {place: Bounds(5, 9)}, {})
    assert (behind.lag, behind.remark) == (4, "4 offsets were deleted before the group read them.")
    (ahead,) = progress({place: GroupOffset(30)}, {place: Bounds(5, 9)}, {})
    assert (ahead.lag, ahead.remark) == (0, "The offset is behind the end: the topic was created again, or lost records.")


def test_a_task_reads_its_partition_of_each_source() -> None:
    topology = [Subtopology("0", [TopologyTopic("source", "a"), TopologyTopic("repartition", "r"), TopologyTopic("sink", "s")])]
    assert partitions_of_tasks([SubtopologyTasks("0", [1, 3]), SubtopologyTasks("9", [0])], topology) == [
        TopicAssignment("a", [1, 3]),
        TopicAssignment("r", [1, 3]),
    ]
