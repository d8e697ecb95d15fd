"""Every API of a broker has a response for its errors, in each version, in the place where clients
look for it."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.api.broker_apis import BROKER_HANDLERS
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID
from barnabas.testing.faults.error_responses import (
    error_response,
    forget_fetch_session,
    has_place_for_error,
    is_incremental_fetch,
    refusable_apis,
    refuse_metadata,
)
from barnabas.wire.apis import ApiKey, messages, stable_versions
from barnabas.wire.compiler import decode, encode
from barnabas.wire.declare import ArrayOf, StructOf, declaration_of
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.join_group import JoinGroupRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from barnabas.wire.types import Primitive

# Nodes and administrators of the quorum send these, and clients do not.
NOT_FOR_CLIENTS = {
    ApiKey.WRITE_TXN_MARKERS,
    ApiKey.ADD_RAFT_VOTER,
    ApiKey.REMOVE_RAFT_VOTER,
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE,
    ApiKey.WRITE_SHARE_GROUP_STATE,
    ApiKey.DELETE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
}
CODE = ErrorCode.NOT_ENOUGH_REPLICAS
BUILT = [key for key in refusable_apis() if key is not ApiKey.METADATA]


def filled(cls: type[Any], version: int) -> Any:
    """A message with one element in each list, so that each of them must be answered."""
    values: dict[str, Any] = {}
    for field in declaration_of(cls).fields:
        if version not in field.options.versions:
            continue
        match field.type:
            case ArrayOf(StructOf(element)):
                values[field.name] = [filled(element, version)]
            case ArrayOf(Primitive(name="string")):
                values[field.name] = ["name"]
            case ArrayOf(Primitive(name="uuid")):
                values[field.name] = [ZERO_UUID]
            case ArrayOf():
                values[field.name] = [7]
            case Primitive(name="string"):
                values[field.name] = "name"
            case Primitive(name="int32" | "int16" | "int8" | "int64"):
                values[field.name] = 7
            case _:
                pass
    return cls(**values)


def codes(message: Any, version: int) -> list[int]:
    found = []
    for field in declaration_of(type(message)).fields:
        value = getattr(message, field.name)
        if version not in field.options.versions or value is None:
            continue
        if field.name in ("error_code", "partition_error_code"):
            found.append(value)
        elif isinstance(field.type, ArrayOf) and isinstance(field.type.element, StructOf):
            found += [code for each in value for code in codes(each, version)]
    return found


def test_every_api_of_a_broker_for_clients_can_be_refused() -> None:
    assert set(refusable_apis()) == set(BROKER_HANDLERS) - NOT_FOR_CLIENTS


@pytest.mark.parametrize("key", BUILT, ids=lambda key: key.api_name)
def test_the_error_is_in_the_response_of_every_version(key: ApiKey) -> None:
    versions = stable_versions(key)
    for version in range(versions.lowest, versions.highest + 1):
        request_bytes = encode(filled(messages(key)[0], version), version)
        request = decode(messages(key)[0], version, request_bytes)[0]
        response = error_response(key, version, request, CODE)
        answered = decode(messages(key)[1], version, encode(response, version))[0]
        found = codes(answered, version)
        assert CODE in found, (version, answered)


def test_errors_of_partitions_name_each_topic_and_partition_of_the_request() -> None:
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        topics=[
            FetchTopic(
                topic=name, partitions=[FetchPartition(partition=each, fetch_offset=0, partition_max_bytes=1) for each in partitions]
            )
            for name, partitions in (("a", [0, 2]), ("b", [1]))
        ],
    )
    response = error_response(ApiKey.FETCH, 12, request, CODE)
    seen = {(topic.topic, each.partition_index): each.error_code for topic in response.responses for each in topic.partitions}
    assert seen == {("a", 0): CODE, ("a", 2): CODE, ("b", 1): CODE}
    assert response.error_code == ErrorCode.NONE


def test_errors_of_fetch_sessions_are_at_the_top_of_the_response() -> None:
    request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=[])
    response = error_response(ApiKey.FETCH, 12, request, ErrorCode.INVALID_FETCH_SESSION_EPOCH)
    assert response.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_an_incremental_fetch_must_name_its_partitions_again_before_they_can_fail() -> None:
    request = FetchRequest(max_wait_ms=0, min_bytes=0, session_id=5, session_epoch=3, topics=[])
    assert is_incremental_fetch(ApiKey.FETCH, request, CODE)
    assert not is_incremental_fetch(ApiKey.FETCH, request, ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    assert forget_fetch_session().error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_metadata_response_keeps_its_brokers_and_has_the_error_in_every_topic() -> None:
    topics = [MetadataResponseTopic(error_code=0, name="t", partitions=[])]
    response = refuse_metadata(MetadataResponse(brokers=[], topics=topics), ErrorCode.LEADER_NOT_AVAILABLE)
    assert [each.error_code for each in response.topics] == [ErrorCode.LEADER_NOT_AVAILABLE]
    assert response.error_code == ErrorCode.NONE


def test_a_metadata_request_for_brokers_alone_has_no_place_for_an_error() -> None:
    assert not has_place_for_error(ApiKey.METADATA, MetadataRequest(topics=[]))
    assert has_place_for_error(ApiKey.METADATA, MetadataRequest(topics=None))


def test_a_join_that_must_come_back_with_a_member_id_gets_one() -> None:
    request = JoinGroupRequest(group_id="g", session_timeout_ms=1, member_id="", protocol_type="consumer", protocols=[])
    assert error_response(ApiKey.JOIN_GROUP, 9, request, ErrorCode.MEMBER_ID_REQUIRED).member_id
    assert error_response(ApiKey.JOIN_GROUP, 9, request, ErrorCode.REBALANCE_IN_PROGRESS).member_id == ""
