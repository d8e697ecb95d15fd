"""Pages of DescribeTopicPartitions, against a list that is made of objects in one go."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.api.access import Access
from barnabas.api.broker_apis import describe_topic_partitions
from barnabas.api.needs import DESCRIBE_TOPIC
from barnabas.api.topic_names import TopicNames
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID
from barnabas.model.topic_names import INTERNAL_TOPICS
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import ResourceType
from barnabas.wire.compiler import decode, encode
from barnabas.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)
from barnabas.wire.metadata_records import MetadataRecord, PartitionChangeRecord, RemoveTopicRecord
from tests.unit.api.open_access import OPEN_ACCESS
from tests.unit.api.test_described_topics import PARTLY, Node, access, made, topic
from tests.unit.metadata.made import after, uuid


def node(rules: Access = OPEN_ACCESS) -> Node:
    made_node = Node(made(1, topics=12), rules)
    parts = cast(Any, made_node.broker)
    parts.topic_names = TopicNames()
    parts.settings = SimpleNamespace(integer=lambda _: 2000)
    return made_node


def described(at: Node, caller: Caller, name: str) -> DescribeTopicPartitionsResponseTopic:
    image, rules = at.broker.metadata.image, at.broker.access
    found = image.topics.by_name.get(name)
    if not rules.may(caller, DESCRIBE_TOPIC, name):
        return DescribeTopicPartitionsResponseTopic(
            error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name=name, topic_id=ZERO_UUID, partitions=[]
        )
    alive = {each.broker_id for each in image.cluster.brokers.values() if not each.fenced}
    return DescribeTopicPartitionsResponseTopic(
        error_code=0 if found is not None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        name=name,
        topic_id=found.topic_id if found is not None else ZERO_UUID,
        is_internal=name in INTERNAL_TOPICS,
        partitions=[
            DescribeTopicPartitionsResponsePartition(
                error_code=0 if each.leader in alive else ErrorCode.LEADER_NOT_AVAILABLE,
                partition_index=index,
                leader_id=each.leader if each.leader in alive else -1,
                leader_epoch=each.leader_epoch,
                replica_nodes=list(each.replicas),
                isr_nodes=list(each.isr),
                eligible_leader_replicas=list(each.eligible_leader_replicas),
                last_known_elr=list(each.last_known_elr),
                offline_replicas=[replica for replica in each.replicas if replica not in alive],
            )
            for index, each in sorted(found.partitions.items() if found is not None else ())
        ],
        topic_authorized_operations=rules.operations(caller, ResourceType.TOPIC, name),
    )


def asked(at: Node, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    response = describe_topic_partitions.handle(at.broker, at.caller(0), request)
    return decode(DescribeTopicPartitionsResponse, 0, encode(response, 0))[0]


@pytest.mark.parametrize("rules", [OPEN_ACCESS, PARTLY, access()], ids=["open", "partly", "denied"])
def test_one_page_of_all_topics_equals_the_plain_encoding(rules: Access) -> None:
    at = node(rules)
    caller = at.caller(0)
    changes: list[list[MetadataRecord]] = [
        [],
        [RemoveTopicRecord(topic_id=uuid(5)), *topic(50, Random(1))],
        [PartitionChangeRecord(partition_id=0, topic_id=uuid(2))],
    ]
    for change in changes:
        at.broker.metadata.image = after(change, at.broker.metadata.image)
        names = [each for each in sorted(at.broker.metadata.image.topics.by_name) if rules.may(caller, DESCRIBE_TOPIC, each)]
        plain = DescribeTopicPartitionsResponse(throttle_time_ms=0, topics=[described(at, caller, each) for each in names])
        response = describe_topic_partitions.handle(at.broker, caller, DescribeTopicPartitionsRequest(topics=[]))
        assert encode(response, 0) == encode(plain, 0)


@pytest.mark.parametrize("rules", [OPEN_ACCESS, PARTLY], ids=["open", "partly"])
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_pages_together_hold_every_partition_once(rules: Access, limit: int) -> None:
    at = node(rules)
    caller = at.caller(0)
    for names in (list[str](), ["topic-2", "absent", "topic-4", "__consumer_offsets"]):
        pages = [
            asked(at, DescribeTopicPartitionsRequest(topics=[TopicRequest(name=each) for each in names], response_partition_limit=limit))
        ]
        while (cursor := pages[-1].next_cursor) is not None:
            next_page = Cursor(topic_name=cursor.topic_name, partition_index=cursor.partition_index)
            request = DescribeTopicPartitionsRequest(
                topics=[TopicRequest(name=each) for each in names], response_partition_limit=limit, cursor=next_page
            )
            pages.append(asked(at, request))
        seen = [(each.name, partition) for page in pages for each in page.topics for partition in each.partitions]
        everything = names or at.broker.metadata.image.topics.by_name
        plain = [described(at, caller, each) for each in sorted(everything)]
        assert seen == [(each.name, partition) for each in plain for partition in each.partitions]
        assert all(sum(len(each.partitions) for each in page.topics) <= limit for page in pages)


def test_names_are_sorted_again_only_when_a_topic_comes_or_goes() -> None:
    names, image = TopicNames(), made(1)
    first = names.in_order(image.topics)
    assert first == sorted(image.topics.by_name)
    changed = after([PartitionChangeRecord(partition_id=0, topic_id=uuid(2))], image)
    assert names.in_order(changed.topics) is first
    fewer = after([RemoveTopicRecord(topic_id=uuid(2))], changed)
    assert names.in_order(fewer.topics) == sorted(fewer.topics.by_name)
    again = after(topic(2, Random(3)), fewer)
    assert list(names.in_order(again.topics)) == list(first)


@pytest.mark.parametrize(("index", "name"), [(-1, "topic-2"), (0, "other")])
def test_a_cursor_that_the_request_cannot_have_is_refused(index: int, name: str) -> None:
    cursor = Cursor(topic_name=name, partition_index=index)
    response = asked(node(), DescribeTopicPartitionsRequest(topics=[TopicRequest(name="topic-2")], cursor=cursor))
    assert [each.error_code for each in response.topics] == [ErrorCode.INVALID_REQUEST]
