"""The partitions a second that a client may create and delete (KIP-599)."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.scenarios.client import Client
from tests.scenarios.quotas.altering import set_quota

SELF = {"client-id": "test"}
# A bucket of eleven tokens, refilled so slowly that it makes no difference within a test.
SLOW = 0.001
EXCEEDED = ErrorCode.THROTTLING_QUOTA_EXCEEDED


def creating(**topics: int) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[
            CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=[])
            for name, partitions in topics.items()
        ],
        timeout_ms=30_000,
    )


@pytest.fixture
def limited(kafka: EmbeddedBroker, client: Client) -> Client:
    """A client without tokens but not in debt, so that one more topic of any size passes."""
    with Client(kafka.bootstrap) as other:
        set_quota(other, SELF, controller_mutation_rate=SLOW)
    return client


def test_topics_after_the_one_that_used_up_the_quota_are_refused(limited: Client) -> None:
    response = limited.ask(creating(a=3, b=1, c=1))
    assert [topic.error_code for topic in response.topics] == [0, EXCEEDED, EXCEEDED]
    assert response.topics[1].error_message
    assert response.throttle_time_ms > 0


def test_a_request_that_uses_up_the_quota_is_not_throttled_itself(limited: Client) -> None:
    response = limited.ask(creating(a=3))
    assert ([topic.error_code for topic in response.topics], response.throttle_time_ms) == ([0], 0)


def test_an_old_client_gets_all_topics_and_waits(limited: Client) -> None:
    response = limited.ask(creating(a=3, b=1), 5)
    assert [topic.error_code for topic in response.topics] == [0, 0]
    assert response.throttle_time_ms > 0


def test_a_topic_that_is_refused_anyway_costs_nothing(limited: Client) -> None:
    refused = limited.ask(creating(**{"bad name": 100}))
    assert refused.topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert limited.ask(creating(a=1)).topics[0].error_code == ErrorCode.NONE


def test_new_partitions_and_deletions_are_limited_alike(kafka: EmbeddedBroker) -> None:
    with Client(kafka.bootstrap) as other:
        other.ask(creating(a=1, b=1))
        set_quota(other, SELF, controller_mutation_rate=SLOW)
        growing = CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name="a", count=4, assignments=None)], timeout_ms=30_000, validate_only=False
        )
        assert other.ask(growing).results[0].error_code == ErrorCode.NONE
    for version, code in ((6, EXCEEDED), (5, EXCEEDED)):
        with Client(kafka.bootstrap) as strict:
            asked = (
                DeleteTopicsRequest(topics=[DeleteTopicState(name="b")], timeout_ms=30_000)
                if version == 6
                else DeleteTopicsRequest(topic_names=["b"], timeout_ms=30_000)
            )
            response = strict.ask(asked, version)
            assert (response.responses[0].error_code, response.throttle_time_ms > 0) == (code, True)
    with Client(kafka.bootstrap) as strict:
        more = CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name="b", count=2, assignments=None)], timeout_ms=30_000, validate_only=False
        )
        assert strict.ask(more, 3).results[0].error_code == EXCEEDED
    with Client(kafka.bootstrap) as permissive:
        response = permissive.ask(DeleteTopicsRequest(topic_names=["b"], timeout_ms=30_000), 4)
        assert (response.responses[0].error_code, response.throttle_time_ms > 0) == (ErrorCode.NONE, True)


def test_topics_that_are_created_on_the_way_are_paid_for(limited: Client) -> None:
    asked = MetadataRequest(topics=[MetadataRequestTopic(name="on-the-way")], allow_auto_topic_creation=True)
    response = limited.ask(asked)
    assert response.topics[0].error_code == ErrorCode.NONE
    assert response.throttle_time_ms > 0
