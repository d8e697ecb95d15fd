"""Hostile requests to the share coordinator: false epochs, endless batches, absurd offsets. Only
brokers may send these, so a client must first have got hold of the rights of one.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest

from barnabas.api.share_states import PARTITIONS_PER_REQUEST_MAX
from barnabas.coordinators.share.machine import STATE_BATCHES_MAX
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.wire.messages import (
    delete_share_group_state as delete_state,
    initialize_share_group_state as initialize_state,
    read_share_group_state as read_state,
    read_share_group_state_summary as summary_state,
    write_share_group_state as write_state,
)
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.hostile.conftest import Victim
from tests.hostile.test_resources import BYSTANDER_SECONDS_MAX, Bystander
from tests.scenarios.client import Client
from tests.waiting import until

TOPIC = "t"
LONG = "g" * 32_000
INT64_MAX, INT64_MIN = 2**63 - 1, -(2**63)
INT32_MAX, INT32_MIN = 2**31 - 1, -(2**31)
_NOT_YET = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


@pytest.fixture
def topic_id(victim: Victim) -> Uuid:
    with victim.client() as client:
        (topic,) = client.ask(MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])).topics
        client.ask(FindCoordinatorRequest(key_type=2, coordinator_keys=["anybody:AAAAAAAAAAAAAAAAAAAAAQ:0"]))
        found = Uuid(topic.topic_id)
        until(lambda: initialize(client, "anybody", found) not in _NOT_YET, "the share coordinator answers")
        return found


def initialize(client: Client, group: str, topic_id: Uuid, *, state_epoch: int = 1, start_offset: int = 0) -> int:
    asked = [initialize_state.PartitionData(partition=0, state_epoch=state_epoch, start_offset=start_offset)]
    topics = [initialize_state.InitializeStateData(topic_id=topic_id, partitions=asked)]
    return code_of(client.ask(initialize_state.InitializeShareGroupStateRequest(group_id=group, topics=topics)))


def write(
    client: Client, group: str, topic_id: Uuid, batches: Iterable[tuple[int, int, int, int]], *, partitions: int = 1, **options: int
) -> int:
    made = [
        write_state.StateBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=count)
        for first, last, state, count in batches
    ]
    options = {"state_epoch": 1, "leader_epoch": 0, "start_offset": -1, **options}
    asked = [write_state.PartitionData(partition=index, state_batches=made, **options) for index in range(partitions)]
    topics = [write_state.WriteStateData(topic_id=topic_id, partitions=asked)]
    return code_of(client.ask(write_state.WriteShareGroupStateRequest(group_id=group, topics=topics)))


def read(client: Client, group: str, topic_id: Uuid, leader_epoch: int = 0) -> Any:
    asked = [read_state.PartitionData(partition=0, leader_epoch=leader_epoch)]
    topics = [read_state.ReadStateData(topic_id=topic_id, partitions=asked)]
    return client.ask(read_state.ReadShareGroupStateRequest(group_id=group, topics=topics)).results[0].partitions[0]


def code_of(response: Any) -> int:
    return int(response.results[0].partitions[0].error_code)


@pytest.mark.parametrize("first", [INT64_MIN, -1, 0, 7, INT64_MAX])
@pytest.mark.parametrize("last", [INT64_MIN, -1, 0, 7, INT64_MAX])
def test_batches_of_any_offsets_are_merged_or_refused(victim: Victim, topic_id: Uuid, first: int, last: int) -> None:
    group = f"offsets {first} {last}"
    with victim.client() as client:
        initialize(client, group, topic_id)
        code = write(client, group, topic_id, [(first, last, 2, 1), (0, 100, 0, 3), (first, INT64_MAX, 4, 2)])
        assert code == (ErrorCode.INVALID_REQUEST if last < first else ErrorCode.NONE)
        found = read(client, group, topic_id).state_batches
        assert all(each.first_offset <= each.last_offset for each in found)
        assert all(left.last_offset < right.first_offset for left, right in pairwise(found))


@pytest.mark.parametrize("start_offset", [INT64_MIN, -2, INT64_MAX])
@pytest.mark.parametrize("epoch", [INT32_MIN, -2, INT32_MAX])
def test_extreme_epochs_and_starts_leave_a_state_that_can_be_read(victim: Victim, topic_id: Uuid, start_offset: int, epoch: int) -> None:
    group = f"extremes {start_offset} {epoch}"
    with victim.client() as client:
        initialize(client, group, topic_id, state_epoch=epoch, start_offset=start_offset)
        write(client, group, topic_id, [(0, 9, 2, 1)], state_epoch=epoch, leader_epoch=epoch, start_offset=start_offset)
        assert read(client, group, topic_id, leader_epoch=INT32_MAX).error_code == ErrorCode.NONE
        assert read(client, group, topic_id, leader_epoch=INT32_MIN).error_code == ErrorCode.FENCED_LEADER_EPOCH


def test_states_and_counts_that_kafka_does_not_know_come_back_as_they_are(victim: Victim, topic_id: Uuid) -> None:
    with victim.client() as client:
        initialize(client, "odd", topic_id)
        batches = [(0, 0, -128, -32_768), (1, 1, 127, 32_767), (2, 2, 1, 0)]
        assert write(client, "odd", topic_id, batches) == ErrorCode.NONE
        found = read(client, "odd", topic_id).state_batches
        assert [(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count) for each in found] == batches


def test_more_batches_than_the_limit_are_refused(victim: Victim, topic_id: Uuid) -> None:
    with victim.client() as client, Bystander(victim) as seen:
        initialize(client, "endless", topic_id)
        apart = [(2 * number, 2 * number, 2, 1) for number in range(STATE_BATCHES_MAX + 1)]
        assert write(client, "endless", topic_id, apart) == ErrorCode.INVALID_REQUEST
        # A write for each of many offsets fills the state up to the limit, and no further.
        for begin in range(0, 2 * STATE_BATCHES_MAX, 20_000):
            code = write(client, "endless", topic_id, [(begin + 2 * each, begin + 2 * each, 2, 1) for each in range(10_000)])
            assert code == ErrorCode.NONE
        assert write(client, "endless", topic_id, [(INT64_MAX, INT64_MAX, 2, 1)]) == ErrorCode.INVALID_REQUEST
        # Its start moves on, and there is room again.
        assert write(client, "endless", topic_id, [], start_offset=2 * STATE_BATCHES_MAX) == ErrorCode.NONE
        assert not read(client, "endless", topic_id).state_batches
    assert seen.worst < BYSTANDER_SECONDS_MAX


def test_batches_that_all_overlap_delay_no_client(victim: Victim, topic_id: Uuid) -> None:
    count = STATE_BATCHES_MAX // 2
    with victim.client() as client, Bystander(victim) as seen:
        initialize(client, "nested", topic_id)
        nested = [(number, 10 * count - number, 2 * (number % 2), 1 + number % 30_000) for number in range(count)]
        assert write(client, "nested", topic_id, nested) == ErrorCode.NONE
        read(client, "nested", topic_id)
    assert seen.worst < BYSTANDER_SECONDS_MAX


def test_requests_for_too_many_share_partitions_are_refused(victim: Victim, topic_id: Uuid) -> None:
    many = range(PARTITIONS_PER_REQUEST_MAX + 1)
    requests = [
        initialize_state.InitializeShareGroupStateRequest(
            group_id="wide",
            topics=[
                initialize_state.InitializeStateData(
                    topic_id=topic_id,
                    partitions=[initialize_state.PartitionData(partition=each, state_epoch=1, start_offset=0) for each in many],
                )
            ],
        ),
        summary_state.ReadShareGroupStateSummaryRequest(
            group_id="wide",
            topics=[
                summary_state.ReadStateSummaryData(
                    topic_id=topic_id, partitions=[summary_state.PartitionData(partition=each, leader_epoch=0) for each in many]
                )
            ],
        ),
        delete_state.DeleteShareGroupStateRequest(
            group_id="wide",
            topics=[
                delete_state.DeleteStateData(topic_id=topic_id, partitions=[delete_state.PartitionData(partition=each) for each in many])
            ],
        ),
    ]
    for request in requests:
        with victim.client() as client, Bystander(victim) as seen:
            response = client.ask(request)
        assert {each.error_code for each in response.results[0].partitions} == {ErrorCode.INVALID_REQUEST}
        assert seen.worst < BYSTANDER_SECONDS_MAX


def test_one_partition_thousands_of_times_in_a_request_delays_no_client(victim: Victim, topic_id: Uuid) -> None:
    asked = [initialize_state.PartitionData(partition=0, state_epoch=1, start_offset=each) for each in range(PARTITIONS_PER_REQUEST_MAX)]
    topics = [initialize_state.InitializeStateData(topic_id=topic_id, partitions=asked)]
    with victim.client() as client, Bystander(victim) as seen:
        response = client.ask(initialize_state.InitializeShareGroupStateRequest(group_id="again", topics=topics))
        assert len(response.results[0].partitions) == 1
        assert read(client, "again", topic_id).start_offset == PARTITIONS_PER_REQUEST_MAX - 1
    assert seen.worst < BYSTANDER_SECONDS_MAX


def test_groups_of_any_name_are_kept_apart(victim: Victim, topic_id: Uuid) -> None:
    names = [LONG, "a:b", "a:b:c", "ümlaut \U0001f600", "\x00", " "]
    with victim.client() as client:
        for number, name in enumerate(names):
            assert initialize(client, name, topic_id, start_offset=number) == ErrorCode.NONE
        assert [read(client, name, topic_id).start_offset for name in names] == list(range(len(names)))
