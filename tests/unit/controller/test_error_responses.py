"""Every request to the controller can be answered with an error, in every version, and a reader
finds the error in the response.
"""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.controller.error_responses import error_response
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.wire.apis import ApiKey, messages
from barnabas.wire.compiler import decode, encode
from barnabas.wire.declare import ArrayOf, Field, StructOf, declaration_of, field_values
from barnabas.wire.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions

TO_THE_CONTROLLER = [
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.UPDATE_FEATURES,
    ApiKey.ELECT_LEADERS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.BROKER_REGISTRATION,
    ApiKey.BROKER_HEARTBEAT,
    ApiKey.CONTROLLER_REGISTRATION,
    ApiKey.ALTER_PARTITION,
    ApiKey.ALLOCATE_PRODUCER_IDS,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
    ApiKey.DESCRIBE_ACLS,
    ApiKey.ALTER_CLIENT_QUOTAS,
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.ADD_RAFT_VOTER,
    ApiKey.REMOVE_RAFT_VOTER,
    ApiKey.UPDATE_RAFT_VOTER,
    ApiKey.ENVELOPE,
]
EVERY_VERSION = [
    (key, version)
    for key in TO_THE_CONTROLLER
    for version in range(declaration_of(messages(key)[0]).versions.lowest, declaration_of(messages(key)[0]).versions.highest + 1)
]


def filled(cls: type[Any], version: int) -> Any:
    """A message that sets every field of the version."""
    return cls(**{each.name: _value(each, version) for each in declaration_of(cls).fields if version in each.options.versions})


def _value(each: Field, version: int) -> Any:
    match each.type:
        case ArrayOf(StructOf(cls)):
            return [filled(cls, version)]
        case ArrayOf(element):
            return [element.zero]  # type: ignore[union-attr]
        case StructOf(cls):
            return filled(cls, version)
        case primitive:
            return primitive.zero


def codes_in(message: Any) -> list[int]:
    found = []
    for name, value in field_values(message).items():
        if name == "error_code":
            found.append(value)
        elif isinstance(value, list):
            found += [code for each in value if hasattr(each, "__declaration__") for code in codes_in(each)]
    return found


@pytest.mark.parametrize(("key", "version"), EVERY_VERSION)
def test_an_error_response_carries_the_code(key: ApiKey, version: int) -> None:
    request, response = messages(key)
    answer = error_response(filled(request, version), ErrorCode.NOT_CONTROLLER, "not me", version=version)
    read, _ = decode(response, version, encode(answer, version))
    assert ErrorCode.NOT_CONTROLLER in codes_in(read)


def test_an_error_about_topics_names_them_as_the_request_did() -> None:
    newer = DeleteTopicsRequest(topics=[DeleteTopicState(name="a"), DeleteTopicState(topic_id=Uuid(b"i" * 16))], timeout_ms=1)
    assert [(each.name, each.topic_id) for each in error_response(newer, ErrorCode.REQUEST_TIMED_OUT).responses] == [
        ("a", bytes(16)),
        (None, b"i" * 16),
    ]
    older = DeleteTopicsRequest(topic_names=["a", "b"], timeout_ms=1)
    assert [each.name for each in error_response(older, ErrorCode.REQUEST_TIMED_OUT).responses] == ["a", "b"]


def test_an_error_about_an_election_is_in_every_partition_and_at_the_top_where_the_version_allows() -> None:
    request = ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="t", partitions=[0, 3])])
    for version, own in ((0, ErrorCode.NONE), (1, ErrorCode.NOT_CONTROLLER)):
        answer = error_response(request, ErrorCode.NOT_CONTROLLER, version=version)
        assert answer.error_code == own
        (topic,) = answer.replica_election_results
        assert [(each.partition_id, each.error_code) for each in topic.partition_result] == [(0, 41), (3, 41)]
    # The request is about all partitions of the cluster, which this node cannot list.
    assert error_response(ElectLeadersRequest(topic_partitions=None), ErrorCode.NOT_CONTROLLER).replica_election_results == []


def test_an_error_about_a_quota_names_its_entity() -> None:
    request = AlterClientQuotasRequest(
        entries=[EntryData(entity=[EntityData(entity_type="user", entity_name=None)], ops=[])], validate_only=False
    )
    (entry,) = error_response(request, ErrorCode.NOT_CONTROLLER, "why").entries
    assert (entry.entity[0].entity_type, entry.entity[0].entity_name, entry.error_message) == ("user", None, "why")
