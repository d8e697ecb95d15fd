"""Members of share groups that acknowledge what they do not have, flood, and lock everything."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from barnabas.wire.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequestTopic
from barnabas.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from tests.hostile.conftest import Victim
from tests.hostile.share_member import ACCEPT, RENEW, Range, ShareMember, acquired_in, verdict_of
from tests.scenarios.client import Client
from tests.waiting import until

RECORDS = 20
MOST = 2**63 - 1
# Of the broker's own work: a range of 2^62 offsets that cost a step each would never end.
WORK_SECONDS_MAX = 2.0

_numbers = itertools.count()


@pytest.fixture
def member(victim: Victim) -> Iterator[ShareMember]:
    """It holds the records 0 to 19 of a partition of a topic of its own."""
    with victim.client() as client:
        name = f"shared-{next(_numbers)}"
        topic_id = client.create_topic(name)
        client.produce(name, [b"%d" % number for number in range(RECORDS)])
        made = ShareMember(client, f"group-of-{name}", name, topic_id)
        made.join()
        assert made.acquire(RECORDS) == [(0, RECORDS - 1)]
        yield made
        # The refused acknowledgements had no effect: the member still holds its records.
        answer = made.acknowledge([(0, RECORDS - 1, [ACCEPT])])
        assert verdict_of(answer) == ErrorCode.NONE


HOSTILE: list[tuple[str, list[Range], ErrorCode]] = [
    ("huge", [(0, 2**62, [ACCEPT])], ErrorCode.INVALID_REQUEST),
    ("up to the last offset", [(0, MOST, [ACCEPT])], ErrorCode.INVALID_REQUEST),
    ("only the last offset", [(MOST, MOST, [ACCEPT])], ErrorCode.INVALID_REQUEST),
    ("negative", [(-5, -1, [ACCEPT])], ErrorCode.INVALID_REQUEST),
    ("the least offset", [(-(2**63), -(2**63), [ACCEPT])], ErrorCode.INVALID_REQUEST),
    ("everything", [(-(2**63), MOST, [ACCEPT])], ErrorCode.INVALID_REQUEST),
    ("backwards", [(9, 3, [ACCEPT])], ErrorCode.INVALID_REQUEST),
    ("descending", [(9, 12, [ACCEPT]), (3, 5, [ACCEPT])], ErrorCode.INVALID_REQUEST),
    ("overlapping", [(0, 9, [ACCEPT]), (5, 12, [ACCEPT])], ErrorCode.INVALID_REQUEST),
    ("without types", [(0, 9, [])], ErrorCode.INVALID_REQUEST),
    ("too few types", [(0, 9, [ACCEPT] * 3)], ErrorCode.INVALID_REQUEST),
    ("too many types", [(0, 1, [ACCEPT] * 100_000)], ErrorCode.INVALID_REQUEST),
    ("unknown type", [(0, 9, [99])], ErrorCode.INVALID_REQUEST),
    ("negative type", [(0, 9, [-1])], ErrorCode.INVALID_REQUEST),
    ("renewal without the flag", [(0, 9, [RENEW])], ErrorCode.INVALID_REQUEST),
    ("behind the records", [(RECORDS, RECORDS + 5, [ACCEPT])], ErrorCode.INVALID_REQUEST),
    ("partly behind the records", [(0, RECORDS, [ACCEPT])], ErrorCode.INVALID_REQUEST),
]


@pytest.mark.parametrize(("what", "ranges", "error"), HOSTILE, ids=[what for what, _, _ in HOSTILE])
def test_a_hostile_acknowledgement_is_refused_and_has_no_effect(
    victim: Victim, member: ShareMember, what: str, ranges: list[Range], error: ErrorCode
) -> None:
    before = victim.worked_seconds()
    assert verdict_of(member.acknowledge(ranges)) == error
    (topic,) = member.fetch(ranges=ranges).responses
    assert topic.partitions[0].acknowledge_error_code == error
    assert victim.worked_seconds() - before < WORK_SECONDS_MAX


def test_a_hostile_range_after_a_good_one_undoes_the_good_one(member: ShareMember) -> None:
    assert verdict_of(member.acknowledge([(0, 4, [ACCEPT]), (5, 2**62, [ACCEPT])])) == ErrorCode.INVALID_REQUEST


def test_ten_thousand_ranges_cost_little(victim: Victim, member: ShareMember) -> None:
    before = victim.worked_seconds()
    ranges: list[Range] = [(RECORDS + 2 * number, RECORDS + 2 * number, [ACCEPT]) for number in range(10_000)]
    assert verdict_of(member.acknowledge(ranges)) == ErrorCode.INVALID_REQUEST
    assert victim.worked_seconds() - before < WORK_SECONDS_MAX


@pytest.mark.parametrize("partition", [1, -1, 2**31 - 1])
def test_acknowledging_a_partition_that_does_not_exist_is_refused(member: ShareMember, partition: int) -> None:
    answer = member.acknowledge([(0, 9, [ACCEPT])], partition=partition)
    assert verdict_of(answer) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("epoch", [5, 2**31 - 1, -2, -(2**31)])
def test_an_impossible_session_epoch_is_refused(member: ShareMember, epoch: int) -> None:
    assert member.fetch(epoch=epoch).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert member.acknowledge([(0, 9, [ACCEPT])], epoch=epoch).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH


def test_a_session_that_was_never_opened_is_not_found(victim: Victim, member: ShareMember) -> None:
    with victim.client() as client:
        stranger = ShareMember(client, member._group, member._topic, member._topic_id)
        assert stranger.fetch(epoch=1).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
        assert stranger.acknowledge([(0, 9, [ACCEPT])], epoch=1).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
        # In a session of its own it cannot acknowledge the records of the other member.
        stranger.fetch()
        assert verdict_of(stranger.acknowledge([(0, RECORDS - 1, [ACCEPT])])) == ErrorCode.INVALID_RECORD_STATE


@pytest.mark.parametrize(
    "options",
    [
        {"max_records": 2**31 - 1, "max_bytes": 2**31 - 1, "batch_size": 2**31 - 1},
        {"max_records": -1},
        {"max_bytes": -1},
        {"max_records": 0, "max_bytes": 0},
        {"batch_size": 0},
        {"batch_size": -(2**31)},
        {"min_bytes": 2**31 - 1},
        {"min_bytes": -1},
        {"share_acquire_mode": 1, "max_records": 2**31 - 1},
    ],
    ids=str,
)
def test_a_fetch_with_extreme_limits_is_answered(member: ShareMember, options: dict[str, Any]) -> None:
    assert acquired_in(member.fetch(**options)) == []


# -- floods ----------------------------------------------------------------------------------------

SMALL = {
    "group.share.max.share.sessions": "10",
    "group.share.max.size": "10",
    "group.share.partition.max.record.locks": "100",
    "group.share.min.partition.max.record.locks": "100",
}


@pytest.fixture(scope="module")
def small() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=SMALL) as broker:
        yield broker


def test_sessions_beyond_the_limit_are_refused_until_others_end(small: EmbeddedBroker) -> None:
    with Client(small.bootstrap) as client, ExitStack() as crowd:
        topic_id = client.create_topic("sessions")
        opened = []
        for _ in range(10):
            one = ShareMember(crowd.enter_context(Client(small.bootstrap)), "sessions", "sessions", topic_id)
            assert one.fetch().error_code == ErrorCode.NONE
            opened.append(one)
        late = ShareMember(client, "sessions", "sessions", topic_id)
        assert late.fetch().error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
        crowd.close()
        until(lambda: late.fetch().error_code == ErrorCode.NONE, "the sessions of closed connections have ended")


def test_members_beyond_the_size_of_a_group_are_refused(small: EmbeddedBroker) -> None:
    with Client(small.bootstrap) as client:
        topic_id = client.create_topic("members")
        crowd = [ShareMember(client, "members", "members", topic_id) for _ in range(11)]
        crowd[0].join()
        assert {one.heartbeat().error_code for one in crowd[1:10]} == {ErrorCode.NONE}
        assert crowd[10].heartbeat().error_code == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_member_that_locks_all_records_it_can_gets_no_more_and_loses_them_with_its_connection(small: EmbeddedBroker) -> None:
    with Client(small.bootstrap) as client, Client(small.bootstrap) as greedy_client:
        topic_id = client.create_topic("locks")
        for number in range(300):
            client.produce("locks", [b"%d" % number])
        greedy = ShareMember(greedy_client, "locks", "locks", topic_id)
        greedy.join()
        assert sum(last - first + 1 for first, last in greedy.acquire(100)) == 100
        assert acquired_in(greedy.fetch(wait_ms=100)) == []
        other = ShareMember(client, "locks", "locks", topic_id)
        assert acquired_in(other.fetch(wait_ms=100)) == []
        greedy_client.close()
        assert sum(last - first + 1 for first, last in other.acquire(100)) == 100


# -- heartbeats and offsets ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("member_id", "epoch", "error"),
    [
        ("", 0, ErrorCode.INVALID_REQUEST),
        ("x" * 1000, 0, ErrorCode.INVALID_REQUEST),
        ("stranger", 7, ErrorCode.UNKNOWN_MEMBER_ID),
        ("stranger", 2**31 - 1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("stranger", -2, ErrorCode.INVALID_REQUEST),
        ("stranger", -(2**31), ErrorCode.INVALID_REQUEST),
    ],
    ids=str,
)
def test_a_heartbeat_of_an_impossible_member_is_refused(member: ShareMember, member_id: str, epoch: int, error: ErrorCode) -> None:
    assert member.heartbeat(epoch, member_id=member_id).error_code == error


def test_a_subscription_to_many_topics_that_do_not_exist_is_answered(victim: Victim, member: ShareMember) -> None:
    before = victim.worked_seconds()
    answer = member.heartbeat(topics=[f"missing-{number}" for number in range(10_000)], member_id="subscriber")
    assert answer.error_code == ErrorCode.NONE
    assert victim.worked_seconds() - before < WORK_SECONDS_MAX


@pytest.mark.parametrize("offset", [-1, -(2**63), MOST, 2**62])
def test_altering_share_group_offsets_to_extreme_values_is_answered(victim: Victim, offset: int) -> None:
    with victim.client() as client:
        name = f"offsets-{next(_numbers)}"
        client.create_topic(name)
        partitions = [AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=offset) for index in (0, 1, -1, 2**31 - 1)]
        request = AlterShareGroupOffsetsRequest(
            group_id=f"group-of-{name}", topics=[AlterShareGroupOffsetsRequestTopic(topic_name=name, partitions=partitions)]
        )
        answer = client.ask(request)
        codes = [each.error_code for topic in answer.responses for each in topic.partitions] or [answer.error_code]
        assert all(code in tuple(ErrorCode) for code in codes)
        assert codes.count(ErrorCode.NONE) <= 1


def test_long_lists_of_share_group_offsets_are_answered(victim: Victim) -> None:
    before = victim.worked_seconds()
    with victim.client() as client:
        topics = [DescribeShareGroupOffsetsRequestTopic(topic_name="missing", partitions=list(range(10_000)))]
        described = client.ask(
            DescribeShareGroupOffsetsRequest(
                groups=[DescribeShareGroupOffsetsRequestGroup(group_id=f"g-{n}", topics=topics) for n in range(10)]
            )
        )
        assert len(described.groups) == 10
        names = [DeleteShareGroupOffsetsRequestTopic(topic_name=f"missing-{number}") for number in range(10_000)]
        assert client.ask(DeleteShareGroupOffsetsRequest(group_id="missing", topics=names)).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert victim.worked_seconds() - before < 2 * WORK_SECONDS_MAX
